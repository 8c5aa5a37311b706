package seccomp

import (
	"fmt"
	"runtime"
	"slices"

	libseccomp "github.com/seccomp/libseccomp-golang"
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

// SyscallName returns the name of a system call of the native architecture.
func SyscallName(nr int) (string, bool) {
	a, ok := findArch(runtime.GOARCH)
	if !ok {
		return "", false
	}
	return a.syscallName(nr)
}

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
