package workspace

import (
	"fmt"
	"time"
)

// nudge wakes the reaper. It never blocks.
func (s *Store) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// reap removes expired sandboxes until Close. It sleeps until the first may expire, and checks again when a sandbox is
// created or a run released. Other uses only delay the expiry and need no check.
func (s *Store) reap() {
	defer close(s.end)
	for {
		expired, next := s.expiring()
		for _, b := range expired {
			_ = s.remove(b, Expired) // the callback Removed was given the error
		}
		if len(expired) > 0 {
			continue
		}
		var timer <-chan time.Time
		if !next.IsZero() {
			timer = s.o.At(next)
		}
		select {
		case <-timer:
		case <-s.wake:
		case <-s.done:
			return
		}
	}
}

// expiring unregisters and returns the expired sandboxes. next is when the next may expire, or the zero time if none
// can.
func (s *Store) expiring() (expired []*Sandbox, next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now()
	for _, b := range s.live {
		switch end := b.used.Add(b.TTL); {
		case len(b.runs) > 0:
		case b.expired(now):
			s.leave(b)
			expired = append(expired, b)
		case next.IsZero() || end.Before(next):
			next = end
		}
	}
	return expired, next
}

// remove ends an unregistered sandbox after its runs have ended.
func (s *Store) remove(b *Sandbox, by string) error {
	defer s.pending.Done()
	<-b.idle
	b.tree.Close()
	err := b.volume.Close()
	if err != nil {
		err = fmt.Errorf("sandbox: close the volume of %s: %w", b.ID, err)
	}
	s.free(b.account, charge(b.Size, b.Inodes))
	if s.o.Removed != nil {
		s.o.Removed(b, by, err)
	}
	return err
}
