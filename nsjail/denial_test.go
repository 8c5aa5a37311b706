package nsjail

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/internal/test/asuser"
	"brig/internal/test/long"
	"brig/internal/test/must"
	"brig/internal/words"
	"brig/nsjail/spec"
	"brig/seccomp"

	"golang.org/x/sys/unix"
)

// denials formats Result.Denials without their reasons.
func denials(r *Result) string {
	var list []string
	for _, d := range r.Denials {
		list = append(list, fmt.Sprint(d.Name, " ", d.Count))
	}
	return strings.Join(list, ", ")
}

// refused is the beginning of payloads that make refused calls: call(name) asserts that the answer is EPERM.
const refused = `
import ctypes, os, signal, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def eperm(f, *args):
    r = f(*args)
    assert r == -1 and ctypes.get_errno() == 1, (r, ctypes.get_errno())
def unshare(): eperm(libc.unshare, 0x10000000)
def chroot(): eperm(libc.chroot, b"/")
def swapoff(): eperm(libc.swapoff, b"/")
def wait(n):
    for _ in range(n): assert os.wait()[1] == 0
`

// TestDenialsAreCounted: each refused call of every process and thread is counted once, under its name, and answered with
// EPERM as by the kernel.
func TestDenialsAreCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, script, want string }{
		{"none", `os.stat("/"); print(os.uname())`, ""},
		{"some", `for _ in range(3): unshare()
chroot()`, "unshare 3, chroot 1"},
		{"ENOSYS and an errno of 0 are no denials", `import resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); libc.syscall(435, 0, 0); libc.syscall(9999)`, ""},
		{"for its arguments", `
try: os.chmod("/tmp", 0o4755)
except PermissionError: pass
os.chmod("/tmp", 0o700); libc.ptrace(0x4206, os.getppid(), None, ctypes.c_void_p(0x40))
import socket
for family in (socket.AF_VSOCK, socket.AF_PACKET):
    try: socket.socket(family, socket.SOCK_RAW)
    except PermissionError: pass`, "socket 2, chmod 1, ptrace 1"},
		{"an unknown number", `libc.syscall(-1); unshare()`, "unshare 1, an unknown system call 1"},
		{"by threads", `
ts = [threading.Thread(target=lambda: [unshare() for _ in range(50)]) for _ in range(8)]
[x.start() for x in ts]; [x.join() for x in ts]`, "unshare 400"},
		{"by many processes", `
for _ in range(60):
    if os.fork() == 0:
        for _ in range(20): unshare()
        chroot(); os._exit(0)
wait(60)`, "unshare 1200, chroot 60"},
		{"by a process whose parent waits for it in vfork(2)", `
import subprocess
for _ in range(5): subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL, close_fds=False)`, "unshare 5"},
		{"by processes that are killed as they wait", `
for i in range(200):
    pid = os.fork()
    if pid == 0:
        while True: libc.unshare(0x10000000)
    if i % 3: os.sched_yield()
    os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0)
chroot()`, "chroot 1"},
		{"among signals", `
n = 0
def tick(*a):
    global n; n += 1
signal.signal(signal.SIGALRM, tick); signal.siginterrupt(signal.SIGALRM, False); signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
while n < 200: unshare()
signal.setitimer(signal.ITIMER_REAL, 0)
chroot()`, "chroot 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, r := mustRun(t, python(t, refused+c.script))
			got := denials(r)
			if c.want == "chroot 1" { // the number of calls of unshare differs
				got = strings.Join(slices.DeleteFunc(strings.Split(got, ", "), func(d string) bool {
					return strings.HasPrefix(d, "unshare ")
				}), ", ")
			}
			if got != c.want || r.Status != StatusOK || r.Violation != nil {
				t.Errorf("%s, want %s; %s %d %v", denials(r), c.want, r.Status, r.ExitCode, r.Violation)
			}
			for _, d := range r.Denials {
				if d.Layer != "syscall" || d.Why == "" {
					t.Errorf("%+v", d)
				}
			}
		})
	}
}

// TestDenialsOfAllJails: in jails of every order of start, and under every preset; a jail that was not made ahead for
// this payload has the counts of its own payload only.
func TestDenialsOfAllJails(t *testing.T) {
	runner := runnerWith(t, RunnerOptions{Pool: 2, Reuse: true})
	for range 3 {
		for name, c := range map[string]*Cmd{"Runner": runner.Command("unshare", "-m", "true"), "cold": Command("unshare", "-m", "true")} {
			c.Spec.Mounts = nil
			if _, r := mustRun(t, c); denials(r) != "unshare 1" || r.Status != StatusFailed {
				t.Errorf("%s: %s: %s", name, denials(r), r.Status)
			}
		}
		if _, r := mustRun(t, runner.Command("true")); denials(r) != "" {
			t.Errorf("another payload's denials: %s", denials(r))
		}
	}
	for _, preset := range seccomp.Presets() {
		if preset == "compute" { // unshare(1) cannot be started in it by a shell
			continue
		}
		c := Command("unshare", "-m", "true")
		c.Spec.Seccomp = preset
		if _, r := mustRun(t, c); denials(r) != "unshare 1" {
			t.Errorf("%s: %s %v", preset, denials(r), r.Notes)
		}
	}
}

