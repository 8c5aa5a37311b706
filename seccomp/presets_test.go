package seccomp

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"

	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

// both returns the verdict without and with garbage in the upper half of each argument.
func both(c call) []call {
	g := c
	for i := range g.args {
		g.args[i] |= 0x8000_0001_0000_0000
	}
	return []call{c, g}
}

func TestDefaultVerdicts(t *testing.T) {
	_, bpf := compiled(t, Default(), native())
	allowed := `read write openat close mmap mprotect execve execveat futex wait4 ptrace process_vm_readv seccomp
		landlock_create_ruleset inotify_init1 getrandom memfd_create shmget semget mq_open pidfd_open rseq
		close_range mseal statmount setxattrat kill prctl mknodat timer_create flock bind connect accept4 sendmsg`
	refused := `unshare setns mount umount2 open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr pivot_root chroot
		bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register keyctl add_key request_key
		kexec_load kexec_file_load open_by_handle_at name_to_handle_at quotactl quotactl_fd syslog acct swapon swapoff
		reboot settimeofday clock_settime iopl ioperm init_module finit_module delete_module nfsservctl lookup_dcookie
		vhangup fanotify_init modify_ldt sethostname setdomainname kcmp pidfd_getfd process_madvise mbind set_mempolicy
		move_pages migrate_pages lsm_get_self_attr lsm_set_self_attr uselib ustat sysfs`
	newer := `clone3 io_setup open_tree_attr file_getattr file_setattr listns rseq_slice_yield`
	for action, names := range map[Action]string{Allow: allowed, eperm: refused, enosys: newer} {
		for _, name := range strings.Fields(names) {
			check(t, bpf, both(call{name: name, want: action}))
		}
	}
	for _, nr := range []int32{467, 500, 1000, 1 << 20, x32Bit - 1} {
		if got := Simulate(bpf, Data{Nr: nr}); got != enosys {
			t.Errorf("number %d: %s, want ENOSYS", nr, got)
		}
	}
	if runtime.GOARCH != "amd64" {
		return
	}
	for _, nr := range []int32{x32Bit, x32Bit | 39, x32Bit | 520, -2} {
		if got := Simulate(bpf, Data{Nr: nr}); got != KillProcess {
			t.Errorf("x32 number %#x: %s", uint32(nr), got)
		}
	}
	for nr := range int32(500) {
		if got := Simulate(bpf, Data{Nr: nr, Arch: 0x40000003}); got != KillProcess {
			t.Errorf("i386 number %d: %s", nr, got)
		}
	}
}

func TestDefaultSockets(t *testing.T) {
	_, bpf := compiled(t, Default(), native())
	for family := range uint64(64) {
		for typ := range uint64(16) {
			for _, proto := range []uint64{0, 1, 2, 6, 15, 16, 17, 33, 58, 115, 132, 136, 255, 256, 262, 1 << 16} {
				want := eperm
				if permittedSocket(family, typ, proto) {
					want = Allow
				}
				for _, flags := range []uint64{0, unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK} {
					check(t, bpf, both(call{"socket", [6]uint64{family, typ | flags, proto}, want}))
				}
			}
		}
		want := eperm
		if family == unix.AF_UNIX {
			want = Allow
		}
		check(t, bpf, both(call{"socketpair", [6]uint64{family, unix.SOCK_STREAM}, want}))
	}
}

// permittedSocket reports whether the default preset permits a socket. For the others of AF_INET and AF_INET6 the kernel
// may ask for a module, SOCK_DCCP with protocol 0 among them: inet_create().
func permittedSocket(family, typ, proto uint64) bool {
	ping := map[uint64]uint64{unix.AF_INET: unix.IPPROTO_ICMP, unix.AF_INET6: unix.IPPROTO_ICMPV6}
	switch family {
	case unix.AF_UNIX:
		return true
	case unix.AF_NETLINK:
		return proto == unix.NETLINK_ROUTE
	case unix.AF_INET, unix.AF_INET6:
		return typ == unix.SOCK_STREAM && (proto == 0 || proto == unix.IPPROTO_TCP) ||
			typ == unix.SOCK_DGRAM && (proto == 0 || proto == unix.IPPROTO_UDP || proto == ping[family])
	}
	return false
}

