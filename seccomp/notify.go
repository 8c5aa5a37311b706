package seccomp

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"

	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

// NotifyKills rewrites a filter so that its listener (SECCOMP_FILTER_FLAG_NEW_LISTENER, Linux 5.0) learns of each call
// that the filter answers with death, and the call waits for ever. Who listens kills the process: that is what
// SECCOMP_RET_KILL_PROCESS means, and stricter than SECCOMP_RET_KILL_THREAD, which ends one thread of it. changed is
// false, and the filter is the same, if it never kills, hands calls to a listener of its own, or is no filter.
//
// Of several filters the kernel follows the sternest answer, and a notice comes after SECCOMP_RET_TRAP and
// SECCOMP_RET_ERRNO: a filter that is loaded above or beneath, such as a payload's own, can refuse what this one would
// kill for. None can allow it. And unlike a kill, a notice takes its time: a signal that comes before the listener has
// read it takes it away (signal(7)), and the call then fails with EINTR. It is never performed.
func NotifyKills(bpf []byte) (out []byte, changed bool) {
	p, err := decodeProgram(bpf)
	if err != nil {
		return bpf, false
	}
	out = slices.Clone(bpf)
	for i, in := range p {
		if in.code != bpfRet {
			continue
		}
		switch Action(in.k).Base() {
		case Notify:
			return bpf, false
		case KillProcess, KillThread:
			binary.NativeEndian.PutUint32(out[i*insnSize+4:], uint32(Notify))
			changed = true
		}
	}
	if !changed {
		return bpf, false
	}
	return out, true
}

// LeaveKills rewrites a guard for its place beneath a profile that kills for the same foreign ABIs: it then allows
// them, so that the profile's own action applies, which notifies a listener.
func LeaveKills(guard []byte) []byte {
	out := slices.Clone(guard)
	for i := 0; i+insnSize <= len(out); i += insnSize {
		if binary.NativeEndian.Uint16(out[i:]) == bpfRet && Action(binary.NativeEndian.Uint32(out[i+4:])) == KillProcess {
			binary.NativeEndian.PutUint32(out[i+4:], uint32(Allow))
		}
	}
	return out
}

// abi is an architecture as a notice names it.
type abi struct {
	audit uint32 // AUDIT_ARCH_*
	name  string
	lib   libseccomp.ScmpArch
}

func abis() []abi {
	return []abi{{unix.AUDIT_ARCH_I386, "i386", libseccomp.ArchX86}, {unix.AUDIT_ARCH_X86_64, "x86_64",
		libseccomp.ArchAMD64},
		{unix.AUDIT_ARCH_ARM, "arm", libseccomp.ArchARM}, {unix.AUDIT_ARCH_AARCH64, "aarch64", libseccomp.ArchARM64},
		{unix.AUDIT_ARCH_RISCV64, "riscv64", libseccomp.ArchRISCV64}, {unix.AUDIT_ARCH_S390, "s390", libseccomp.ArchS390},
		{unix.AUDIT_ARCH_S390X, "s390x", libseccomp.ArchS390X}, {unix.AUDIT_ARCH_PPC64LE, "ppc64le", libseccomp.ArchPPC64LE}}
}

// NativeABI is what CallName calls the machine's own ABI.
func NativeABI() string {
	native, _ := findArch(runtime.GOARCH)
	for _, a := range abis() {
		if a.audit == native.audit {
			return a.name
		}
	}
	return runtime.GOARCH
}

// CallName returns the name of a system call that a notice has by its number and the architecture of the call
// (AUDIT_ARCH_*), which are not always the machine's own. name is "" where the library does not know the call; abi is
// never empty.
func CallName(nr int32, audit uint32) (name, abi string) {
	for _, a := range abis() {
		if a.audit != audit {
			continue
		}
		if a.lib == libseccomp.ArchAMD64 && nr > 0 && nr&x32Bit != 0 { // x32 has no architecture of its own
			a.name, a.lib = "x32", libseccomp.ArchX32
		}
		if native, ok := findArch(runtime.GOARCH); ok && native.lib == a.lib {
			name, _ = native.syscallName(int(nr))
		} else if known, err := libseccomp.ScmpSyscall(nr).GetNameByArch(a.lib); err == nil {
			name = known
		}
		return name, a.name
	}
	return "", fmt.Sprintf("%#x", audit)
}
