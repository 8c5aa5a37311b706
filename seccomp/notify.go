package seccomp

import (
	"fmt"
	"runtime"

	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

// NotifyKills rewrites a filter so that its listener (SECCOMP_FILTER_FLAG_NEW_LISTENER, Linux 5.0) is notified of each
// call for which the filter would kill, and the call blocks. The listener then kills the process: that equals
// SECCOMP_RET_KILL_PROCESS, and is stricter than SECCOMP_RET_KILL_THREAD, which ends one thread. changed is false, and
// the filter is the same, if it never kills, notifies a listener of its own, or is not a valid filter.
//
// If there are several filters, the kernel follows the strictest answer, and SECCOMP_RET_TRAP and SECCOMP_RET_ERRNO are
// stricter than a notification. Another filter, such as a payload's own, can therefore refuse a call for which this one
// would kill. None can allow it. Unlike a kill, a notification can be interrupted: if a signal arrives before the
// listener has read it, the kernel withdraws it (signal(7)), and the call fails with EINTR. It is never performed.
func NotifyKills(bpf []byte) (out []byte, changed bool) {
	return notify(bpf, func(a Action) bool { return a.Kills() })
}

// NotifyDenials also has the listener notified of each call that the filter refuses with EPERM. The listener then
// answers EPERM. With another errno a call is refused by the kernel alone: a notice does not tell which errno it is.
func NotifyDenials(bpf []byte) (out []byte, changed bool) {
	return notify(bpf, func(a Action) bool { return a.Kills() || a == ErrnoAction(unix.EPERM) })
}

func notify(bpf []byte, heard func(Action) bool) (out []byte, changed bool) {
	listens := false
	out = rewrite(bpf, func(a Action) Action {
		listens = listens || a.Base() == Notify
		if heard(a) {
			changed = true
			return Notify
		}
		return a
	})
	if listens || !changed {
		return bpf, false
	}
	return out, true
}

// LeaveKills rewrites a guard for use with a profile that kills for the same foreign ABIs. The guard then allows these,
// so that the profile's own action applies, which notifies a listener.
func LeaveKills(guard []byte) []byte {
	return rewrite(guard, func(a Action) Action {
		if a == KillProcess {
			return Allow
		}
		return a
	})
}

// rewrite returns a filter with other return values. It returns an invalid filter unchanged.
func rewrite(bpf []byte, answer func(Action) Action) []byte {
	p, err := decodeProgram(bpf)
	if err != nil {
		return bpf
	}
	for i := range p {
		if p[i].code == bpfRet {
			p[i].k = uint32(answer(Action(p[i].k)))
		}
	}
	return encode(p)
}

// NativeABI returns CallName's name for the machine's own ABI.
func NativeABI() string {
	if native, ok := findArch(runtime.GOARCH); ok {
		return native.name
	}
	return runtime.GOARCH
}

// NativeAudit returns the AUDIT_ARCH_* of the machine's own ABI, or 0 if this package does not know it.
func NativeAudit() uint32 {
	native, _ := findArch(runtime.GOARCH)
	return native.audit
}

// CallName returns the name of the system call in a notification, by its number and its architecture (AUDIT_ARCH_*),
// which may differ from the machine's own. name is "" if the library does not know the call; abi is never empty.
func CallName(nr int32, audit uint32) (name, abi string) {
	for _, a := range arches {
		if a.audit != audit {
			continue
		}
		if a.goName == "amd64" && nr > 0 && nr&x32Bit != 0 { // x32 shares the architecture of amd64
			a = arch{name: "x32", lib: libseccomp.ArchX32}
		}
		if a.goName == runtime.GOARCH {
			name, _ = a.syscallName(int(nr))
		} else if known, err := libseccomp.ScmpSyscall(nr).GetNameByArch(a.lib); err == nil {
			name = known
		}
		return name, a.name
	}
	return "", fmt.Sprintf("%#x", audit)
}
