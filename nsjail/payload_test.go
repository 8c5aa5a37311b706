package nsjail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// reader is a payload that performs the line that it reads first. It needs no language but the shell.
const reader = `printf '\006'; IFS= read -r line; eval "$line"`

// readerSpec is the Spec of parked payloads, and readerMounts are their mounts.
func readerSpec() spec.Spec {
	return spec.Spec{Args: []string{"/bin/sh", "-c", reader}, Env: []string{"KIND=parked"},
		Mounts: []spec.Mount{{Type: spec.MountTmpfs, Target: "/code", Size: 1 << 20}}}
}

// handed returns a Cmd that a parked payload of readerSpec may run: the script is the same with and without one.
func handed(r *Runner, script string) *Cmd {
	s := readerSpec()
	c := r.CommandSpec(context.Background(), spec.Spec{Args: []string{"/bin/sh", "-c", script}})
	c.Handover = &Handover{Args: s.Args, Env: s.Env, Mounts: s.Mounts, Data: []byte(script + "\n")}
	return c
}

// runHanded runs a Cmd and tells whether a parked payload has run it.
func runHanded(t *testing.T, c *Cmd) (out, errOut string, r *Result) {
	t.Helper()
	var o, e bytes.Buffer
	c.Stdout, c.Stderr = &o, &e
	r = must.Get(c.Run())(t)
	return o.String(), e.String(), r
}

func awaitParked(t *testing.T, r *Runner, s spec.Spec, n int) {
	t.Helper()
	until(t, fmt.Sprint(n, " parked payloads"), func() bool { return r.Parked(s).Ready == n })
}

func TestParkedPayloads(t *testing.T) {
	for name, limits := range map[string]spec.Limits{"": {}, "group": {Memory: 64 << 20}} {
		t.Run(name, func(t *testing.T) {
			r := runnerWith(t, RunnerOptions{Pool: 2, Reuse: true})
			s := readerSpec()
			s.Limits = limits
			err := r.PrestartRunning(s, 2)
			if group := name == "group"; group && err != nil && strings.Contains(err.Error(), "cgroup") {
				t.Skip("no control group can be made here: " + err.Error())
			}
			must.Do(t, err)
			awaitParked(t, r, s, 2)
			if p := r.Parked(s); p.Memory <= 0 || p.Memory > 64<<20 {
				t.Errorf("two shells hold %d bytes", p.Memory)
			}
			seen := map[string]bool{}
			for i := range 4 {
				awaitParked(t, r, s, 2) // each that is taken is replaced
				c := handed(r, `echo "$KIND $(cat /proc/sys/kernel/random/boot_id | wc -c)"; cat; echo err >&2; touch /tmp/x$$ /code/y; ls /tmp | wc -l; ls /code; exit 3`)
				c.Spec.Limits = limits
				c.Spec.Limits.Wall, c.Spec.Limits.Output = spec.Duration(time.Minute), 1<<16
				c.Stdin = strings.NewReader("the caller's\n")
				c.WantPlanDigest = true
				out, errOut, res := runHanded(t, c)
				if !res.Warm || out != "parked 37\nthe caller's\n1\ny\n" || errOut != "err\n" {
					t.Fatalf("run %d: warm %v, %q, %q", i, res.Warm, out, errOut)
				}
				if res.ExitCode != 3 || res.Status != StatusFailed || res.Output.StdoutBytes != int64(len(out)) || res.Output.StderrBytes != 4 {
					t.Errorf("%+v", res)
				}
				if res.SpecDigest != c.Spec.Digest() || len(c.PlanDigest()) != 64 || seen[fmt.Sprint(c.Pid())] {
					t.Errorf("digests %q and %q, pid %d", res.SpecDigest, c.PlanDigest(), c.Pid())
				}
				seen[fmt.Sprint(c.Pid())] = true
				if p := c.Plan(); p == nil || p.Jail == nil || !slices.Contains(p.Spec.Args, reader) {
					t.Error("the plan is not that of the parked payload")
				}
			}
			if err := r.PrestartRunning(s, 0); err != nil {
				t.Error(err)
			}
			if p := r.Parked(s); p.Ready != 0 || len(r.payloads.list) > 0 {
				t.Errorf("%d are left, in %d pools", p.Ready, len(r.payloads.list))
			}
		})
	}
}

