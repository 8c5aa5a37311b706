package nsjail

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

func runnerWith(t testing.TB, o RunnerOptions) *Runner {
	t.Helper()
	r := must.Get(NewRunnerWith(o))(t)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	if r.tree == nil && !o.Cold {
		t.Fatal("the launcher has no tree of its own: " + r.roots.why)
	}
	return r
}

func (r *Runner) shell(script string) *Cmd { return r.Command("/bin/sh", "-c", script) }

// until waits for something that happens in the background.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for range 500 {
		if f() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("never: " + what)
}

func (y *jailPool) pids() (list []int) {
	y.Mu.Lock()
	defer y.Mu.Unlock()
	for _, j := range y.Ready {
		list = append(list, j.Pid)
	}
	return list
}

// A template is shared by what differs in nothing that it holds, and by nothing else.
func TestKindsOfSpec(t *testing.T) {
	r := runnerWith(t, RunnerOptions{})
	dir := shared(t, 1000)
	must.Do(t, os.WriteFile(filepath.Join(dir, "f"), []byte("from the host"), 0o644))
	for range 2 {
		for _, c := range []struct {
			change func(*spec.Spec)
			script string
			want   string
			kinds  int
		}{
			{func(*spec.Spec) {}, "echo $PWD $A $#; hostname; id -u; umask", "/work 0\nbrig\n1000\n0022", 1},
			{func(s *spec.Spec) {
				s.Env, s.Workdir, s.Limits.Wall = []string{"A=b"}, "/tmp", spec.Duration(time.Minute)
			}, "echo $PWD $A", "/tmp b", 1},
			{func(s *spec.Spec) { s.Limits.Output = 1 << 20 }, "echo out", "out", 1},
			{func(s *spec.Spec) { s.Hostname = "ship" }, "hostname; cat /etc/hostname; grep -c ship /etc/hosts", "ship\nship\n1", 2},
			{func(s *spec.Spec) { s.User = "7:8" }, "id -u; id -g; grep ^brig: /etc/passwd | cut -d: -f3,4", "7\n8\n7:8", 3},
			{func(s *spec.Spec) { s.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/input"}} }, "cat /input/f; ls /work | wc -l", "from the host0", 4},
			{func(s *spec.Spec) { s.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/elsewhere"}} }, "cat /elsewhere/f", "from the host", 4},
			{func(s *spec.Spec) {
				s.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/work", Writable: true}}
			}, "cat f; echo x >g && rm g", "from the host", 5},
			{func(s *spec.Spec) { s.Net = spec.NetNone }, "cat /proc/net/if_inet6 | wc -l", "0", 6},
			{func(s *spec.Spec) { s.NoInit = true }, "echo $$", "1", 7},
			{func(s *spec.Spec) { s.Seccomp = "unconfined" }, "grep Seccomp: /proc/self/status | cut -f2", "0", 8},
		} {
			cmd := r.shell(c.script)
			c.change(&cmd.Spec)
			wantOutput(t, cmd, c.want)
			if n := len(r.tree.templates); n < c.kinds {
				t.Errorf("%q: %d kinds are remembered, want %d", c.script, n, c.kinds)
			}
		}
	}
	if n := len(r.tree.templates); n != 8 {
		t.Errorf("%d kinds are remembered, want 8", n)
	}
	for i := range 2 * maxTemplates {
		cmd := r.shell("hostname")
		cmd.Spec.Hostname = fmt.Sprint("host", i)
		wantOutput(t, cmd, cmd.Spec.Hostname)
	}
	if n := len(r.tree.templates); n != maxTemplates {
		t.Errorf("%d kinds are remembered, want %d", n, maxTemplates)
	}
}

// A caller may use its Spec for something else after a jail was made.
func TestTemplatesAreTheRunnersOwn(t *testing.T) {
	r := runnerWith(t, RunnerOptions{})
	s := spec.Spec{Args: []string{"/bin/sh", "-c", "ulimit -n"}, Limits: spec.Limits{Rlimits: map[string]spec.Rlimit{"nofile": {Soft: 64, Hard: 64}}}}
	wantOutput(t, r.CommandSpec(t.Context(), s), "64")
	s.Limits.Rlimits["nofile"] = spec.Rlimit{Soft: 65, Hard: 65}
	wantOutput(t, r.CommandSpec(t.Context(), s), "65")
}

func TestParkedJailsAreUsedOnce(t *testing.T) {
	r := runnerWith(t, RunnerOptions{Pool: 2})
	spec := spec.Spec{Args: []string{"true"}}
	must.Do(t, r.Prestart(spec, 3))
	y := r.tree.pools[0]
	used := map[int]bool{}
	for i := range 12 {
		until(t, "three jails are parked", func() bool { return len(y.pids()) == 3 })
		ready := y.pids()
		c := r.shell(`for d in /tmp /work /output /dev/shm; do ls -A $d; echo x >$d/left; done; echo $0`)
		c.Spec.Args = append(c.Spec.Args, fmt.Sprint("run", i))
		wantOutput(t, c, fmt.Sprint("run", i))
		if !slices.Contains(ready, c.Pid()) || used[c.Pid()] {
			t.Errorf("run %d was pid %d; parked were %v, used before %v", i, c.Pid(), ready, used)
		}
		used[c.Pid()] = true
	}
	if err := r.Prestart(spec, 0); err != nil || len(y.pids()) != 0 {
		t.Errorf("after Prestart 0: %v, %v", y.pids(), err)
	}
	wantOutput(t, r.shell("echo without"), "without")
}

// Somebody kills a parked jail: it is not used.
func TestParkedJailIsKilled(t *testing.T) {
	r := runnerWith(t, RunnerOptions{})
	for _, s := range []spec.Spec{{Args: []string{"true"}}, {Args: []string{"true"}, Mounts: []spec.Mount{{Type: spec.MountTmpfs, Target: "/x"}}}} {
		must.Do(t, r.Prestart(s, 1))
		y := r.tree.pool(&s)
		until(t, "a jail is parked", func() bool { return len(y.pids()) == 1 })
		dead := y.pids()[0]
		j := y.Ready[0]
		must.Do(t, unix.Kill(dead, unix.SIGKILL))
		until(t, "its end shows", func() bool { return !j.waits() })
		c := r.CommandSpec(t.Context(), s)
		c.Spec.Args = []string{"echo", "fresh"}
		wantOutput(t, c, "fresh")
		if c.Pid() == dead {
			t.Error("a dead jail was used")
		}
	}
}

func TestPrestartErrors(t *testing.T) {
	r := runnerWith(t, RunnerOptions{})
	dir := shared(t, 1000)
	for name, s := range map[string]spec.Spec{
		"bad Spec":    {},
		"no image":    {Args: []string{"true"}, Rootfs: spec.Rootfs{Path: dir + "/none"}},
		"host's net":  {Args: []string{"true"}, Net: spec.NetHost},
		"empty image": {Args: []string{"true"}, Rootfs: spec.Rootfs{Path: dir}, Optional: []string{"overlay"}, Require: []string{"nothing"}},
	} {
		var e *spec.Error
		if err := r.Prestart(s, 1); !errors.As(err, &e) || e.Remedy == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := r.Prestart(spec.Spec{Args: []string{"true"}}, -1); err == nil {
		t.Error("-1 jails")
	}
	if _, err := NewRunnerWith(RunnerOptions{Pool: -1}); err == nil {
		t.Error("a pool of -1")
	}
	cold := runnerWith(t, RunnerOptions{Cold: true})
	if err := cold.Prestart(spec.Spec{Args: []string{"true"}}, 1); err == nil {
		t.Error("Prestart without a prepared tree")
	}
	wantOutput(t, cold.shell("echo cold"), "cold")
}

// The host's network is not in the launcher's tree, and no jail meets another one's.
func TestHostNetBesideThePool(t *testing.T) {
	r := runnerWith(t, RunnerOptions{Pool: 2})
	own := must.Get(os.Readlink("/proc/self/ns/net"))(t)
	seen := map[string]bool{}
	for i := range 9 { // all at once: the number of a namespace that has gone may come again
		c := r.shell("readlink /proc/self/ns/net; read end")
		stdin, end, err := os.Pipe()
		must.Do(t, err)
		c.Stdin, c.Spec.Net = stdin, []spec.Net{spec.NetLoopback, spec.NetHost, spec.NetNone}[i%3]
		out, err := startPiped(c)
		must.Do(t, err)
		defer func() {
			end.Close()
			if _, err := c.Wait(); err != nil {
				t.Error(err)
			}
			stdin.Close()
		}()
		line, err := out.ReadString('\n')
		if number := strings.TrimSpace(line); err != nil || (number == own) != (c.Spec.Net == spec.NetHost) || number != own && seen[number] {
			t.Errorf("%s: %s again, %v", c.Spec.Net, number, err)
		} else {
			seen[number] = true
		}
	}
}

func TestBackpressure(t *testing.T) {
	r := runnerWith(t, RunnerOptions{Jails: 2})
	var held []*Cmd
	for range 2 {
		c := r.Command("sleep", "100")
		must.Do(t, c.Start())
		held = append(held, c)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := r.CommandContext(ctx, "true").Start(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a third jail: %v", err)
	}
	started := make(chan error)
	go func() {
		_, err := r.Command("true").Run()
		started <- err
	}()
	for _, c := range held {
		if err := c.Signal(unix.SIGKILL); err != nil {
			t.Error(err)
		}
		if _, err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	if err := <-started; err != nil {
		t.Error(err)
	}
	if _, err := r.Command("/missing").Run(); err == nil {
		t.Error("a command that is not there")
	}
	var wg sync.WaitGroup
	for range 20 { // a failed start gave its place back
		wg.Go(func() {
			if _, err := r.Command("true").Run(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// An image that was replaced is not what the parked jails show.
func TestImageIsReplaced(t *testing.T) {
	r := runnerWith(t, RunnerOptions{})
	dir := shared(t, 1000)
	image := func(text string) string {
		at := must.Get(os.MkdirTemp(dir, "image"))(t)
		for _, d := range []string{"bin", "dev", "proc", "tmp", "work"} {
			must.Do(t, os.Mkdir(filepath.Join(at, d), 0o755))
		}
		busybox(t, filepath.Join(at, "bin/busybox"))
		must.Do(t, errors.Join(os.WriteFile(filepath.Join(at, "text"), []byte(text), 0o644), os.Chmod(at, 0o755)))
		return at
	}
	at := filepath.Join(dir, "current")
	must.Do(t, os.Rename(image("one"), at))
	s := spec.Spec{Args: []string{"/bin/busybox", "cat", "/text"}, Rootfs: spec.Rootfs{Path: at}}
	must.Do(t, r.Prestart(s, 2))
	wantOutput(t, r.CommandSpec(t.Context(), s), "one")
	must.Do(t, errors.Join(os.Rename(at, at+".old"), os.Rename(image("two"), at)))
	for range 3 {
		wantOutput(t, r.CommandSpec(t.Context(), s), "two")
	}
	if err := os.Remove(filepath.Join(at, "work")); err != nil { // a place that the plan has seen is made again
		t.Fatal(err)
	}
	for range 2 {
		wantOutput(t, r.CommandSpec(t.Context(), s), "two")
	}
}

// busybox puts a static program into an image.
func busybox(t *testing.T, at string) {
	t.Helper()
	b, err := os.ReadFile("/bin/busybox")
	if err != nil {
		t.Skip("there is no static busybox here")
	}
	must.Do(t, os.WriteFile(at, b, 0o755))
}

// What a machine does not allow makes a Runner slower, and a note tells it.
func TestWithoutAPreparedTree(t *testing.T) {
	r := runnerWith(t, RunnerOptions{Cold: true})
	r.roots.why = "a reason"
	c := r.shell("echo same")
	wantOutput(t, c, "same")
	if !slices.ContainsFunc(c.Plan().Notes, func(n spec.Text) bool { return strings.Contains(n.String(), "a reason") }) {
		t.Errorf("notes %q", c.Plan().Notes)
	}
}

// The plan of a running jail is complete, whoever made it: a Runner forgets the part that it can write again.
func TestPlanOfARunningJail(t *testing.T) {
	dir := shared(t, 1000)
	for name, r := range map[string]*Runner{"warm": runnerWith(t, RunnerOptions{}), "cold": runnerWith(t, RunnerOptions{Cold: true})} {
		c := r.shell("true")
		c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/input"}}
		mustRun(t, c)
		text := c.Plan().String()
		_, steps := c.Plan().Steps()
		for _, want := range []string{"execve(\"/bin/sh\", [\"/bin/sh\", \"-c\", \"true\"]", "mounts[0]", "fork_init(", "# mount: new namespace"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
		if len(steps) < 150 || steps[len(steps)-1].Label != "exec" || steps[len(steps)-1].N != len(steps) {
			t.Errorf("%s: %d steps, the last is %+v", name, len(steps), steps[len(steps)-1])
		}
		if (name == "warm") != strings.Contains(text, "park(") || (name == "warm") != strings.Contains(text, "# launcher: a tree of its own") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}
