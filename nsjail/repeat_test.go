package nsjail

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/nsjail/spec"
)

// A Runner with a pool parks jails of what starts again, without being asked.
func TestPoolParksWhatStartsAgain(t *testing.T) {
	r := runnerWith(t, RunnerOptions{Pool: 4})
	run := func(i int) *Cmd {
		c := r.shell("echo $SECRET $0; ls -A /tmp; echo x >/tmp/left")
		c.Spec.Env = []string{"SECRET=s3cret"}
		c.Spec.Args = append(c.Spec.Args, fmt.Sprint("run", i))
		c.Spec.Mounts = []spec.Mount{{Type: spec.MountData, Content: "s3cret", Target: "/input/f"}}
		wantOutput(t, c, fmt.Sprint("s3cret run", i))
		return c
	}
	run(0)
	if n := len(r.tree.pools); n != 0 {
		t.Fatalf("%d kinds are kept ready after one start", n)
	}
	run(1)
	if n := len(r.tree.pools); n != 1 {
		t.Fatalf("%d kinds are kept ready after two starts", n)
	}
	y := r.tree.pools[0]
	if text := fmt.Sprintf("%+v", y.key); strings.Contains(text, "s3cret") {
		t.Errorf("what is kept ready holds what was a run's own: %s", text)
	}
	for i := range 6 {
		until(t, "jails are parked", func() bool { return len(y.pids()) == 4 })
		ready := y.pids()
		if c := run(2 + i); !slices.Contains(ready, c.Pid()) {
			t.Errorf("pid %d; parked were %v", c.Pid(), ready)
		}
	}
}

// The kinds that are kept ready share the pool, and a new one takes the place of one that nobody wants any more.
func TestPoolIsShared(t *testing.T) {
	r := runnerWith(t, RunnerOptions{Pool: 8})
	kind := func(i int) spec.Spec { return spec.Spec{Args: []string{"true"}, Hostname: fmt.Sprint("host", i)} }
	twice := func(i int) {
		for range 2 {
			if _, err := r.CommandSpec(t.Context(), kind(i)).Run(); err != nil {
				t.Fatal(err)
			}
		}
	}
	wants := func() (list []string) {
		r.tree.mu.Lock()
		defer r.tree.mu.Unlock()
		for _, y := range r.tree.pools {
			y.Mu.Lock()
			list = append(list, fmt.Sprint(y.key.Hostname, " ", y.Want))
			y.Mu.Unlock()
		}
		return list
	}
	same := func(want ...string) {
		t.Helper()
		if got := wants(); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	twice(0)
	same("host0 8")
	twice(1)
	same("host0 4", "host1 4")
	twice(2)
	twice(3)
	same("host0 2", "host1 2", "host2 2", "host3 2")
	twice(4) // all are in use
	same("host0 2", "host1 2", "host2 2", "host3 2")
	r.tree.mu.Lock()
	r.tree.pools[1].used = time.Now().Add(-automaticIdle)
	r.tree.mu.Unlock()
	twice(4)
	same("host0 2", "host2 2", "host3 2", "host4 2")
	if err := r.Prestart(kind(2), 0); err != nil { // whoever asks decides
		t.Fatal(err)
	}
	twice(2)
	same("host0 2", "host2 0", "host3 2", "host4 2")
}