// A Spec that differs in more than the keeper's limits does not get the parked payload.
func TestParkedPayloadsOfAnotherKind(t *testing.T) {
	r := runnerWith(t, RunnerOptions{})
	s := readerSpec()
	must.Do(t, r.PrestartRunning(s, 1))
	var same bytes.Buffer
	for name, change := range map[string]func(*Cmd){
		"an argument":     func(c *Cmd) { c.Handover.Args = append(slices.Clone(c.Handover.Args), "more") },
		"the environment": func(c *Cmd) { c.Handover.Env = []string{"KIND=other"} },
		"a mount": func(c *Cmd) {
			c.Handover.Mounts = append(slices.Clone(c.Handover.Mounts), spec.Mount{Type: spec.MountDir, Target: "/d"})
		},
		"a file's content": func(c *Cmd) {
			c.Handover.Mounts = []spec.Mount{{Type: spec.MountData, Target: "/code", Content: "x"}}
		},
		"a limit":           func(c *Cmd) { c.Spec.Limits.Processes = 12 },
		"an rlimit":         func(c *Cmd) { c.Spec.Limits.Rlimits = map[string]spec.Rlimit{"nofile": {Soft: 64, Hard: 64}} },
		"the directory":     func(c *Cmd) { c.Spec.Workdir = "/tmp" },
		"the network":       func(c *Cmd) { c.Spec.Net = spec.NetNone },
		"a network by name": func(c *Cmd) { c.Spec.Net = spec.NetEgress },
		"the user":          func(c *Cmd) { c.Spec.User = "7" },
		"the filter":        func(c *Cmd) { c.Spec.Seccomp = "strict" },
		"a passed variable": func(c *Cmd) { c.Spec.PassEnv = []string{"LANG"} },
		"a terminal":        func(c *Cmd) { c.Spec.TTY = true },
		"one writer": func(c *Cmd) {
			c.Stdout, c.Stderr = &same, &same
		},
		"a file":      func(c *Cmd) { c.Stdout = os.Stderr },
		"no handover": func(c *Cmd) { c.Handover = nil },
	} {
		t.Run(name, func(t *testing.T) {
			awaitParked(t, r, s, 1)
			c := handed(r, "true")
			change(c)
			res, err := c.Run()
			if err != nil || res.Warm || res.Status != StatusOK {
				t.Errorf("%+v, %v", res, err)
			}
			if n := r.Parked(s).Ready; n != 1 {
				t.Errorf("%d payloads are parked, want 1", n)
			}
		})
	}
	if _, _, res := runHanded(t, handed(r, "true")); !res.Warm {
		t.Error("the same kind did not meet it")
	}
}

// A variable that is passed on may have another value than when the payload was parked.
func TestParkedPayloadWithAnOldVariable(t *testing.T) {
	t.Setenv("BRIG_TEST_WORD", "old")
	r := runnerWith(t, RunnerOptions{})
	s := readerSpec()
	s.PassEnv = []string{"BRIG_TEST_WORD"}
	must.Do(t, r.PrestartRunning(s, 1))
	for _, word := range []string{"old", "new"} {
		awaitParked(t, r, s, 1)
		t.Setenv("BRIG_TEST_WORD", word)
		c := handed(r, "echo $BRIG_TEST_WORD")
		c.Spec.PassEnv = s.PassEnv
		// one with the new value may be parked in the place of the other before the run has looked for it
		if out, _, res := runHanded(t, c); out != word+"\n" || word == "old" && !res.Warm {
			t.Errorf("%s: warm %v, %q", word, res.Warm, out)
		}
	}
}

