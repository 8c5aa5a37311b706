package cgroup

import (
	"strings"
	"sync"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// TestNothingLeaks makes and removes many groups, from several goroutines.
func TestNothingLeaks(t *testing.T) {
	l, _ := yard(t)
	fds := openFiles(t)
	var wg sync.WaitGroup
	each := 250
	if testing.Short() {
		each = 25
	}
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range each {
				g, err := Resolve(all(l), l).Create()
				if err != nil {
					t.Error(err)
					return
				}
				if err := g.Remove(); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if now := openFiles(t); now > fds {
		t.Errorf("%d open files, had %d", now, fds)
	}
	if left := contents(t, l); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestNoDescriptors: where no file can be opened any more, nothing is left of the group.
func TestNoDescriptors(t *testing.T) {
	l, _ := yard(t)
	var old unix.Rlimit
	must.Do(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	p := Resolve(all(l), l)
	failed := 0
	for room := uint64(1); room < 20; room++ {
		fds := uint64(openFiles(t))
		must.Do(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: fds - 1 + room, Max: old.Max}))
		g, err := p.Create()
		if g != nil {
			err = g.Remove()
		}
		must.Do(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &old))
		if err != nil {
			failed++
			if !strings.Contains(err.Error(), "too many open files; raise the limit") {
				t.Errorf("with %d: %v", room, err)
			}
		}
		if left := contents(t, l); len(left) > 0 {
			t.Fatalf("with %d left: %q", room, left)
		}
		if now := uint64(openFiles(t)); now != fds {
			t.Fatalf("with %d: %d open files, had %d", room, now, fds)
		}
	}
	if failed == 0 {
		t.Error("it never failed")
	}
}
