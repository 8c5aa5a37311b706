package nsjail

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"brig/internal/test/must"
	"brig/internal/words"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"
	"brig/rootfs"
	"brig/seccomp"

	"golang.org/x/sys/unix"
)

// kills is a profile that answers some calls with death and allows the rest.
func kills(t *testing.T, action string, names ...string) string {
	t.Helper()
	list := must.Get(json.Marshal(names))(t)
	return profile(t, fmt.Sprintf(`{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":%s,"action":%q}]}`, list, action))
}

// killsByDefault is the default preset with death where it has an errno by default, and where it refuses unshare(2).
func killsByDefault(t *testing.T) string {
	t.Helper()
	p := must.Get(seccomp.Preset("default"))(t)
	p.DefaultAction = "SCMP_ACT_KILL_PROCESS"
	p.DefaultErrnoRet = nil
	p.Syscalls = slices.DeleteFunc(p.Syscalls, func(s seccomp.Syscall) bool { return slices.Contains(s.Names, "unshare") })
	text := must.Get(json.Marshal(p))(t)
	return profile(t, string(text))
}

const (
	killMkdir = "SCMP_ACT_KILL_PROCESS"
	abi32     = `import ctypes,mmap
code=mmap.mmap(-1,4096,prot=7); code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()`
	inThread = `import os,threading,time
t=threading.Thread(target=os.mkdir,args=("/tmp/d",)); t.start(); time.sleep(60)`
	flood = `import os,threading,time
def bad():
    ts=[threading.Thread(target=os.mkdir,args=("/tmp/x",)) for _ in range(4)]
    [t.start() for t in ts]; time.sleep(60)
kids=[]
for i in range(60):
    p=os.fork()
    if p==0: bad()
    kids.append(p)
print(sorted({os.waitstatus_to_exitcode(os.waitpid(p,0)[1]) for p in kids}), flush=True)
os._exit(3)`
	racing = `import os,signal,time
for i in range(300):
    p=os.fork()
    if p==0: os.mkdir("/tmp/x")
    if i%3: os.sched_yield()
    os.kill(p,signal.SIGKILL); os.waitpid(p,0)
os._exit(4)`
)

func TestViolationIsNamed(t *testing.T) {
	needs(t, "python3")
	python := func(script string) []string { return []string{"python3", "-c", script} }
	mkdir := kills(t, killMkdir, "mkdir", "mkdirat")
	for _, test := range []struct {
		name, seccomp string
		args          []string
		status        Status
		signal        string
		code, least   int // violations at least; -1: nothing is known of any
		call, out     string
		noInit        bool
	}{
		{"the payload", mkdir, []string{"mkdir", "/tmp/d"}, StatusViolation, "SIGSYS", -1, 1, "mkdir", "", false},
		{"by thread", kills(t, "SCMP_ACT_KILL_THREAD", "mkdir"), []string{"mkdir", "/tmp/d"}, StatusViolation, "SIGSYS", -1, 1, "mkdir", "", false},
		{"by default", killsByDefault(t), []string{"unshare", "-U", "true"}, StatusViolation, "SIGSYS", -1, 1, "unshare", "", false},
		{"a thread of it", mkdir, python(inThread), StatusViolation, "SIGSYS", -1, 1, "mkdir", "", false},
		{"its child", mkdir, []string{"sh", "-c", "mkdir /tmp/d; echo $?"}, StatusOK, "", 0, 1, "mkdir", "137\n", false},
		{"many", mkdir, python(flood), StatusFailed, "", 3, 60, "mkdir", "[-9]\n", false},
		{"many that are killed", mkdir, python(racing), StatusFailed, "", 4, 0, "mkdir", "", false},
		{"SIGSYS by kill", mkdir, []string{"sh", "-c", "kill -SYS $$"}, StatusSignal, "SIGSYS", -1, -1, "", "", false},
		{"SIGSYS by kill, after a child's violation", mkdir, []string{"sh", "-c", "mkdir /tmp/d; kill -SYS $$"}, StatusSignal, "SIGSYS", -1, 1, "mkdir", "", false},
		{"SIGKILL after a child's violation", mkdir, []string{"sh", "-c", "mkdir /tmp/d; kill -KILL $$"}, StatusSignal, "SIGKILL", -1, 1, "mkdir", "", false},
		{"without init", mkdir, []string{"mkdir", "/tmp/d"}, StatusViolation, "SIGSYS", -1, -1, "", "", true},
		{"execve itself", kills(t, killMkdir, "execve"), []string{"true"}, StatusViolation, "SIGSYS", -1, -1, "", "", false},
		{"exit_group itself", kills(t, killMkdir, "exit_group"), []string{"true"}, StatusViolation, "SIGSYS", -1, -1, "", "", false},
		{"nobody", mkdir, []string{"true"}, StatusOK, "", 0, -1, "", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Command(test.args[0], test.args[1:]...)
			c.Spec.Seccomp, c.Spec.NoInit = test.seccomp, test.noInit
			out, r := mustRun(t, c)
			if r.Status != test.status || r.Signal != test.signal || r.ExitCode != test.code || !strings.HasSuffix(out, test.out) {
				t.Errorf("%s %q %d, want %s %q %d; output %q", r.Status, r.Signal, r.ExitCode, test.status, test.signal, test.code, out)
			}
			v := r.Violation
			if test.least < 1 && v == nil {
				return
			}
			if v == nil || v.Count < test.least || test.least < 0 || v.Syscall != test.call || v.Arch != seccomp.NativeABI() || test.least == 1 && v.Count != 1 {
				t.Errorf("violation %+v, want %s and %d at least", v, test.call, test.least)
			}
		})
	}
}

