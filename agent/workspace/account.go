package workspace

// account counts sandboxes and the sum of their quotas. It includes sandboxes that are being created or removed.
type account struct {
	count int
	bytes int64
}

// charge returns how much memory a sandbox may use: its size, and about 1 KiB of kernel memory for each inode.
func charge(size, inodes int64) int64 { return size + inodes<<10 }

// reserve counts a sandbox before it is created, and an operation in progress.
func (s *Store) reserve(agent string, size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return refuse(CodeBusy, "No sandbox is made any more: the program is ending")
	case s.agents[agent].count >= s.o.MaxPerAgent:
		return refuse(CodeTooMany, "The agent has %d sandboxes, as many as it may have", s.agents[agent].count)
	case s.count >= s.o.Max:
		return refuse(CodeTooMany, "There are %d sandboxes, as many as there may be", s.count)
	case size > s.o.MaxBytesPerAgent-s.agents[agent].bytes:
		return refuse(CodeTooBig, "%d bytes are more than the %d that are left for the agent's sandboxes", size,
			s.o.MaxBytesPerAgent-s.agents[agent].bytes)
	case size > s.o.MaxBytes-s.bytes:
		return refuse(CodeTooBig, "%d bytes are more than the %d that are left for all sandboxes", size, s.o.MaxBytes-s.bytes)
	}
	s.change(agent, 1, size)
	s.pending.Add(1)
	return nil
}

func (s *Store) free(agent string, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change(agent, -1, -size)
}

// change adjusts the number of sandboxes and their bytes. The caller holds s.mu.
func (s *Store) change(agent string, count int, bytes int64) {
	s.count, s.bytes = s.count+count, s.bytes+bytes
	a := s.agents[agent]
	if a = (account{a.count + count, a.bytes + bytes}); a.count == 0 {
		delete(s.agents, agent)
		return
	}
	s.agents[agent] = a
}