func TestDefaultArguments(t *testing.T) {
	_, bpf := compiled(t, Default(), native())
	for cmd := range uint64(0x10000) {
		want := Allow
		if slices.Contains([]uint64{unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSETD, unix.TIOCEXCL, fioasync, unix.SIOCGIFBR,
			unix.SIOCSIFBR, 0x8982, 0x8983, 0x89a0, 0x89a1, 0x89a2, 0x89a3}, cmd) { // SIOCGIFVLAN to SIOCBRDELIF
			want = eperm
		}
		check(t, bpf, both(call{"ioctl", [6]uint64{1: cmd}, want}))
		check(t, bpf, []call{{"ioctl", [6]uint64{1: cmd | 0x40000}, Allow}, {"ioctl", [6]uint64{1: cmd | 0x80000000}, Allow}})
	}
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
		unix.CLONE_NEWPID | unix.CLONE_NEWNET
	flagsArg := 0
	if runtime.GOARCH == "s390x" {
		flagsArg = 1
	}
	for bit := range 64 {
		flag := uint64(1) << bit
		c := call{name: "clone", want: Allow}
		if flag&namespaces != 0 {
			c.want = eperm
		}
		c.args[flagsArg] = flag | uint64(unix.SIGCHLD)
		check(t, bpf, []call{c})
	}
	usual := []uint64{0, 8, 0x20000, 0x20008, 0x40000, 0x40008, 0xffffffff}
	for _, v := range append(usual, 1, 4, 0x400000, 0x440000, 0x20001, 0xfffffffe) {
		c := call{"personality", [6]uint64{v}, eperm}
		if slices.Contains(usual, v) {
			c.want = Allow
		}
		check(t, bpf, both(c))
	}
}

const fioasync = 0x5452 // of every architecture but ppc64le