// A parked payload that has died, or has written something, is not used.
func TestParkedPayloadsThatDie(t *testing.T) {
	r := runnerWith(t, RunnerOptions{})
	s := readerSpec()
	must.Do(t, r.PrestartRunning(s, 1))
	r.payloads.mu.Lock()
	y := r.payloads.list[0]
	r.payloads.mu.Unlock()
	for name, signal := range map[string]func(c *running) error{
		"payload": func(c *running) error { return c.ender.signal(unix.SIGTERM) },
		"init":    func(c *running) error { return unix.Kill(c.Pid, unix.SIGKILL) },
	} {
		awaitParked(t, r, s, 1)
		y.Mu.Lock()
		err := signal(y.Ready[0])
		y.Mu.Unlock()
		must.Do(t, err)
		until(t, "the end of the "+name, func() bool { return r.Parked(s).Ready == 0 })
		if out, _, res := runHanded(t, handed(r, "echo cold")); res.Status != StatusOK || out != "cold\n" {
			t.Errorf("%s: %s, warm %v, %q", name, res.Status, res.Warm, out) // warm if the next one is parked by then
		}
	}
	talks := readerSpec()
	talks.Args[2] = `printf '\006'; sleep 0.1; echo late >&2; IFS= read -r line; eval "$line"`
	must.Do(t, r.PrestartRunning(talks, 1))
	until(t, "its word", func() bool { return r.Parked(talks).Ready == 0 })
	c := handed(r, "echo cold")
	c.Handover.Args = talks.Args
	if out, errOut, res := runHanded(t, c); res.Warm || out != "cold\n" || errOut != "" {
		t.Errorf("warm %v, %q, %q", res.Warm, out, errOut)
	}
}

// A payload that ends before it has read what it is to do has run nothing, whatever its exit code.
func TestParkedPayloadEndsBeforeItsHandover(t *testing.T) {
	for code := range 2 {
		r := runnerWith(t, RunnerOptions{})
		s := readerSpec()
		s.Args[2] = fmt.Sprintf(`printf '\006'; read -r line; exit %d`, code)
		must.Do(t, r.PrestartRunning(s, 1))
		awaitParked(t, r, s, 1)
		c := handed(r, "true")
		c.Handover.Args, c.Handover.Data = s.Args, bytes.Repeat([]byte("word\n"), 100_000) // more than a pipe holds
		res, err := c.Run()
		var e *spec.Error
		if !errors.As(err, &e) || e.Fault != spec.FaultHost || e.Remedy != "run it again" || res.Status != StatusError ||
			res.ExitCode != -1 || res.Error != e {
			t.Errorf("exit code %d: %+v, %v", code, res, err)
		}
	}
}

