package workspace

// account counts sandboxes and the sum of their quotas. It includes sandboxes that are being created or removed.
type account struct {
	count int
	bytes int64
}

// errEnding is the Refusal of a sandbox after Close.
func errEnding() error { return refuse(CodeBusy, "No sandbox is made any more: the program is ending") }

// reserve counts a sandbox before it is created, and an operation in progress.
func (s *Store) reserve(o *CreateOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	own, size := s.agents[o.Account], o.charge()
	switch {
	case s.closed:
		return errEnding()
	case own.count >= s.o.MaxPerAgent:
		return refuse(CodeTooMany, "The agent has %d sandboxes, as many as it may have", own.count)
	case s.count >= s.o.Max:
		return refuse(CodeTooMany, "There are %d sandboxes, as many as there may be", s.count)
	case size > s.o.MaxBytesPerAgent-own.bytes:
		return refuse(CodeTooBig, "%d bytes are more than the %d that are left for the agent's sandboxes", size,
			s.o.MaxBytesPerAgent-own.bytes)
	case size > s.o.MaxBytes-s.bytes:
		return refuse(CodeTooBig, "%d bytes are more than the %d that are left for all sandboxes", size, s.o.MaxBytes-s.bytes)
	}
	s.change(o.Account, 1, size)
	s.pending.Add(1)
	return nil
}

func (s *Store) free(o *CreateOptions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change(o.Account, -1, -o.charge())
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
