package run

import (
	"errors"
	"os"
	"testing"
)

// TestStoresOfOthers: a store that is removed meanwhile, and a foreign file, do not prevent a new store.
func TestStoresOfOthers(t *testing.T) {
	below, start := t.TempDir()+"/cow", make(chan bool)
	errs := make(chan error)
	const runs = 4
	for range runs {
		go func() {
			<-start
			for range 50 {
				s, err := NewStore(below, os.Geteuid(), os.Getegid(), 0o755)
				if err == nil {
					err = s.Remove()
				}
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	close(start)
	for range runs {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(os.WriteFile(below+"/file", nil, 0o644), os.Symlink("/", below+"/link")); err != nil {
		t.Fatal(err)
	}
	s, err := NewStore(below, os.Geteuid(), os.Getegid(), 0o755)
	if err == nil {
		err = s.Remove()
	}
	if err != nil {
		t.Error(err)
	}
}
