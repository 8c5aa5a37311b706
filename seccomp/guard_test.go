package seccomp

import (
	"runtime"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

func TestGuard(t *testing.T) {
	table := must.Get(guardTable(true, true))(t)
	bpf := must.Get(table.Compile())(t)
	a, _ := findArch(runtime.GOARCH)
	for _, c := range []struct {
		name string
		call string
		args [6]uint64
		want Action
	}{
		{"chmod 755", "chmod", [6]uint64{1: 0o755}, Allow},
		{"chmod u+s", "chmod", [6]uint64{1: 0o4755}, ErrnoAction(unix.EPERM)},
		{"chmod g+s", "chmod", [6]uint64{1: 0o2755}, ErrnoAction(unix.EPERM)},
		{"chmod u+s, garbage above", "chmod", [6]uint64{1: 0xdead00000000 | 0o4755}, ErrnoAction(unix.EPERM)},
		{"sticky", "fchmod", [6]uint64{1: 0o1777}, Allow},
		{"fchmodat u+s", "fchmodat", [6]uint64{2: 0o6755}, ErrnoAction(unix.EPERM)},
		{"fchmodat2 u+s", "fchmodat2", [6]uint64{2: 0o4000}, ErrnoAction(unix.EPERM)},
		{"open for reading, garbage as the mode", "open", [6]uint64{2: 0o7777}, Allow},
		{"open O_CREAT 755", "open", [6]uint64{1: unix.O_CREAT, 2: 0o755}, Allow},
		{"open O_CREAT u+s", "open", [6]uint64{1: unix.O_CREAT | unix.O_WRONLY, 2: 0o4755}, ErrnoAction(unix.EPERM)},
		{"openat O_TMPFILE g+s", "openat", [6]uint64{2: unix.O_TMPFILE | unix.O_RDWR, 3: 0o2755}, ErrnoAction(unix.EPERM)},
		{"openat O_DIRECTORY", "openat", [6]uint64{2: unix.O_DIRECTORY, 3: 0o7777}, Allow},
		{"creat u+s", "creat", [6]uint64{1: 0o4755}, ErrnoAction(unix.EPERM)},
		{"mknodat u+s", "mknodat", [6]uint64{2: unix.S_IFREG | 0o4755}, ErrnoAction(unix.EPERM)},
		{"openat2", "openat2", [6]uint64{}, ErrnoAction(unix.ENOSYS)},
		{"anything else", "unshare", [6]uint64{unix.CLONE_NEWUSER}, Allow},
	} {
		nr, known := a.syscallNumber(c.call)
		if known == isForeign {
			continue // as chmod(2) is on arm64
		}
		if got := Simulate(bpf, Data{Nr: int32(nr), Arch: a.audit, Args: c.args}); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if a.goName == "amd64" {
		d := Data{Nr: unix.SYS_FCHMOD | x32Bit, Arch: a.audit, Args: [6]uint64{1: 0o4755}}
		if got := Simulate(bpf, d); got != KillProcess {
			t.Errorf("a foreign ABI: %v, want %v", got, KillProcess)
		}
	}
}

func TestOpen(t *testing.T) {
	table := must.Get(openTable())(t)
	bpf := must.Get(table.Compile())(t)
	for _, c := range []struct {
		nr   int32
		args [6]uint64
		want Action
	}{
		{unix.SYS_SOCKET, [6]uint64{unix.AF_VSOCK}, ErrnoAction(unix.EAFNOSUPPORT)},
		{unix.SYS_SOCKET, [6]uint64{unix.AF_ALG | 1<<40}, ErrnoAction(unix.EAFNOSUPPORT)},
		{unix.SYS_SOCKET, [6]uint64{unix.AF_UNIX}, Allow},
		{unix.SYS_IOCTL, [6]uint64{0, unix.TIOCSTI}, ErrnoAction(unix.EPERM)},
		{unix.SYS_IOCTL, [6]uint64{0, unix.TIOCNOTTY}, Allow},
		{unix.SYS_FCNTL, [6]uint64{0, unix.F_SETFL, unix.O_ASYNC | unix.O_NONBLOCK}, ErrnoAction(unix.EPERM)},
		{unix.SYS_FCNTL, [6]uint64{0, unix.F_SETFL, unix.O_NONBLOCK}, Allow},
		{unix.SYS_UNSHARE, [6]uint64{unix.CLONE_NEWUSER}, Allow},
	} {
		if got := Simulate(bpf, Data{Nr: c.nr, Args: c.args}); got != c.want {
			t.Errorf("call %d %v: %v, want %v", c.nr, c.args, got, c.want)
		}
	}
}