// The clocks and bounds of a run are its own, and begin at the handover.
func TestLimitsOfATakenPayload(t *testing.T) {
	r := runnerWith(t, RunnerOptions{})
	s := readerSpec()
	must.Do(t, r.PrestartRunning(s, 1))
	for _, x := range []struct {
		script string
		limits spec.Limits
		status Status
		hit    string
	}{
		{"sleep 100", spec.Limits{Wall: spec.Duration(100 * time.Millisecond)}, StatusTimeout, "wall"},
		{"sleep 100", spec.Limits{Idle: spec.Duration(100 * time.Millisecond)}, StatusTimeout, "idle"},
		{"while :; do echo x; done", spec.Limits{OutputLimit: 1000}, StatusOutput, "output"},
		{"head -c 100000 /dev/zero", spec.Limits{Output: 100}, StatusOK, "output"},
		{"kill -9 $$", spec.Limits{}, StatusSignal, ""},
	} {
		awaitParked(t, r, s, 1)
		c := handed(r, x.script)
		c.Spec.Limits = x.limits
		out, _, res := runHanded(t, c)
		if !res.Warm || res.Status != x.status || strings.Join(res.LimitsHit, " ") != x.hit {
			t.Errorf("%s: %+v", x.script, res)
		}
		if most := int(max(x.limits.Output, x.limits.OutputLimit)); len(out) > most {
			t.Errorf("%s: %d bytes", x.script, len(out))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	awaitParked(t, r, s, 1)
	c := handed(r, "sleep 100")
	c.ctx = ctx
	must.Do(t, c.Start())
	cancel()
	if res, err := c.Wait(); err != nil || res.Status != StatusCancelled || !res.Warm {
		t.Errorf("%+v, %v", res, err)
	}
}

// What a parked payload has used, and which limits it has met, is not the run's.
func TestCountsOfATakenPayload(t *testing.T) {
	r := runnerWith(t, RunnerOptions{})
	s := readerSpec()
	s.Limits = spec.Limits{CPUTime: spec.Duration(300 * time.Millisecond), CPUs: 0.5}
	s.Args[2] = `while read -r l </proc/$$/stat; set -- $l; [ $((${14} + ${15})) -lt 40 ]; do :; done; ` + reader // 0.4 s
	if err := r.PrestartRunning(s, 1); err != nil && strings.Contains(err.Error(), "cgroup") {
		t.Skip("no control group can be made here: " + err.Error())
	} else if err != nil {
		t.Fatal(err)
	}
	run := func(script string) *Result {
		awaitParked(t, r, s, 1)
		c := handed(r, script)
		c.Handover.Args, c.Spec.Limits = s.Args, s.Limits
		_, _, res := runHanded(t, c)
		if !strings.HasPrefix(res.Enforced["cpu_time"].String(), "300ms by") {
			t.Skip("RLIMIT_CPU counts the start: " + res.Enforced["cpu_time"])
		}
		if used := time.Duration(res.Usage.User + res.Usage.System); !res.Warm || used < 300*time.Millisecond {
			t.Fatalf("the start has taken less than the limit: warm %v, %s", res.Warm, used)
		}
		return res
	}
	if busy := run("while :; do :; done"); busy.Status != StatusCPU {
		t.Errorf("busy: %s, %v", busy.Status, busy.LimitsHit)
	}
	quiet := run("true")
	for range 2 { // on a busy machine it can begin in a period that the start has used up
		if len(quiet.LimitsHit) > 0 {
			quiet = run("true")
		}
	}
	if quiet.Status != StatusOK || len(quiet.LimitsHit) > 0 {
		t.Errorf("quiet: %s, %v", quiet.Status, quiet.LimitsHit)
	}
}

// A violation of a taken payload is known by name, as without.
func TestViolationOfATakenPayload(t *testing.T) {
	r := runnerWith(t, RunnerOptions{})
	s := readerSpec()
	must.Do(t, r.PrestartRunning(s, 1))
	_, errOut, res := runHanded(t, handed(r, `perl -e 'syscall(169, 0, 0, 0, 0)'`)) // reboot(2)
	if !res.Warm || res.Enforced["seccomp"] == "" {
		t.Errorf("%q, %+v", errOut, res)
	}
	plain, err := r.shell(`perl -e 'syscall(169, 0, 0, 0, 0)'`).Run()
	if err != nil || plain.Status != res.Status || fmt.Sprint(plain.Violation) != fmt.Sprint(res.Violation) && plain.Violation.Syscall != res.Violation.Syscall {
		t.Errorf("%+v and %+v, %v", plain, res, err)
	}
	for name, by := range plain.Enforced {
		if res.Enforced[name] != by {
			t.Errorf("%s: %q, and %q without a parked payload", name, res.Enforced[name], by)
		}
	}
}

func TestPrestartRunningErrors(t *testing.T) {
	r := runnerWith(t, RunnerOptions{})
	for name, x := range map[string]struct {
		change func(*spec.Spec)
		want   string
	}{
		"no word":    {func(s *spec.Spec) { s.Args = []string{"true"} }, "it has ended"},
		"a message":  {func(s *spec.Spec) { s.Args = []string{"sh", "-c", "echo first >&2; echo no such module >&2; exit 1"} }, "it has ended: no such module"},
		"output":     {func(s *spec.Spec) { s.Args = []string{"echo", "hello"} }, "written to stdout"},
		"a command":  {func(s *spec.Spec) { s.Args = []string{"no-such-command"} }, "no-such-command"},
		"a terminal": {func(s *spec.Spec) { s.TTY = true }, "a terminal belongs to one run"},
		"no init":    {func(s *spec.Spec) { s.NoInit = true }, "without init"},
		"a network":  {func(s *spec.Spec) { s.Net = spec.NetEgress }, "network by name"},
		"the host's": {func(s *spec.Spec) { s.Net = spec.NetHost }, "prepared tree"},
		"a bind":     {func(s *spec.Spec) { s.Mounts = []spec.Mount{{Type: spec.MountBind, Source: "/etc", Target: "/m"}} }, "mounts[0], a file of the host"},
		"nothing":    {func(s *spec.Spec) { s.Args = nil }, "args"},
	} {
		s := readerSpec()
		x.change(&s)
		if err := r.PrestartRunning(s, 1); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v; want %q", name, err, x.want)
		}
		if p := r.Parked(s); p.Ready != 0 {
			t.Errorf("%s: %d are parked", name, p.Ready)
		}
	}
	if n := len(r.payloads.list); n > 0 {
		t.Errorf("%d pools are left", n)
	}
	if err := r.PrestartRunning(readerSpec(), -1); err == nil {
		t.Error("a negative number is taken")
	}
}

// A pool that works stays as it is if another call for it fails.
func TestPrestartRunningFailsLater(t *testing.T) {
	r := runnerWith(t, RunnerOptions{})
	s := readerSpec()
	must.Do(t, r.PrestartRunning(s, 1))
	make := r.payloads.list[0].Make
	r.payloads.list[0].Make = func() (*running, error) { return nil, errors.New("no memory") }
	if err := r.PrestartRunning(s, 2); err == nil || r.Parked(s).Ready != 1 {
		t.Errorf("%v, %d are parked", err, r.Parked(s).Ready)
	}
	r.payloads.list[0].Make = make
	if _, _, res := runHanded(t, handed(r, "true")); !res.Warm {
		t.Error("the pool was not used")
	}
	awaitParked(t, r, s, 1)
}

// Close ends a payload that is not ready yet, and those that are parked.
func TestCloseEndsParkedPayloads(t *testing.T) {
	r := must.Get(NewRunner())(t)
	must.Do(t, r.PrestartRunning(readerSpec(), 3))
	awaitParked(t, r, readerSpec(), 3)
	slow := readerSpec()
	slow.Args = []string{"sleep", "100"}
	done := make(chan error)
	go func() { done <- r.PrestartRunning(slow, 1) }()
	until(t, "a start", func() bool {
		r.jails.mu.Lock()
		defer r.jails.mu.Unlock()
		return len(r.jails.jails) == 1
	})
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil {
		t.Error("a payload that never got ready is parked")
	}
	if err := r.PrestartRunning(readerSpec(), 1); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A caller's reader that blocks does not hold up the run's end.
func TestStdinOfATakenPayload(t *testing.T) {
	r := runnerWith(t, RunnerOptions{})
	must.Do(t, r.PrestartRunning(readerSpec(), 1))
	in, w := io.Pipe()
	defer w.Close()
	c := handed(r, "echo done")
	c.Stdin = in
	if out, _, res := runHanded(t, c); out != "done\n" || !res.Warm {
		t.Errorf("%q, %+v", out, res)
	}
}