// TestDenialsOfProfiles: a profile's own EPERM is counted, unless it also kills, which is then told by name as ever.
func TestDenialsOfProfiles(t *testing.T) {
	const rule = `{"names":["%s"],"action":"%s"}`
	eperm, kill := fmt.Sprintf(rule, "mkdir", "SCMP_ACT_ERRNO"), fmt.Sprintf(rule, "rmdir", "SCMP_ACT_KILL")
	for _, c := range []struct{ rules, want, note string }{
		{eperm, "mkdir 1", ""},
		{eperm + "," + kill, "", "not counted: the profile also kills"},
	} {
		j := shell("mkdir /tmp/d 2>/dev/null; exit 0")
		j.Spec.Seccomp = profile(t, `{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[`+c.rules+`]}`)
		_, r := mustRun(t, j)
		if notes := words.Join(r.Notes, " ").String(); denials(r) != c.want || !strings.Contains(notes, c.note) || r.Status != StatusOK {
			t.Errorf("%s: %q, %s, %q", c.rules, denials(r), r.Status, notes)
		}
	}
	c := Command("unshare", "-m", "true")
	c.Spec.NoInit = true
	if _, r := mustRun(t, c); r.Denials != nil || !strings.Contains(words.Join(r.Notes, " ").String(), "not counted") {
		t.Errorf("without init: %+v, %q", r.Denials, r.Notes)
	}
	c = Command("true")
	c.Spec.Seccomp = profile(t, `{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[`+fmt.Sprintf(rule, "execve", "SCMP_ACT_ERRNO")+`]}`)
	if e := startError(t, c); e.Op != "exec" { // and the start does not wait for an answer for ever
		t.Errorf("%v", e)
	}
}

// TestStormOfDenials: a million refused calls are counted, hide no other call, and cost the jail and not the keeper.
func TestStormOfDenials(t *testing.T) {
	long.Test(t)
	each := 250000
	if asuser.Second() { // a million take some seconds
		each = 25000
	}
	c := python(t, refused+fmt.Sprintf(`
swapoff()
for _ in range(4):
    if os.fork() == 0:
        f = libc.unshare
        for _ in range(%d): f(0x10000000)
        os._exit(0)
chroot()
wait(4)`, each))
	before := ownTime(t)
	_, r := mustRun(t, c)
	took := ownTime(t) - before
	if denials(r) != fmt.Sprintf("unshare %d, chroot 1, swapoff 1", 4*each) {
		t.Errorf("%s: %s", r.Status, denials(r))
	}
	jail := time.Duration(r.Usage.User + r.Usage.System)
	if took > jail/10 {
		t.Errorf("the keeper has used %s for a jail that has used %s", took, jail)
	}
}

// ownTime returns the processor time of the test's process, which is the keeper.
func ownTime(t *testing.T) time.Duration {
	t.Helper()
	var ru unix.Rusage
	must.Do(t, unix.Getrusage(unix.RUSAGE_SELF, &ru))
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// TestStormDoesNotHold: a jail in a storm ends at its limit on time, and has its counts.
func TestStormDoesNotHold(t *testing.T) {
	c := python(t, refused+`
chroot()
while True:
    try:
        if os.fork() == 0:
            while True: libc.unshare(0x10000000)
    except OSError: time.sleep(0.01)`)
	c.Spec.Limits.Processes = 40
	c.Spec.Limits.Wall = spec.Duration(time.Second)
	_, r := mustRun(t, c)
	if r.Status != StatusTimeout || !strings.HasSuffix(denials(r), ", chroot 1") {
		t.Errorf("%s: %s", r.Status, denials(r))
	}
}

// TestStormCanBeFrozen: processes that wait for init's answer do not keep their control group from being frozen.
func TestStormCanBeFrozen(t *testing.T) {
	c := tight(t, `exec python3 -c '`+refused+`
for _ in range(4):
    if os.fork() == 0:
        while True: libc.unshare(0x10000000)
print("go", flush=True)
wait(4)'`)
	out, theirs, err := os.Pipe()
	must.Do(t, err)
	defer out.Close()
	c.Stdout = theirs
	must.Do(t, c.Start())
	theirs.Close()
	must.Get(out.Read(make([]byte, 8)))(t)
	for range 20 {
		must.Do(t, c.Freeze(true))
		must.Do(t, c.Freeze(false))
	}
	if err := c.Signal(unix.SIGKILL); err != nil {
		t.Error(err)
	}
	if _, err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// TestExecDenial: a command that cannot be executed is a denial with its remedy.
func TestExecDenial(t *testing.T) {
	_, err := Command("no-such-command-here").Run()
	var e *ExecError
	if !errors.As(err, &e) {
		t.Fatalf("%T %v", err, err)
	}
	if d := e.Denial(); d.Layer != "exec" || !strings.Contains(d.Name, "no-such-command-here") || d.Count != 1 || d.Why == "" || d.Fix == "" {
		t.Errorf("%+v", d)
	}
}
