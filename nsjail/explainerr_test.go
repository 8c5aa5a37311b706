package nsjail

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"brig/internal/words"
	"brig/nsjail/doctor"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// TestRemedies: a limit of the machine's that a jail meets is named, and no other.
func TestRemedies(t *testing.T) {
	for _, tt := range []struct {
		label, call string
		errno       syscall.Errno
		want        string
	}{
		{"tty", `openat(AT_FDCWD, "/dev/pts/ptmx", O_RDWR|O_NOCTTY|O_CLOEXEC, 0)`, unix.ENOSPC, "kernel.pty.max"},
		{"rootfs", "fsmount($64, FSMOUNT_CLOEXEC, 0)", unix.ENOSPC, "user.max_mnt_namespaces"},
		{"inotify", `openat($65, "sys/user/max_inotify_instances", O_WRONLY|O_CLOEXEC, 0)`, unix.ENOENT, "CONFIG_INOTIFY_USER"},
		{"user", `write($64, "1000 1000 1", 11)`, unix.EPERM, "user namespaces"},
	} {
		fault, got := doctor.Remedy(tt.label, words.Plain(tt.call), tt.errno)
		if fault != spec.FaultHost || !strings.Contains(got.String(), tt.want) {
			t.Errorf("%s, %v: fault %v, %q, want %q", tt.call, tt.errno, fault, got, tt.want)
		}
	}
}

// TestCloneErrors: a control group is blamed only where the jail is created in one.
func TestCloneErrors(t *testing.T) {
	for _, tt := range []struct {
		errno     syscall.Errno
		intoGroup bool
		op, want  string
	}{
		{unix.EACCES, true, "cgroup", "delegated to you"},
		{unix.EACCES, false, "clone3", "forbidden"},
		{unix.EBUSY, true, "cgroup", "who else writes"},
		{unix.EBUSY, false, "clone3", "`brig doctor` checks"},
		{unix.EUSERS, false, "clone3", "32 deep"},
		{unix.EIO, false, "clone3", "`brig doctor` checks"},
	} {
		var e *spec.Error
		err := namespaceError(unix.CLONE_NEWUSER, tt.errno, tt.intoGroup, &host.Host{})
		if !errors.As(err, &e) || e.Op != tt.op || !strings.Contains(e.Remedy.String(), tt.want) {
			t.Errorf("%v, into a group %v: %v, want %s: %q", tt.errno, tt.intoGroup, err, tt.op, tt.want)
		}
	}
}
