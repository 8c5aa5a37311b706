package seccomp

import (
	"fmt"
	"slices"
	"strings"

	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

// firstNewer is the number of statmount(2), the first system call whose name libseccomp 2.5 does not know.
const firstNewer = 457

// newerNames returns the names of the calls from firstNewer on. The architectures of findArch use the same numbers for
// all calls since Linux 5.1.
func newerNames() []string {
	return []string{"statmount", "listmount", "lsm_get_self_attr", "lsm_set_self_attr", "lsm_list_modules", "mseal",
		"setxattrat", "getxattrat", "listxattrat", "removexattrat", "open_tree_attr", "file_getattr", "file_setattr",
		"listns", "rseq_slice_yield"}
}

// ownCalls are the calls of single architectures that libseccomp 2.5 does not know.
var ownCalls = []struct {
	goName, name string
	nr           int
}{{"amd64", "uretprobe", 335}, {"amd64", "uprobe", 336}, {"riscv64", "riscv_hwprobe", 258}}

func (a arch) syscallName(nr int) (string, bool) {
	if nr < 0 || nr > 1<<20 {
		return "", false
	}
	if name, err := libseccomp.ScmpSyscall(nr).GetNameByArch(a.lib); err == nil && name != "" {
		return name, true
	}
	if names := newerNames(); nr >= firstNewer && nr-firstNewer < len(names) {
		return names[nr-firstNewer], true
	}
	for _, c := range ownCalls {
		if c.goName == a.goName && c.nr == nr {
			return c.name, true
		}
	}
	return "", false
}

// known classifies a name in a profile for an architecture.
type known int

const (
	isUnknown known = iota // unknown to libseccomp and newerNames: a new call or a misspelling
	isForeign              // a call of other architectures
	isNative
)

func (a arch) syscallNumber(name string) (int, known) {
	if nr, err := libseccomp.GetSyscallFromNameByArch(name, a.lib); err == nil {
		// libseccomp has negative pseudo-numbers for calls that an architecture lacks.
		if nr < 0 {
			return 0, isForeign
		}
		return int(nr), isNative
	}
	if i := slices.Index(newerNames(), name); i >= 0 {
		return firstNewer + i, isNative
	}
	for _, c := range ownCalls {
		if c.name == name && c.goName == a.goName {
			return c.nr, isNative
		} else if c.name == name {
			return 0, isForeign
		}
	}
	return 0, isUnknown
}

// syscallNames returns the names of an architecture, for suggestions.
func (a arch) syscallNames() []string {
	var names []string
	for nr := range firstNewer + len(newerNames()) {
		if n, ok := a.syscallName(nr); ok {
			names = append(names, n)
		}
	}
	return names
}

// LibraryVersion returns the version of libseccomp, which provides the system calls.
func LibraryVersion() string {
	major, minor, micro := libseccomp.GetLibraryVersion()
	return fmt.Sprintf("%d.%d.%d", major, minor, micro)
}

// arch is an architecture, with its names in Go, in reports, in profiles, in libseccomp and in the kernel.
type arch struct {
	goName string              // runtime.GOARCH, Target.Arch; "" if brig does not compile filters for it
	name   string              // in a report of a violation
	scmp   string              // in architectures and archMap
	lib    libseccomp.ScmpArch // libseccomp's constant
	audit  uint32              // seccomp_data.arch
}

var arches = []arch{
	{"", "i386", "SCMP_ARCH_X86", libseccomp.ArchX86, unix.AUDIT_ARCH_I386},
	{"amd64", "x86_64", "SCMP_ARCH_X86_64", libseccomp.ArchAMD64, unix.AUDIT_ARCH_X86_64},
	{"", "arm", "SCMP_ARCH_ARM", libseccomp.ArchARM, unix.AUDIT_ARCH_ARM},
	{"arm64", "aarch64", "SCMP_ARCH_AARCH64", libseccomp.ArchARM64, unix.AUDIT_ARCH_AARCH64},
	{"riscv64", "riscv64", "SCMP_ARCH_RISCV64", libseccomp.ArchRISCV64, unix.AUDIT_ARCH_RISCV64},
	{"", "s390", "SCMP_ARCH_S390", libseccomp.ArchS390, unix.AUDIT_ARCH_S390},
	{"s390x", "s390x", "SCMP_ARCH_S390X", libseccomp.ArchS390X, unix.AUDIT_ARCH_S390X},
	{"ppc64le", "ppc64le", "SCMP_ARCH_PPC64LE", libseccomp.ArchPPC64LE, unix.AUDIT_ARCH_PPC64LE},
}

// findArch returns one of the 64-bit architectures that Go and libseccomp both support.
func findArch(goName string) (arch, bool) {
	for _, a := range arches {
		if a.goName == goName && goName != "" {
			return a, true
		}
	}
	return arch{}, false
}

// scmpArchNames returns the names allowed in architectures and archMap.
func scmpArchNames() []string {
	return strings.Fields(`SCMP_ARCH_AARCH64 SCMP_ARCH_ARM SCMP_ARCH_LOONGARCH64 SCMP_ARCH_M68K SCMP_ARCH_MIPS
		SCMP_ARCH_MIPS64 SCMP_ARCH_MIPS64N32 SCMP_ARCH_MIPSEL SCMP_ARCH_MIPSEL64 SCMP_ARCH_MIPSEL64N32 SCMP_ARCH_NATIVE
		SCMP_ARCH_PARISC SCMP_ARCH_PARISC64 SCMP_ARCH_PPC SCMP_ARCH_PPC64 SCMP_ARCH_PPC64LE SCMP_ARCH_RISCV64
		SCMP_ARCH_S390 SCMP_ARCH_S390X SCMP_ARCH_SH SCMP_ARCH_SHEB SCMP_ARCH_X32 SCMP_ARCH_X86 SCMP_ARCH_X86_64`)
}

// archNames returns the names allowed in includes.arches and excludes.arches: Docker's and Go's.
func archNames() []string {
	return strings.Fields(`386 amd64 arm arm64 loong64 loongarch64 m68k mips mips64 mips64le mips64n32 mipsel mipsel64
		mipsel64n32 mipsle parisc parisc64 ppc ppc64 ppc64le riscv64 s390 s390x x32 x86`)
}