// TestRefusedArguments has a line for each argument that a preset which allows the call otherwise refuses.
func TestRefusedArguments(t *testing.T) {
	pretended := ErrnoAction(0)
	// debug: init, whom a killing answer is told to, lets one tracer be (notify.go)
	lines := []struct {
		presets string // those that permit the call
		call    call
		fine    [6]uint64 // arguments that are allowed
	}{
		{"default", call{"ptrace", [6]uint64{unix.PTRACE_SEIZE, 7, 0, unix.PTRACE_O_TRACEEXIT | 1}, eperm}, [6]uint64{unix.PTRACE_SEIZE, 7, 0, unix.PTRACE_O_TRACEFORK}},
		{"debug", call{"ptrace", [6]uint64{unix.PTRACE_SEIZE, 7, 0, unix.PTRACE_O_TRACEEXIT | 1}, KillProcess}, [6]uint64{unix.PTRACE_SEIZE, 7, 0, unix.PTRACE_O_TRACEFORK}},
		{"default", call{"ptrace", [6]uint64{unix.PTRACE_SETOPTIONS, 7, 0, unix.PTRACE_O_TRACEEXIT}, eperm}, [6]uint64{unix.PTRACE_SETOPTIONS, 7, 0, unix.PTRACE_O_EXITKILL}},
		{"debug", call{"ptrace", [6]uint64{unix.PTRACE_SETOPTIONS, 7, 0, unix.PTRACE_O_TRACEEXIT}, KillProcess}, [6]uint64{unix.PTRACE_SETOPTIONS, 7, 0, unix.PTRACE_O_EXITKILL}},
		{"default", call{"ptrace", [6]uint64{ptraceOldSetOptions, 7, 0, unix.PTRACE_O_TRACEEXIT}, eperm}, [6]uint64{unix.PTRACE_GETREGSET, 7, 1, 0x7ff0_0000_0040}},
		{"debug", call{"ptrace", [6]uint64{ptraceOldSetOptions, 7, 0, unix.PTRACE_O_TRACEEXIT}, KillProcess}, [6]uint64{unix.PTRACE_GETREGSET, 7, 1, 0x7ff0_0000_0040}},
		{"default build debug strict compute", call{"fcntl", [6]uint64{0, unix.F_SETSIG, 9}, eperm}, [6]uint64{0, unix.F_SETOWN, 7}},
		{"default build debug strict compute", call{"fcntl", [6]uint64{0, unix.F_SETFL, unix.O_ASYNC | unix.O_NONBLOCK}, eperm}, [6]uint64{0, unix.F_SETFL, unix.O_NONBLOCK}},
		{"default build debug strict compute", call{"fcntl", [6]uint64{0, unix.F_SETLEASE, unix.F_RDLCK}, eperm}, [6]uint64{0, unix.F_SETLK, 1}},
		{"default build debug strict compute", call{"fcntl", [6]uint64{0, 1026, 2}, eperm}, [6]uint64{0, 1025}}, // F_NOTIFY, F_GETLEASE
		{"default build debug strict compute", call{"ioctl", [6]uint64{0, unix.SIOCSIFBR}, eperm}, [6]uint64{0, 0x8942}},
		{"default build debug strict compute", call{"ioctl", [6]uint64{0, 0x8983}, eperm}, [6]uint64{0, 0x8981}},
		{"default build debug strict compute", call{"ioctl", [6]uint64{0, 0x89a2}, eperm}, [6]uint64{0, 0x89a4}},
		{"default build debug strict compute", call{"ioctl", [6]uint64{0, fioasync}, eperm}, [6]uint64{0, unix.TCGETS}},
		{"default build debug strict compute", call{"ioctl", [6]uint64{0, unix.TIOCSETD}, eperm}, [6]uint64{0, unix.TIOCGETD}},
		{"default build debug strict compute", call{"ioctl", [6]uint64{0, unix.TIOCEXCL}, eperm}, [6]uint64{0, unix.TIOCNXCL}},
		{"default build debug strict", call{"setrlimit", [6]uint64{unix.RLIMIT_CORE, 8}, pretended}, [6]uint64{unix.RLIMIT_NOFILE, 8}},
		{"default build debug strict compute", call{"prlimit64", [6]uint64{0, unix.RLIMIT_CORE, 8}, pretended}, [6]uint64{0, unix.RLIMIT_CORE, 0, 8}},
		{"default build debug strict compute", call{"prlimit64", [6]uint64{0, unix.RLIMIT_CORE, 1 << 32, 8}, pretended}, [6]uint64{0, unix.RLIMIT_CORE + 1, 8, 8}},
		{"default build debug strict compute", call{"prlimit64", [6]uint64{1, unix.RLIMIT_CPU, 8}, eperm}, [6]uint64{2, unix.RLIMIT_CPU, 8}},
		{"default build debug strict compute", call{"sched_setaffinity", [6]uint64{1, 8, 8}, eperm}, [6]uint64{0, 8, 8}},
		{"default build debug strict", call{"setpriority", [6]uint64{unix.PRIO_USER, 0, 19}, eperm}, [6]uint64{unix.PRIO_PGRP, 0, 19}},
		{"default build debug strict", call{"ioprio_set", [6]uint64{3, 0, 19}, eperm}, [6]uint64{2, 0, 19}},
		{"default build debug", call{"setsockopt", [6]uint64{3, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, 8, 16}, eperm}, [6]uint64{3, unix.IPPROTO_TCP, unix.SO_ATTACH_FILTER}},
		{"default build debug", call{"setsockopt", [6]uint64{3, unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF}, eperm}, [6]uint64{3, unix.SOL_SOCKET, unix.SO_DETACH_FILTER}},
		{"default build debug strict", call{"setsockopt", [6]uint64{3, unix.IPPROTO_TCP, unix.TCP_MD5SIG, 8}, eperm}, [6]uint64{3, unix.IPPROTO_TCP, unix.TCP_NODELAY}},
		{"default build debug strict", call{"setsockopt", [6]uint64{3, unix.IPPROTO_TCP, unix.TCP_MD5SIG_EXT, 8}, eperm}, [6]uint64{3, unix.IPPROTO_TCP, unix.TCP_CONGESTION}},
		{"default build debug strict", call{"setsockopt", [6]uint64{3, unix.IPPROTO_TCP, 38, 8}, eperm}, [6]uint64{3, unix.IPPROTO_IPV6, 38}},               // TCP_AO_ADD_KEY
		{"default build debug strict", call{"setsockopt", [6]uint64{3, unix.IPPROTO_UDP, 100, 8}, eperm}, [6]uint64{3, unix.IPPROTO_UDP, unix.UDP_SEGMENT}}, // UDP_ENCAP
		{"default build debug strict", call{"sendto", [6]uint64{3, 8, 1, unix.MSG_OOB | unix.MSG_DONTWAIT}, eperm}, [6]uint64{3, 8, 1, unix.MSG_NOSIGNAL}},
		{"default build debug strict", call{"sendmsg", [6]uint64{3, 8, unix.MSG_OOB}, eperm}, [6]uint64{3, 8, unix.MSG_DONTWAIT, 1}},
		{"default build debug strict", call{"sendmmsg", [6]uint64{3, 8, 1, unix.MSG_OOB}, eperm}, [6]uint64{3, 8, 1, 0}},
	}
	for _, preset := range Presets() {
		p := must.Get(Preset(preset))(t)
		_, bpf := compiled(t, p, native())
		for _, l := range lines {
			if slices.Contains(strings.Fields(l.presets), preset) {
				check(t, bpf, []call{{l.call.name, l.fine, Allow}})
				check(t, bpf, both(l.call))
			}
		}
	}
}

