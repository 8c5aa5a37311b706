package seccomp

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// A filter cannot be taken off again, so the tests that load one re-execute the test binary. childVar names what the
// child does; it is a variable of these tests only.
const childVar = "BRIG_SECCOMP_TEST_CHILD"

func TestMain(m *testing.M) {
	if raw := os.Getenv(childVar); raw != "" {
		var o order
		if err := json.Unmarshal([]byte(raw), &o); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(99)
		}
		if err := o.child(); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(99)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// order is what a child is to do.
type order struct {
	Preset string // "" loads no filter
	UID    int    // identity to take first; 0 keeps the own one
	Do     string // calls, int80, x32, exec
	Argv   []string
}

func (o order) run(t *testing.T) ([]byte, *os.ProcessState, error) {
	t.Helper()
	raw, err := json.Marshal(o)
	must.Do(t, err)
	cmd := exec.Command("/proc/self/exe")
	cmd.Dir = commonDir(t)
	cmd.Env = append(os.Environ(), childVar+"="+string(raw), "HOME="+cmd.Dir, "TMPDIR="+cmd.Dir,
		// The go command leaves a telemetry process behind, which would write here after we are done. An ordinary user may
		// have no way to the toolchain that go.mod wants, which the go command of this test has fetched.
		"XDG_CONFIG_HOME=/dev/null", "GOROOT=", "GOTOOLCHAIN=local", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return out, cmd.ProcessState, err
}

// commonDir is a directory that every user may write to, which t.TempDir is not: its parent is closed.
func commonDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "brig-seccomp-")
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	must.Do(t, err)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func (o order) child() error {
	// seccomp(2) and the raw calls below must be of one thread.
	runtime.LockOSThread()
	if o.UID != 0 {
		err := syscall.Setgroups(nil)
		if err == nil {
			err = syscall.Setresgid(o.UID, o.UID, o.UID)
		}
		if err == nil {
			err = syscall.Setresuid(o.UID, o.UID, o.UID)
		}
		if err != nil {
			return err
		}
	}
	if err := o.load(); err != nil {
		return err
	}
	switch o.Do {
	case "calls":
		return liveCalls(o.Preset != "")
	case "int80":
		return int80()
	case "x32":
		_, _, errno := unix.RawSyscall(x32Bit|39, 0, 0, 0)
		return fmt.Errorf("x32 getpid answered %v", errno)
	}
	if err := os.Unsetenv(childVar); err != nil {
		return err
	}
	return syscall.Exec(o.Argv[0], o.Argv, os.Environ())
}

func (o order) load() error {
	if o.Preset == "" {
		return nil
	}
	bpf, err := o.bpf()
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(bpf) / insnSize), Filter: (*unix.SockFilter)(unsafe.Pointer(&bpf[0]))}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(bpf)
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}

func (o order) bpf() ([]byte, error) { return PresetFilter(o.Preset, native(), true) }

