package changes

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// crashVar holds the step at which this process kills itself, a store and an id.
const crashVar = "BRIG_CHANGES_CRASH"

// crash applies a set, and ends by SIGKILL at a step. It returns 0 if the Apply has ended before.
func crash() int {
	var n int
	var dir, id, host string
	if _, err := fmt.Sscan(os.Getenv(crashVar), &n, &dir, &id, &host); err != nil {
		return 1
	}
	store, err := Open(dir)
	if err != nil {
		return 1
	}
	set, err := store.Find(id)
	if err != nil {
		return 1
	}
	_, err = set.Apply(&ApplyOptions{step: func(step string) error {
		if strings.HasPrefix(step, "written") && host != "-" || strings.HasPrefix(step, "remove ") && host != "-" {
			err := os.WriteFile(host+".new", []byte("host\n"), 0o644)
			if err = errors.Join(err, os.Rename(host+".new", host)); err != nil {
				panic(err)
			}
		}
		if n--; n == 0 {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		}
		return nil
	}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// crashAt reports whether an Apply in a process of its own was killed at its nth step.
func (w *world) crashAt(n int, id string) bool { return w.crashWith(n, id, "-") }

// crashWith is crashAt, and somebody replaces the file host at the last moment before it is exchanged or removed.
func (w *world) crashWith(n int, id, host string) bool {
	w.t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s %s %s", crashVar, n, w.store.dir.Path(), id, host))
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Sys().(syscall.WaitStatus).Signal() == unix.SIGKILL {
		return true
	}
	if err != nil && host == "-" {
		w.t.Fatalf("step %d: %v\n%s", n, err, out)
	}
	return false
}

// What the host has written between the plan and the exchange, or the removal, is not lost either if the Apply is
// killed before it has seen that.
func TestHostWritesBeforeACrash(t *testing.T) {
	for _, up := range []files{{"x": "run\n"}, {"x": "!"}} {
		for n, more := 3, true; more; n++ {
			w := newWorld(t, files{"x": "x\n"}, up)
			set := w.capture()
			more = w.crashWith(n, set.ID, w.base+"/x")
			wrote := slices.Contains(slices.Collect(maps.Values(snapshot(t, w.base))), "0644:host\n")
			set, err := w.store.Find(set.ID)
			must.Do(t, err)
			if _, err = set.Apply(&ApplyOptions{}); !wrote {
				must.Do(t, err)
				continue
			}
			var refused *ConflictError
			if got := snapshot(t, w.base); !errors.As(err, &refused) || len(got) != 1 || got["x"] != "0644:host\n" {
				t.Errorf("step %d: %q, %v", n, got, err)
			}
		}
	}
}

// An Apply that is killed at any of its steps, and its successor again, is finished by the next one. Until then each
// file is the old or the new one.
func TestApplyIsKilled(t *testing.T) {
	for n := 1; ; n++ {
		w := newWorld(t, base, upper)
		old := snapshot(t, w.base)
		set := w.capture()
		if !w.crashAt(n, set.ID) {
			if n < 60 {
				t.Errorf("the Apply had only %d steps", n)
			}
			return
		}
		for name, text := range snapshot(t, w.base) {
			isTemp := strings.Contains("/"+name, "/.brig-")
			if text != old[name] && text != after[name] && !isTemp && !strings.HasSuffix(name, "/") {
				t.Errorf("killed at step %d: %q is %q", n, name, text)
			}
		}
		w.crashAt(1+n%9, set.ID)
		if set, err := w.store.Find(set.ID); err == nil {
			done, err := set.Apply(&ApplyOptions{})
			if err != nil || !done.Removed {
				t.Errorf("killed at step %d: %v", n, err)
			}
		}
		equal(t, snapshot(t, w.base), after)
		if t.Failed() {
			t.Fatalf("killed at step %d", n)
		}
		if left, err := w.store.IDs(); err != nil || len(left) > 0 {
			t.Errorf("the store has %q, %v", left, err)
		}
	}
}

// What the host writes between a crash and the next Apply is not lost: that Apply takes the first one back and refuses,
// and --force applies. One of which all was done is finished, and what the host has written is younger.
func TestHostWritesAfterACrash(t *testing.T) {
	for n := 2; ; n++ {
		w := newWorld(t, base, files{"a.txt": "new\n", "gone.txt": "!", "x": "x\n"})
		set := w.capture()
		if !w.crashAt(n, set.ID) {
			return
		}
		for _, name := range []string{"a.txt", "gone.txt", "x"} {
			must.Do(t, os.WriteFile(filepath.Join(w.base, name), []byte("host\n"), 0o644))
		}
		set, err := w.store.Find(set.ID)
		if err != nil {
			return
		}
		var conflict *ConflictError
		_, err = set.Apply(&ApplyOptions{})
		got := snapshot(t, w.base)
		if got["a.txt"] != "0644:host\n" || got["gone.txt"] != "0644:host\n" || got["x"] != "0644:host\n" || len(got) != len(snapshot(t, base.make(t, t.TempDir())))+1 {
			t.Fatalf("step %d: %q", n, got)
		}
		if err == nil {
			continue
		}
		if !errors.As(err, &conflict) || len(conflict.List) != 3 || set.Interrupted {
			t.Fatalf("step %d: %v", n, err)
		}
		done, err := set.Apply(&ApplyOptions{Force: true})
		if err != nil || !done.Removed {
			t.Fatalf("step %d: %v", n, err)
		}
		if got := snapshot(t, w.base); got["a.txt"] != "0644:new\n" || got["x"] != "0644:x\n" || len(got) != len(snapshot(t, base.make(t, t.TempDir()))) {
			t.Fatalf("step %d: %q", n, got)
		}
	}
}
