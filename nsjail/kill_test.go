package nsjail

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/internal/sys"
	"brig/internal/test/asuser"
	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// The roles that the test binary takes when it is run again.
const (
	roleVar    = "BRIG_TEST_ROLE" // "killer", or "keeper" and "keeper-noinit"
	killScript = "echo up; trap '' TERM HUP INT; setsid sleep 1000 & (sleep 1000 &) ; sleep 1000; sleep 1000"
)

// TestKeeperIsKilled kills keepers with SIGKILL at many moments of a jail's life. A process of its own does so: it is
// the subreaper (prctl(2)) of whatever a keeper leaves behind, so that "nothing is left" is ECHILD from wait4(2).
func TestKeeperIsKilled(t *testing.T) {
	out, err := runRole("killer", "^TestKiller$").CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

// TestKeeper is the keeper of a library's jail.
func TestKeeper(t *testing.T) {
	role := os.Getenv(roleVar)
	if !strings.HasPrefix(role, "keeper") {
		t.Skip("it is a role of TestKeeperIsKilled")
	}
	pools := RunnerOptions{}
	if role == "keeper-pools" {
		pools.Pool = 3
	}
	r := must.Get(NewRunnerWith(pools))(t)
	fmt.Fprint(os.Stderr, "r")
	c := r.CommandContext(context.Background(), "/bin/sh", "-c", killScript)
	c.Spec.NoInit = role == "keeper-noinit"
	if role == "keeper-pools" {
		for _, s := range []spec.Spec{c.Spec, {Args: []string{"true"}, Mounts: []spec.Mount{{Type: spec.MountTmpfs, Target: "/x"}}}} {
			must.Do(t, r.Prestart(s, 3))
		}
	}
	c.Stdout = os.NewFile(3, "out")
	must.Get(c.Run())(t)
}

// TestKiller is the process that starts and kills keepers.
func TestKiller(t *testing.T) {
	if os.Getenv(roleVar) != "killer" {
		t.Skip("it is a role of TestKeeperIsKilled")
	}
	must.Do(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	tmp := t.TempDir()
	before := mountLines(t)
	brig := filepath.Join(asuser.Dir(), "brig")
	moments := 40 // of each of six kinds
	if testing.Short() {
		moments = 8
	}
	for _, k := range []keeperKind{
		{"brig run", []string{brig, "run", "--", "/bin/sh", "-c", killScript}, "", false, 15 * time.Millisecond},
		{"brig run --no-init", []string{brig, "run", "--no-init", "--", "/bin/sh", "-c", killScript}, "", false, 15 * time.Millisecond},
		{"brig run --tier process", []string{brig, "run", "--tier", "process", "--", "/bin/sh", "-c", killScript}, "", false, 15 * time.Millisecond},
		{"library", []string{"/proc/self/exe", "-test.run=^TestKeeper$"}, "keeper", true, 15 * time.Millisecond},
		{"library, pools", []string{"/proc/self/exe", "-test.run=^TestKeeper$"}, "keeper-pools", true, 15 * time.Millisecond},
		{"library, no init", []string{"/proc/self/exe", "-test.run=^TestKeeper$"}, "keeper-noinit", true, 15 * time.Millisecond},
	} {
		for !k.killAt(t, tmp, k.within) && k.within < time.Minute { // a slow machine, an emulated one say, takes longer to start
			k.within *= 2
		}
		up := 0
		for i := range moments {
			delay := k.within * time.Duration(i) / time.Duration(moments)
			if i >= moments-2 {
				delay = 10 * k.within
			}
			if k.killAt(t, tmp, delay) {
				up++
			}
		}
		all := moments
		for ; up == all && all < 500; all++ { // on a busy machine we come too late even at once
			if k.killAt(t, tmp, 0) {
				up++
			}
		}
		t.Logf("%s: killed at %d moments, after the payload's start in %d", k.name, all, up)
		if up == 0 || up == all {
			t.Errorf("%s: the moments do not cover the start", k.name)
		}
	}
	if after := mountLines(t); after != before {
		t.Errorf("%d mounts, %d before", after, before)
	}
	if list, err := os.ReadDir(tmp); err != nil || len(list) > 0 {
		t.Errorf("temporary files are left: %v, %v", list, err)
	}
}

type keeperKind struct {
	name   string
	argv   []string
	role   string
	ready  bool // it says on stderr when it is about to start a jail
	within time.Duration
}

// killAt starts a keeper, kills it after a delay, and sees that everything ends. It reports whether the payload had
// run.
func (k *keeperKind) killAt(t *testing.T, tmp string, delay time.Duration) (up bool) {
	t.Helper()
	out, outW, err := os.Pipe()
	must.Do(t, err)
	ready, readyW, err := os.Pipe()
	must.Do(t, err)
	defer out.Close()
	defer ready.Close()
	env := append([]string{"TMPDIR=" + tmp, roleVar + "=" + k.role, "BRIG_TEST_DIR=" + asuser.Dir()}, os.Environ()...) // the first counts
	pid, err := syscall.ForkExec(k.argv[0], k.argv, &syscall.ProcAttr{Env: env,
		Files: []uintptr{0, outW.Fd(), readyW.Fd(), outW.Fd()}})
	outW.Close()
	readyW.Close()
	must.Do(t, err)
	if k.ready {
		if _, err := io.ReadFull(ready, make([]byte, 1)); err != nil {
			said, rerr := io.ReadAll(out)
			t.Fatalf("the keeper did not start: %v: %s %v", err, said, rerr)
		}
	}
	time.Sleep(delay)
	must.Do(t, syscall.Kill(pid, syscall.SIGKILL))
	ended := make(chan int, 1)
	go func() {
		n := 0
		for {
			if _, err := syscall.Wait4(-1, nil, unix.WALL, nil); err == syscall.ECHILD {
				ended <- n
				return
			} else if err == nil {
				n++
			}
		}
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s, killed after %s: processes are left: %s", k.name, delay, childrenOf(os.Getpid()))
	}
	b, err := io.ReadAll(out) // its end says, too, that nobody holds the other end
	must.Do(t, err)
	return strings.HasPrefix(string(b), "up")
}

func mountLines(t *testing.T) int {
	t.Helper()
	b := must.Get(os.ReadFile("/proc/self/mountinfo"))(t)
	return strings.Count(string(b), "\n")
}

// childrenOf names the children of a process.
func childrenOf(pid int) (list []string) {
	for _, child := range sys.Children(pid) {
		if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", child)); err == nil {
			list = append(list, fmt.Sprint(child, " ", strings.TrimSpace(string(comm))))
		}
	}
	return list
}
