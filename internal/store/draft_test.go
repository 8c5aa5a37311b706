package store

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"brig/internal/test/must"
)

func isDraft(name string) bool { return strings.HasPrefix(name, ".new-") }

func numbered() func() string {
	n := 0
	return func() string { n++; return ".new-" + strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(n) }
}

// put adds a thing, and calls after after each step.
func put(d *Dir, name string, after func(step string) error) error {
	draft, held, err := d.Draft(numbered())
	if err != nil {
		return err
	}
	defer held.Close()
	steps := []struct {
		name string
		do   func() error
	}{
		{"made", func() error { return nil }},
		{"half", func() error { return os.WriteFile(d.Path()+"/"+draft+"/a", []byte("a"), 0o600) }},
		{"whole", func() error { return os.WriteFile(d.Path()+"/"+draft+"/b", []byte("b"), 0o600) }},
		{"published", func() error { return d.Publish(held, draft, name) }},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if err := after(s.name); err != nil {
			return err
		}
	}
	return nil
}

// crashVar has the step after which a process kills itself, and the path of its store.
const crashVar = "BRIG_TEST_STORE_CRASH"

func crash(text string) {
	step, path, _ := strings.Cut(text, " ")
	kill := func(now string) error {
		if now == step {
			return unix.Kill(os.Getpid(), unix.SIGKILL)
		}
		return nil
	}
	d, err := Open(path, 0, Writing)
	if err == nil {
		err = put(d, "thing", kill)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(1)
}

// TestCrash: a process that is killed leaves a whole thing or a draft, which the next sweep removes.
func TestCrash(t *testing.T) {
	for step, want := range map[string][]string{"made": nil, "half": nil, "whole": nil, "published": {"thing"}} {
		t.Run(step, func(t *testing.T) {
			d := open(t)
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), crashVar+"="+step+" "+d.Path())
			out, err := cmd.CombinedOutput()
			if err == nil || err.Error() != "signal: killed" {
				t.Fatalf("%v: %s", err, out)
			}
			removed, busy, err := d.Sweep(isDraft)
			if err != nil || busy != 0 || len(removed)+len(want) != 1 {
				t.Errorf("removed %q, %d busy, %v", removed, busy, err)
			}
			if names := must.Get(d.Names(every))(t); !slices.Equal(names, want) {
				t.Errorf("left: %q", names)
			}
			if len(want) > 0 {
				must.Get(os.Stat(d.Path() + "/thing/b"))(t)
			}
		})
	}
}

// TestSweepInUse: a sweep leaves what a living process makes, and a draft is made although one takes it for a dead one's.
func TestSweepInUse(t *testing.T) {
	d := open(t)
	path := d.Path()
	var swept sync.WaitGroup
	var ended atomic.Bool
	for range 2 {
		other := again(t, path)
		swept.Go(func() {
			for !ended.Load() {
				if _, _, err := other.Sweep(isDraft); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var made sync.WaitGroup
	const things = 60
	for i := range 3 {
		own := again(t, path)
		made.Go(func() {
			next := 0
			for n := range things {
				name := fmt.Sprintf("%d-%d", i, n)
				draft, held, err := own.Draft(func() string { next++; return fmt.Sprintf(".new-%d-%d", i, next) })
				if err == nil {
					err = os.WriteFile(path+"/"+draft+"/a", nil, 0o600)
				}
				if err == nil {
					err = own.Rename(draft, name)
				}
				if err != nil {
					t.Error(err)
					return
				}
				held.Close()
			}
		})
	}
	made.Wait()
	ended.Store(true)
	swept.Wait()
	names := must.Get(d.Names(every))(t)
	if len(names) != 3*things {
		t.Errorf("%d things", len(names))
	}
	for _, name := range names {
		must.Get(os.Stat(path + "/" + name + "/a"))(t)
	}
}

// TestPublishReplaces: a file takes the place of an earlier one, and not that of a directory with something in it.
func TestPublishReplaces(t *testing.T) {
	d := open(t)
	at := d.Path()
	must.Do(t, os.WriteFile(at+"/thing", []byte("old"), 0o600))
	f := must.Get(d.Open(".new-1", unix.O_RDWR|unix.O_CREAT|unix.O_EXCL))(t)
	defer f.Close()
	must.Get(f.WriteString("new"))(t)
	must.Do(t, d.Publish(f, ".new-1", "thing"))
	if text := must.Get(os.ReadFile(at + "/thing"))(t); string(text) != "new" {
		t.Errorf("%q", text)
	}
	must.Do(t, os.MkdirAll(at+"/taken/x", 0o700))
	name, held, err := d.Draft(numbered())
	must.Do(t, err)
	defer held.Close()
	if err := d.Publish(held, name, "taken"); err == nil {
		t.Error("a thing is replaced")
	}
}
