package nsjail

import (
	"os"
	"slices"
	"testing"

	"brig/internal/sys"
	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// spareOf waits for the process of a box that waits for its command, and returns the host's pid.
func spareOf(t *testing.T, b *Box) int {
	t.Helper()
	var list []int
	until(t, "a spare alone", func() bool { list = sys.Children(b.Pid()); return len(list) == 1 })
	return list[0]
}

// A process of a box that waits for its command is the next one. What is done to it, by a process that has ended before
// the command comes, is not done to the command.
func TestBoxSpare(t *testing.T) {
	b := newTestBox(t, spec.Spec{})
	const state = "ulimit -Sn; ulimit -Hn; nice; taskset -p $$ | cut -d: -f2; grep -v State /proc/self/status | grep -e Sig -e Seccomp"
	first, _ := inBox(t, b, state)
	wantInBox(t, b, state, first)
	pid := spareOf(t, b)
	c := b.Command("sleep", "1000")
	must.Do(t, c.Start())
	if list := sys.Children(b.Pid()); !slices.Contains(list, pid) {
		t.Errorf("%v is not the spare %d", list, pid)
	}
	must.Do(t, c.Signal(os.Kill))
	must.Get(c.Wait())(t)
	for name, attack := range map[string]string{
		"limits":   "prlimit --pid $p --nofile=3:3 --nproc=1:1",
		"files":    "prlimit --pid $p --nofile=0:0",
		"priority": "renice 19 $p; ionice -c 3 -p $p; chrt -i -p 0 $p; taskset -p 1 $p",
		"stop":     "kill -STOP $p",
		"signals":  "kill -TERM $p; kill -KILL $p",
		"memory":   "cat /proc/$p/mem /proc/$p/maps; ls /proc/$p/fd; echo 0 >/proc/$p/oom_score_adj",
	} {
		t.Run(name, func(t *testing.T) {
			inBox(t, b, "setsid sh -c 'sleep .2; for p in /proc/[0-9]*; do p=${p#/proc/}; [ $p -le 1 ] || [ $p = $$ ] || { "+
				attack+"; }; done' >/dev/null 2>&1 &")
			quiet := 0 // a process may be missing from one list, between its parents
			until(t, "the end of the attack", func() bool {
				if quiet++; len(sys.Descendants(b.Pid())) > 1 {
					quiet = 0
				}
				return quiet > 5
			})
			wantInBox(t, b, state, first)
		})
	}
}

// A spare that is of no use costs time, and no start.
func TestBoxSpareIsUnfit(t *testing.T) {
	b := newTestBox(t, spec.Spec{})
	for name, spoil := range map[string]func(pid int) error{
		"stopped": func(pid int) error { return unix.Kill(pid, unix.SIGSTOP) },
		"killed":  func(pid int) error { return unix.Kill(pid, unix.SIGKILL) },
		"without descriptors": func(pid int) error {
			return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			wantInBox(t, b, "echo ok", "ok")
			if err := spoil(spareOf(t, b)); err == unix.EPERM {
				t.Skip(err)
			} else if err != nil {
				t.Error(err)
			}
			wantInBox(t, b, "echo ok", "ok")
		})
	}
	if _, err := b.Command("/no/such").Run(); err == nil {
		t.Error("a command that is not there")
	}
	c := b.Command("tty") // no spare has a terminal
	c.Spec.TTY = true
	if r := must.Get(c.Run())(t); r.Status != StatusOK {
		t.Error(r.Status)
	}
	if list := sys.Children(b.Pid()); len(list) > 0 {
		t.Error(list)
	}
	wantInBox(t, b, "echo ok", "ok")
	spareOf(t, b)
	if r := must.Get(b.Close())(t); r.Status != StatusOK {
		t.Error(r.Status)
	}
}

// A box whose limits leave no room for a spare's listener has none.
func TestBoxWithFewFiles(t *testing.T) {
	b := newTestBox(t, spec.Spec{Limits: spec.Limits{Rlimits: map[string]spec.Rlimit{"nofile": {Soft: 5, Hard: 5}}}})
	for range 3 {
		wantInBox(t, b, "ulimit -n", "5")
	}
	if list := sys.Children(b.Pid()); len(list) > 0 {
		t.Error(list)
	}
}
