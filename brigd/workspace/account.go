package workspace

import "cmp"

// account is a number of sandboxes and the sum of their quotas.
type account struct {
	count int
	bytes int64
}

func (a *account) add(b *Sandbox) { a.count, a.bytes = a.count+1, a.bytes+b.charge() }

// charge returns how much memory a sandbox may use: its size, and about 1 KiB of kernel memory for each inode.
func (b *Sandbox) charge() int64 { return b.Size + b.Inodes<<10 }

// errEnding returns the Refusal of a sandbox after Close.
func errEnding() error { return refuse(CodeBusy, "No sandbox is made any more: the program is ending") }

// sums returns the totals of an account and of the whole Store. The caller holds s.mu.
func (s *Store) sums(of string) (own, all account) {
	for other := range s.all {
		if all.add(other); other.Account == of {
			own.add(other)
		}
	}
	return own, all
}

// reserve counts a sandbox before it is created, and an operation in progress.
func (s *Store) reserve(b *Sandbox) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	own, all := s.sums(b.Account)
	switch {
	case s.closed:
		return errEnding()
	case own.count >= s.o.MaxPerAgent:
		return refuse(CodeTooMany, "The agent has %d sandboxes, as many as it may have", own.count)
	case all.count >= s.o.Max:
		return refuse(CodeTooMany, "There are %d sandboxes, as many as there may be", all.count)
	}
	if err := cmp.Or(s.fits(b.charge(), own, all), b.Bounds.fit(b.charge(), own, all)); err != nil {
		return err
	}
	s.all[b] = true
	s.pending.Add(1)
	return nil
}

// Fits applies the bounds on sandboxes to snapshots that are kept elsewhere. It returns an error unless an account may
// have one more of a size; it has count of them with own bytes, and all accounts together have all bytes.
func (s *Store) Fits(size int64, count int, own, all int64) error {
	if count >= s.o.MaxPerAgent {
		return refuse(CodeTooMany, "The agent has %d snapshots, as many as it may have", count)
	}
	return s.fits(size, account{count, own}, account{bytes: all})
}

// fits returns an error unless there is room for more bytes.
func (s *Store) fits(size int64, own, all account) error {
	switch {
	case size > s.o.MaxBytesPerAgent-own.bytes:
		return refuse(CodeTooBig, "%d bytes are more than the %d that are left for the agent's sandboxes", size,
			s.o.MaxBytesPerAgent-own.bytes)
	case size > s.o.MaxBytes-all.bytes:
		return refuse(CodeTooBig, "%d bytes are more than the %d that are left for all sandboxes", size,
			s.o.MaxBytes-all.bytes)
	}
	return nil
}

func (s *Store) free(b *Sandbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, b)
}
