package image

import (
	"testing"

	"brig/internal/sys"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// A jail may hold an image, and rm remove it, from the moment on when it has its name: publish drops the maker's lock.
func TestHoldFromTheFirstMoment(t *testing.T) {
	s := newStore(t)
	n := crafted("x", archive(t, "a", "a"))
	w, err := s.Write()
	must.Do(t, err)
	defer w.Close()
	n.Digest = DigestOf(n.Manifest)
	name := n.Digest[len(sha256Prefix):]
	work, err := w.begin(name)
	if err == nil {
		err = w.build(n, work)
	}
	if err == nil {
		err = w.publish(work, name, n.Names)
	}
	must.Do(t, err)
	defer work.Close() // the maker is not done
	m, err := s.Lookup("x")
	must.Do(t, err)
	other, err := m.Hold()
	must.Do(t, err)
	if err := sys.Flock(other, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Errorf("the maker still has its lock: %v", err)
	}
	must.Do(t, other.Close())
	if _, gone, err := s.Remove("x"); err != nil || gone == nil {
		t.Error(err)
	}
}