// Where the payload is process 1 itself, it may set its own priority, processors and limits by its number.
func TestPresetsWithoutInit(t *testing.T) {
	for _, preset := range Presets() {
		bpf := must.Get(PresetFilter(preset, native(), false))(t)
		for _, c := range []call{{"prlimit64", [6]uint64{1, unix.RLIMIT_NOFILE, 8}, Allow}, {"sched_setaffinity", [6]uint64{1, 8, 8}, Allow},
			{"prlimit64", [6]uint64{1, unix.RLIMIT_CORE, 8}, ErrnoAction(0)}} {
			check(t, bpf, []call{c})
		}
		if preset == "compute" {
			continue
		}
		check(t, bpf, []call{{"setpriority", [6]uint64{unix.PRIO_PROCESS, 1, 5}, Allow}, {"ioprio_set", [6]uint64{1, 1, 5}, Allow},
			{"sched_setparam", [6]uint64{1, 8}, Allow}, {"setpriority", [6]uint64{unix.PRIO_USER, 0, 5}, eperm}})
	}
}

const ptraceOldSetOptions = 21 // asm/ptrace-abi.h; kernel/ptrace.c takes it for PTRACE_SETOPTIONS

func TestPresets(t *testing.T) {
	for _, name := range Presets() {
		p := must.Get(Preset(name))(t)
		// Also the architectures that this machine cannot compile for resolve without a slip in a name.
		for _, goarch := range []string{"amd64", "arm64", "riscv64", "s390x", "ppc64le"} {
			table, err := p.Resolve(Target{Arch: goarch})
			if err != nil {
				t.Errorf("%s on %s: %v", name, goarch, err)
				continue
			}
			for _, n := range table.Notes {
				if !strings.HasPrefix(n, "not system calls of ") && !strings.HasPrefix(n, "not compiled in") {
					t.Errorf("%s on %s: %s", name, goarch, n)
				}
			}
		}
	}
	if _, err := Preset("defualt"); err == nil || !strings.Contains(err.Error(), "did you mean default?") {
		t.Errorf("a wrong name: %v", err)
	}
	if _, err := Preset("../default"); err == nil {
		t.Error("a path was taken for a preset")
	}
}

