package seccomp

import (
	"strings"

	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

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
