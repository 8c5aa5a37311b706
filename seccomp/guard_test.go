package seccomp

import (
	"bytes"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func TestGuardBPFIsFresh(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skipf("no embedded filter on %s", runtime.GOARCH)
	}
	for name, files := range map[string]bool{"guard_amd64.bpf": false, "guard_files_amd64.bpf": true} {
		table, err := GuardTable(files)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := table.Compile()
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			err = os.WriteFile(name, fresh, 0o644)
		} else if have, _ := GuardBPF(files); !bytes.Equal(have, fresh) {
			t.Errorf("%s is not what GuardTable compiles to; run go generate", name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestGuard(t *testing.T) {
	bpf, ok := GuardBPF(true)
	if !ok {
		t.Skipf("no embedded filter on %s", runtime.GOARCH)
	}
	for _, c := range []struct {
		name string
		nr   int32
		args [6]uint64
		want Action
	}{
		{"chmod 755", unix.SYS_CHMOD, [6]uint64{1: 0o755}, Allow},
		{"chmod u+s", unix.SYS_CHMOD, [6]uint64{1: 0o4755}, ErrnoAction(unix.EPERM)},
		{"chmod g+s", unix.SYS_CHMOD, [6]uint64{1: 0o2755}, ErrnoAction(unix.EPERM)},
		{"chmod u+s, garbage above", unix.SYS_CHMOD, [6]uint64{1: 0xdead00000000 | 0o4755}, ErrnoAction(unix.EPERM)},
		{"sticky", unix.SYS_FCHMOD, [6]uint64{1: 0o1777}, Allow},
		{"fchmodat u+s", unix.SYS_FCHMODAT, [6]uint64{2: 0o6755}, ErrnoAction(unix.EPERM)},
		{"fchmodat2 u+s", unix.SYS_FCHMODAT2, [6]uint64{2: 0o4000}, ErrnoAction(unix.EPERM)},
		{"open for reading, garbage as the mode", unix.SYS_OPEN, [6]uint64{2: 0o7777}, Allow},
		{"open O_CREAT 755", unix.SYS_OPEN, [6]uint64{1: unix.O_CREAT, 2: 0o755}, Allow},
		{"open O_CREAT u+s", unix.SYS_OPEN, [6]uint64{1: unix.O_CREAT | unix.O_WRONLY, 2: 0o4755}, ErrnoAction(unix.EPERM)},
		{"openat O_TMPFILE g+s", unix.SYS_OPENAT, [6]uint64{2: unix.O_TMPFILE | unix.O_RDWR, 3: 0o2755}, ErrnoAction(unix.EPERM)},
		{"openat O_DIRECTORY", unix.SYS_OPENAT, [6]uint64{2: unix.O_DIRECTORY, 3: 0o7777}, Allow},
		{"creat u+s", unix.SYS_CREAT, [6]uint64{1: 0o4755}, ErrnoAction(unix.EPERM)},
		{"mknodat u+s", unix.SYS_MKNODAT, [6]uint64{2: unix.S_IFREG | 0o4755}, ErrnoAction(unix.EPERM)},
		{"openat2", unix.SYS_OPENAT2, [6]uint64{}, ErrnoAction(unix.ENOSYS)},
		{"anything else", unix.SYS_UNSHARE, [6]uint64{unix.CLONE_NEWUSER}, Allow},
		{"a foreign ABI", unix.SYS_CHMOD | x32Bit, [6]uint64{1: 0o4755}, KillProcess},
	} {
		if got := Simulate(bpf, Data{Nr: c.nr, Arch: unix.AUDIT_ARCH_X86_64, Args: c.args}); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