// TestPresetsDiffer lists what each preset does otherwise than the default: an edit of one file shows here.
func TestPresetsDiffer(t *testing.T) {
	_, base := compiled(t, Default(), native())
	tests := []struct {
		preset string
		calls  []call
		never  string // what it refuses
	}{
		{"strict", []call{{"socket", [6]uint64{1}, Allow}, {"socket", [6]uint64{2, 1}, eperm}, {"socket", [6]uint64{16}, eperm},
			{"personality", [6]uint64{0xffffffff}, Allow}, {"personality", [6]uint64{8}, eperm}, {"clone", [6]uint64{17}, Allow}},
			"ptrace process_vm_readv process_vm_writev seccomp landlock_restrict_self shmget msgget semget mq_open io_setup mknod mknodat"},
		{"build", []call{{"socket", [6]uint64{2, 1}, Allow}, {"socket", [6]uint64{16}, eperm}, {"personality", [6]uint64{0x40000}, Allow}},
			"ptrace process_vm_readv process_vm_writev"},
		{"debug", []call{{"kcmp", [6]uint64{}, Allow}, {"pidfd_getfd", [6]uint64{}, Allow}, {"process_madvise", [6]uint64{}, Allow},
			{"personality", [6]uint64{0x40000}, Allow}}, ""},
		{"compute", []call{{"openat", [6]uint64{2: unix.O_CLOEXEC | unix.O_DIRECTORY}, Allow}, {"openat", [6]uint64{2: unix.O_WRONLY}, eperm},
			{"openat", [6]uint64{2: unix.O_RDWR}, eperm}, {"openat", [6]uint64{2: unix.O_CREAT}, eperm}, {"openat", [6]uint64{2: unix.O_TRUNC}, eperm},
			{"openat", [6]uint64{2: unix.O_TMPFILE}, eperm}, {"openat2", [6]uint64{}, enosys}, {"clone", [6]uint64{17}, eperm},
			{"clone", [6]uint64{unix.CLONE_THREAD | unix.CLONE_VM}, Allow}, {"clone", [6]uint64{unix.CLONE_THREAD | unix.CLONE_NEWUSER}, eperm}},
			"socket socketpair fork vfork unlink rename mkdir ptrace mknodat chmod truncate ftruncate setuid shmget"},
	}
	for _, tt := range tests {
		p := must.Get(Preset(tt.preset))(t)
		table, bpf := compiled(t, p, native())
		check(t, bpf, tt.calls)
		for _, name := range strings.Fields(tt.never) {
			if slices.ContainsFunc(table.Rules, func(r Rule) bool { return r.Name == name && r.Action.Permits() }) {
				t.Errorf("%s permits %s", tt.preset, name)
			}
		}
		if tt.preset == "debug" {
			continue
		}
		// All others only take away, but for personality in build.
		for nr := range int32(512) {
			if name, _ := SyscallName(int(nr)); Simulate(bpf, Data{Nr: nr}).Permits() && !Simulate(base, Data{Nr: nr}).Permits() {
				t.Errorf("%s permits %s, the default does not", tt.preset, name)
			}
		}
	}
}

// Docker, podman and runc add a profile's rules to libseccomp as they are, and it refuses one beside a narrower rule
// that has another action.
func TestLibseccompTakesThePresets(t *testing.T) {
	for _, name := range Presets() {
		p := must.Get(Preset(name))(t)
		table := must.Get(p.Resolve(native()))(t)
		f := must.Get(libseccomp.NewFilter(table.Default.lib()))(t)
		for _, r := range table.Rules {
			if r.Action == table.Default { // which they leave out
				continue
			}
			if err := add(f, r.Nr, lowered{action: r.Action, conds: r.Conds}); err != nil {
				t.Errorf("%s: syscalls[%d], %s: %v", name, r.Entry, r.Name, err)
			}
		}
		f.Release()
	}
}
