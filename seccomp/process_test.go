package seccomp

import (
	"runtime"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

func TestProcessTable(t *testing.T) {
	const garbage = 0xdead << 32
	a, _ := findArch(runtime.GOARCH)
	eperm, enosys := ErrnoAction(unix.EPERM), ErrnoAction(unix.ENOSYS)
	for _, c := range []struct {
		call          string
		args          [6]uint64
		network, owns bool
		want          Action
	}{
		{"socket", [6]uint64{unix.AF_INET}, false, true, eperm},
		{"socket", [6]uint64{unix.AF_UNIX}, false, true, eperm},
		{"socket", [6]uint64{unix.AF_UNIX}, true, true, eperm},
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_STREAM}, true, true, Allow},
		{"socket", [6]uint64{garbage | unix.AF_INET6, unix.SOCK_DGRAM, garbage}, true, true, Allow},
		{"socket", [6]uint64{garbage | unix.AF_UNIX}, true, true, eperm},
		{"socket", [6]uint64{unix.AF_NETLINK, 0, unix.NETLINK_ROUTE}, true, true, Allow},
		{"socket", [6]uint64{unix.AF_NETLINK, 0, unix.NETLINK_AUDIT}, true, true, eperm},
		{"socket", [6]uint64{unix.AF_VSOCK}, true, true, eperm},
		{"socketpair", [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, false, true, Allow},
		{"socketpair", [6]uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET}, false, true, Allow},
		{"socketpair", [6]uint64{unix.AF_UNIX, unix.SOCK_DGRAM}, false, true, eperm},
		{"socketpair", [6]uint64{unix.AF_UNIX, unix.SOCK_RAW}, true, false, eperm}, // a datagram socket: unix_create()
		{"socketpair", [6]uint64{unix.AF_TIPC, unix.SOCK_STREAM}, true, true, eperm},
		{"prlimit64", [6]uint64{0, unix.RLIMIT_NOFILE}, false, true, Allow},
		{"prlimit64", [6]uint64{1234, unix.RLIMIT_CPU}, false, false, eperm},
		{"prlimit64", [6]uint64{garbage, unix.RLIMIT_CPU}, false, true, eperm},
		{"sched_setaffinity", [6]uint64{1}, false, true, eperm},
		{"sched_setaffinity", [6]uint64{}, false, true, Allow},
		{"setpriority", [6]uint64{unix.PRIO_PROCESS, 0, 5}, false, true, Allow},
		{"setpriority", [6]uint64{unix.PRIO_PROCESS, 77, 5}, false, true, eperm},
		{"setpriority", [6]uint64{unix.PRIO_USER, 0, 5}, false, true, eperm},
		{"ioprio_set", [6]uint64{1, 0}, false, true, Allow},
		{"ioprio_set", [6]uint64{3, 0}, false, true, eperm},
		{"shmget", [6]uint64{}, true, false, enosys},
		{"mq_open", [6]uint64{}, true, false, enosys},
		{"inotify_init1", [6]uint64{}, true, false, enosys},
		{"statmount", [6]uint64{}, true, false, enosys},
		{"io_uring_setup", [6]uint64{}, true, false, enosys},
		{"clone", [6]uint64{unix.CLONE_VM | unix.CLONE_THREAD}, true, false, Allow},
		{"clone", [6]uint64{unix.CLONE_NEWUSER}, true, false, eperm},
		{"unshare", [6]uint64{unix.CLONE_NEWUSER}, true, false, eperm},
		{"keyctl", [6]uint64{}, true, false, eperm},
		{"chmod", [6]uint64{0, 0o644}, false, true, eperm},
		{"chmod", [6]uint64{0, 0o644}, false, false, Allow},
		{"chmod", [6]uint64{0, 0o4755}, false, false, eperm},
		{"fchmod", [6]uint64{3, 0o644}, false, true, Allow},
		{"fchmod", [6]uint64{3, 0o4755}, false, true, eperm},
		{"fchmodat2", [6]uint64{}, false, true, eperm},
		{"utimensat", [6]uint64{3, 0}, false, true, Allow}, // futimens
		{"utimensat", [6]uint64{3, 0x1000}, false, true, eperm},
		{"getxattr", [6]uint64{}, false, true, ErrnoAction(unix.EOPNOTSUPP)},
		{"setxattr", [6]uint64{}, false, false, ErrnoAction(unix.EOPNOTSUPP)}, // a file that everybody may write
		{"utimensat", [6]uint64{3, 0x1000}, false, false, eperm},
		{"chown", [6]uint64{0x1000, 0xffffffff, 0xffffffff}, false, false, eperm},
		{"lchown", [6]uint64{0x1000, garbage | 0xffffffff, 0xffffffff}, true, false, eperm},
		{"fchownat", [6]uint64{3, 0x1000, 0xffffffff, 0xffffffff, unix.AT_EMPTY_PATH}, false, false, eperm},
		{"fchown", [6]uint64{3, 0xffffffff, garbage | 0xffffffff}, false, true, eperm},
		{"fchown", [6]uint64{3, 1000, 0xffffffff}, false, true, Allow},
		{"file_setattr", [6]uint64{}, false, true, enosys},
		{"fcntl", [6]uint64{3, garbage | 1026, 4}, false, false, eperm}, // F_NOTIFY
		{"ioctl", [6]uint64{3, unix.FS_IOC_SETFLAGS}, false, true, eperm},
		{"ioctl", [6]uint64{3, garbage | unix.FS_IOC_SETFLAGS}, false, false, eperm},
		{"ioctl", [6]uint64{3, 0x401c5820}, false, true, eperm}, // FS_IOC_FSSETXATTR
		{"ioctl", [6]uint64{3, 0x40087602}, false, true, eperm}, // FS_IOC_SETVERSION
		{"ioctl", [6]uint64{3, 0x40047211}, false, true, eperm}, // FAT_IOCTL_SET_ATTRIBUTES
		{"ioctl", [6]uint64{3, unix.FS_IOC_ENABLE_VERITY}, false, true, eperm},
		{"ioctl", [6]uint64{3, unix.FS_IOC_SET_ENCRYPTION_POLICY}, false, true, eperm},
		{"ioctl", [6]uint64{3, unix.FS_IOC_REMOVE_ENCRYPTION_KEY}, false, true, eperm},
		{"ioctl", [6]uint64{3, 0x4008941a}, false, true, eperm}, // BTRFS_IOC_SUBVOL_SETFLAGS
		{"ioctl", [6]uint64{3, unix.FS_IOC_GETFLAGS}, false, true, Allow},
		{"ioctl", [6]uint64{3, unix.FICLONE}, false, true, Allow},
		{"ioctl", [6]uint64{3, unix.TIOCINQ}, false, true, Allow},
		{"ioctl", [6]uint64{3, unix.SIOCGIFBR}, true, true, eperm},
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP}, true, true, Allow},
		{"socket", [6]uint64{unix.AF_INET6, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC, unix.IPPROTO_UDP}, true, false, Allow},
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}, true, true, eperm},
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_DCCP, 0}, true, true, eperm},
		{"fgetxattr", [6]uint64{}, false, true, Allow},
		{"ioctl", [6]uint64{0, unix.TIOCSTI}, true, false, eperm},
		{"openat", [6]uint64{}, false, true, Allow},
		{"execve", [6]uint64{}, false, true, Allow},
	} {
		table := must.Get(processTable(c.network, c.owns))(t)
		bpf := must.Get(table.Compile())(t)
		nr, known := a.syscallNumber(c.call)
		if known == isForeign {
			continue // as chmod(2) is on arm64
		}
		if got := Simulate(bpf, Data{Nr: int32(nr), Arch: a.audit, Args: c.args}); got != c.want {
			t.Errorf("%s %#x, network %v, owns %v: %s, want %s", c.call, c.args, c.network, c.owns, got, c.want)
		}
	}
}