// The default filter kills for foreign ABIs only, and names those calls by their own tables.
func TestForeignABIIsNamed(t *testing.T) {
	needs(t, "python3")
	if runtime.GOARCH != "amd64" {
		t.Skip("the payload is x86-64 code")
	}
	_, r := mustRun(t, Command("python3", "-c", abi32))
	if v := r.Violation; r.Status != StatusViolation || v == nil || *v != (Violation{"getpid", 20, "i386", 1}) || v.String() != "getpid of the i386 ABI" {
		t.Errorf("%+v, violation %+v", r, v)
	}
	v := &Violation{Number: 4000, Arch: seccomp.NativeABI(), Count: 1}
	if v.String() != "system call 4000" {
		t.Error(v)
	}
}

// The listener is init's: it takes no number that the payload would notice, and fits beside small limits.
func TestListenerStaysOutOfReach(t *testing.T) {
	profile := kills(t, killMkdir, "mkdir")
	for _, files := range []int64{3, 4, 5, 8, 64, 1024} {
		c := Command("sh", "-c", "echo /proc/self/fd/*; ls /proc/1/fd; mkdir /tmp/d")
		c.Spec.Seccomp = profile
		c.Spec.Limits.Rlimits = map[string]spec.Rlimit{"nofile": {Soft: files, Hard: files}}
		out, r := mustRun(t, c)
		named := !slices.ContainsFunc(r.Notes, func(n spec.Text) bool { return strings.Contains(n.String(), "will not be named") })
		if named != (files >= plan.MinFiles) {
			t.Errorf("%d files: the notes are %q", files, r.Notes)
		}
		if files < 5 { // the dynamic linker needs one, and sh another
			continue
		}
		if r.Status != StatusFailed || r.ExitCode != 137 || r.Violation == nil || r.Violation.Count != 1 {
			t.Errorf("%d files: %+v, violation %+v", files, r, r.Violation)
		}
		if !strings.HasPrefix(out, "/proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 /proc/self/fd/3\n") || !strings.Contains(out, "Permission denied") {
			t.Errorf("%d files: %q", files, out) // 3 is the directory that sh reads
		}
	}
}

// A failing start is told of even where the filter kills for write(2).
func TestStartErrorsUnderAFilter(t *testing.T) {
	c := Command("no-such-command-here")
	c.Spec.Seccomp = kills(t, killMkdir, "write", "sendmsg")
	if e := startError(t, c); e.Errno != unix.ENOENT {
		t.Errorf("%v", e)
	}
}

// listenVar makes the test's own process one that is under a filter with a listener.
const listenVar = "BRIG_TEST_LISTEN"

// Beneath a supervisor that listens already, no second listener can be had: the kernel's own kill has to do.
func TestUnderAnotherListener(t *testing.T) {
	switch os.Getenv(listenVar) {
	case "":
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestUnderAnotherListener$", "-test.v")
		cmd.Env = append(os.Environ(), listenVar+"=load")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestUnderAnotherListener") || !strings.Contains(string(out), "beneath") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	case "load":
		runtime.LockOSThread()
		loadListener(t)
		t.Setenv(listenVar, "beneath")
		t.Fatal(syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
	}
	fmt.Println("beneath")
	c := Command("mkdir", "/tmp/d")
	c.Spec.Seccomp = kills(t, killMkdir, "mkdir")
	_, r := mustRun(t, c)
	if r.Status != StatusViolation || r.Violation != nil || !strings.Contains(words.Join(r.Notes, " ").String(), "does not allow another listener") {
		t.Errorf("%+v, notes %q", r, r.Notes)
	}
	wantOutput(t, Command("echo", "works"), "works")
}

// loadListener puts this thread under a filter that allows everything, with a listener that outlives execve(2).
func loadListener(t *testing.T) {
	t.Helper()
	must.Do(t, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	allow := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
	prog := unix.SockFprog{Len: 1, Filter: &allow}
	fd, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
	if e != 0 {
		t.Fatal(e)
	}
	must.Get(unix.FcntlInt(fd, unix.F_SETFD, 0))(t)
}

// A profile of the caller's beneath which brig's guard stands: the guard's own kills are not heard, the profile's are.
func TestViolationAboveTheGuard(t *testing.T) {
	dir := t.TempDir()
	c := Command("mkdir", "/work/d")
	c.Spec.Seccomp = kills(t, killMkdir, "mkdir")
	c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/work", Writable: true}}
	_, r := mustRun(t, c)
	if r.Status != StatusViolation || r.Violation == nil || r.Violation.Syscall != "mkdir" {
		t.Errorf("%+v, violation %+v", r, r.Violation)
	}
	if _, err := os.Stat(filepath.Join(dir, "d")); err == nil {
		t.Error("the call was performed")
	}
}

// A wall-clock limit that ends a payload while violations come in is told as what it is.
func TestTimeoutAmongViolations(t *testing.T) {
	c := shell("while :; do mkdir /tmp/d; done")
	c.Spec.Seccomp = kills(t, killMkdir, "mkdir")
	c.Spec.Limits.Wall = spec.Duration(300 * time.Millisecond)
	_, r := mustRun(t, c)
	if r.Status != StatusTimeout {
		t.Errorf("%+v", r)
	}
}

// The numbers of the descriptors in package rootfs are those that init keeps.
func TestDiskNumbers(t *testing.T) {
	if rootfs.FirstDisk != launcher.FDDisk || rootfs.MaxDisks != launcher.MaxDisks {
		t.Errorf("rootfs keeps %d from %d, init %d from %d", rootfs.MaxDisks, rootfs.FirstDisk, launcher.MaxDisks, launcher.FDDisk)
	}
}