// liveCalls makes real system calls. Without a filter it proves that the refusals are the filter's: none may be EPERM.
func liveCalls(filtered bool) error {
	const garbage = 0xbeef << 32
	const ok = unix.Errno(0)
	calls := []struct {
		name string
		nr   uintptr
		args [3]uintptr
		want unix.Errno
	}{
		{"socket AF_UNIX", unix.SYS_SOCKET, [3]uintptr{unix.AF_UNIX, unix.SOCK_STREAM, 0}, ok},
		{"socket AF_INET", unix.SYS_SOCKET, [3]uintptr{unix.AF_INET, unix.SOCK_STREAM, 0}, ok},
		{"socket AF_INET, garbage above", unix.SYS_SOCKET, [3]uintptr{garbage | unix.AF_INET, unix.SOCK_STREAM, 0}, ok},
		{"socket NETLINK_ROUTE", unix.SYS_SOCKET, [3]uintptr{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, ok},
		{"socket NETLINK_KOBJECT_UEVENT", unix.SYS_SOCKET, [3]uintptr{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT}, unix.EPERM},
		{"socket NETLINK_KOBJECT_UEVENT, garbage above", unix.SYS_SOCKET, [3]uintptr{unix.AF_NETLINK, unix.SOCK_RAW, garbage | unix.NETLINK_KOBJECT_UEVENT}, unix.EPERM},
		{"socket AF_VSOCK", unix.SYS_SOCKET, [3]uintptr{unix.AF_VSOCK, unix.SOCK_STREAM, 0}, unix.EPERM},
		{"socket AF_VSOCK, garbage above", unix.SYS_SOCKET, [3]uintptr{garbage | unix.AF_VSOCK, unix.SOCK_STREAM, 0}, unix.EPERM},
		{"socket AF_ALG", unix.SYS_SOCKET, [3]uintptr{unix.AF_ALG, unix.SOCK_SEQPACKET, 0}, unix.EPERM},
		{"socket AF_QIPCRTR", unix.SYS_SOCKET, [3]uintptr{unix.AF_QIPCRTR, unix.SOCK_DGRAM, 0}, unix.EPERM},
		{"keyctl GET_KEYRING_ID", unix.SYS_KEYCTL, [3]uintptr{0, ^uintptr(2), 0}, unix.EPERM},
		{"unshare nothing", unix.SYS_UNSHARE, [3]uintptr{}, unix.EPERM},
		{"setns", unix.SYS_SETNS, [3]uintptr{^uintptr(0), 0}, unix.EPERM},
		{"clone3", unix.SYS_CLONE3, [3]uintptr{0, 0, 0}, unix.ENOSYS},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, [3]uintptr{0, 0, 0}, unix.EPERM},
		{"fsopen", unix.SYS_FSOPEN, [3]uintptr{0, ^uintptr(0), 0}, unix.EPERM},
		{"ioctl TIOCSTI", unix.SYS_IOCTL, [3]uintptr{^uintptr(0), unix.TIOCSTI, 0}, unix.EPERM},
		{"ioctl TIOCSTI, garbage above", unix.SYS_IOCTL, [3]uintptr{^uintptr(0), garbage | unix.TIOCSTI, 0}, unix.EPERM},
		{"ioctl TIOCLINUX", unix.SYS_IOCTL, [3]uintptr{^uintptr(0), unix.TIOCLINUX, 0}, unix.EPERM},
		{"ioctl TCGETS of no file", unix.SYS_IOCTL, [3]uintptr{^uintptr(0), unix.TCGETS, 0}, unix.EBADF},
		{"listns", unix.SYS_LISTNS, [3]uintptr{}, unix.ENOSYS},
		{"number 4000", 4000, [3]uintptr{}, unix.ENOSYS},
	}
	for _, c := range calls {
		_, _, errno := unix.RawSyscall(c.nr, c.args[0], c.args[1], c.args[2])
		switch {
		case filtered && errno != c.want:
			return fmt.Errorf("%s answered %q, want %q", c.name, errno, c.want)
		case !filtered && errno == unix.EPERM && !strings.HasPrefix(c.name, "io_uring") && !strings.HasPrefix(c.name, "fsopen"):
			return fmt.Errorf("%s answers EPERM without a filter: the test proves nothing", c.name)
		}
	}
	return nil
}

// int80 makes the 32-bit getpid from 64-bit code: the kernel serves it as i386, whose numbers mean other calls.
func int80() error {
	code, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	copy(code, "\xb8\x14\x00\x00\x00\xcd\x80\xc3") // mov $20, %eax; int $0x80; ret
	f := struct{ entry *byte }{&code[0]}           // a Go func value points to its code pointer
	p := &f
	(*(*func())(unsafe.Pointer(&p)))()
	return nil
}

func uids() []int {
	if os.Geteuid() == 0 {
		return []int{0, 65534}
	}
	return []int{0}
}

func TestLiveCalls(t *testing.T) {
	needNative(t)
	for _, uid := range uids() {
		for _, preset := range []string{"default", ""} {
			if preset == "" && uid != 0 {
				continue // EPERM may then be a capability's
			}
			if out, _, err := (order{Preset: preset, UID: uid, Do: "calls"}).run(t); err != nil {
				t.Errorf("uid %d, filter %q: %v\n%s", uid, preset, err, out)
			}
		}
	}
}

func TestLiveForeignABIs(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("int 0x80 and x32 are x86's")
	}
	for _, uid := range uids() {
		for _, do := range []string{"int80", "x32"} {
			out, state, _ := order{Preset: "default", UID: uid, Do: do}.run(t)
			if ws, ok := state.Sys().(syscall.WaitStatus); !ok || !ws.Signaled() || ws.Signal() != unix.SIGSYS {
				t.Errorf("uid %d: %s: %v, want death by SIGSYS\n%s", uid, do, state, out)
			}
		}
	}
	if out, state, _ := (order{Do: "x32"}).run(t); state.ExitCode() != 99 {
		t.Errorf("x32 without a filter: %v; the test proves nothing\n%s", state, out)
	}
	out, state, _ := order{Do: "int80"}.run(t)
	if ws, _ := state.Sys().(syscall.WaitStatus); ws.Signaled() && ws.Signal() == unix.SIGSYS {
		t.Errorf("int80 without a filter: %v; the test proves nothing\n%s", state, out)
	}
}
