package nsjail

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDebugPreset: tools of every day work under it, though one of them asks for PTRACE_O_TRACEEXIT.
func TestDebugPreset(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want string
		args []string
	}{
		{"exited with 0", []string{"strace", "-f", "sh", "-c", "true; true"}},
		{"exited with 0", []string{"sh", "-c", "strace true 2>/dev/null; strace true 2>&1"}}, // the second when the first has gone
		{"exited normally", []string{"gdb", "-batch", "-nx", "-ex", "run", "--args", "true"}},
	} {
		t.Run(strings.Join(c.args[:2], " "), func(t *testing.T) {
			t.Parallel()
			needs(t, "strace")
			needs(t, c.args[0])
			j := Command(c.args[0], c.args[1:]...)
			j.Spec.Seccomp = "debug"
			if out, _, err := j.CombinedOutput(); err != nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%v, want %q\n%s", err, c.want, out)
			}
		})
	}
}

// TestOneExitTracer: under the debug preset one process may be told of its tracees' exits, its threads and others may
// not.
func TestOneExitTracer(t *testing.T) {
	t.Parallel()
	c := python(t, `
import ctypes, os, signal, threading
libc = ctypes.CDLL(None, use_errno=True)
def seize():
    pid = os.fork()
    if pid == 0: signal.pause()
    r = libc.ptrace(0x4206, pid, None, ctypes.c_void_p(0x40))
    os.kill(pid, signal.SIGKILL)
    return "yes" if r == 0 else os.strerror(ctypes.get_errno())
said = []
thread = threading.Thread(target=lambda: said.append(seize())); thread.start(); thread.join()
said.append(seize())
r, w = os.pipe()
if os.fork() == 0: os.write(w, seize().encode()); os._exit(0)
said.append(os.read(r, 99).decode())
print(said)`)
	c.Spec.Seccomp = "debug"
	out, _, err := c.Output()
	if want := "['Operation not permitted', 'yes', 'Operation not permitted']\n"; err != nil || string(out) != want {
		t.Errorf("%v, %s, want %s", err, out, want)
	}
}

// TestGuardBeneathProfiles: a profile that allows everything does not allow what the default refuses for its arguments,
// and kills through a foreign ABI are still told by name.
func TestGuardBeneathProfiles(t *testing.T) {
	t.Parallel()
	profile := filepath.Join(t.TempDir(), "allow.json")
	if err := os.WriteFile(profile, []byte(`{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["chroot"], "action": "SCMP_ACT_KILL"}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	c := python(t, `
import ctypes, fcntl, os, resource, sys
libc = ctypes.CDLL(None, use_errno=True)
assert libc.ptrace(0x4206, os.getppid(), None, ctypes.c_void_p(0x40)) == -1 and ctypes.get_errno() == 1
for args in ((10, 9), (4, 0o20000), (1024, 0)):
    try: sys.exit(f"fcntl{args} was allowed: {fcntl.fcntl(0, *args)}")
    except PermissionError: pass
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
assert resource.getrlimit(resource.RLIMIT_CORE) == (1, 1)
os.chmod("/tmp", 0o2755)
print("held", flush=True)
libc.chroot(b"/")`)
	c.Spec.Seccomp = profile
	out, res, err := c.CombinedOutput()
	if string(out) != "held\n" || res == nil || res.Status != StatusViolation || res.Violation == nil || res.Violation.Syscall != "chroot" {
		t.Errorf("%v, %+v, %q", err, res, out)
	}
}
