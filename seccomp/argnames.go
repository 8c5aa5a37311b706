package seccomp

import (
	"fmt"
	"strings"
)

// argName returns the name of an argument, as in the manual page, for the calls that profiles usually filter by
// arguments.
func argName(call string, arg int) string {
	names := strings.Fields(map[string]string{
		"socket": "domain type protocol", "socketpair": "domain type protocol", "clone": "flags", "ioctl": "fd cmd arg",
		"fcntl": "fd cmd arg", "setpriority": "which who", "ioprio_set": "which who", "setrlimit": "resource new",
		"prlimit64": "pid resource new old", "setsockopt": "fd level option", "personality": "persona",
		"open": "path flags mode", "openat": "dirfd path flags mode", "prctl": "option", "arch_prctl": "option",
		"ptrace": "request pid addr data", "mmap": "addr length prot flags", "mprotect": "addr length prot flags",
		"kill": "pid sig", "tkill": "pid sig",
	}[call])
	if arg < len(names) {
		return names[arg]
	}
	return fmt.Sprintf("arg%d", arg)
}

// intArg reports whether the kernel reads only 32 bits of an argument of these calls.
func intArg(call string, arg int) bool {
	switch call {
	case "socket", "socketpair":
		return arg < 3
	case "ioctl", "fcntl", "open":
		return arg == 1
	case "openat":
		return arg == 0 || arg == 2
	case "personality", "prctl":
		return arg == 0
	}
	return false
}

// valueName returns the name of a constant, such as AF_NETLINK, or "".
func valueName(call string, c Cond) string {
	switch {
	case call == "socket" && c.Arg == 1 && c.Mask == 0xf && c.Value == 10:
		return "SOCK_PACKET"
	case call == "ptrace" && c.Arg == 3 && c.Mask == 0x40:
		return "PTRACE_O_TRACEEXIT"
	case call == "clone" && c.Mask == 0x7e020000 && c.Value == 0:
		return "no CLONE_NEW* flag"
	case call == "clone" && c.Mask == 0x7e030000 && c.Value == 0x10000:
		return "CLONE_THREAD, no CLONE_NEW* flag"
	case c.Op == MaskedEq && c.Mask&0xffffffff != 0xffffffff:
		return ""
	}
	families := map[uint64]string{1: "AF_UNIX", 2: "AF_INET", 10: "AF_INET6", 16: "AF_NETLINK", 17: "AF_PACKET",
		38: "AF_ALG", 40: "AF_VSOCK"}
	core := map[uint64]string{4: "RLIMIT_CORE"}
	return map[string]map[uint64]string{
		"socket 0": families, "socketpair 0": families, "setrlimit 0": core, "prlimit64 1": core,
		"fcntl 1": {4: "F_SETFL", 10: "F_SETSIG", 1024: "F_SETLEASE"},
		"ioctl 1": {0x540c: "TIOCEXCL", 0x5412: "TIOCSTI", 0x541c: "TIOCLINUX", 0x5423: "TIOCSETD", 0x5452: "FIOASYNC",
			0x8004667d: "FIOASYNC"},
		"ptrace 0":     {0x4206: "PTRACE_SEIZE", 0x4200: "PTRACE_SETOPTIONS", 21: "PTRACE_OLDSETOPTIONS"},
		"setsockopt 2": {26: "SO_ATTACH_FILTER", 51: "SO_ATTACH_REUSEPORT_CBPF"},
		"personality 0": {0: "PER_LINUX", 8: "PER_LINUX32", 0x20000: "UNAME26", 0x20008: "PER_LINUX32 UNAME26",
			0x40000: "ADDR_NO_RANDOMIZE", 0xffffffff: "read it"},
	}[fmt.Sprintf("%s %d", call, c.Arg)][c.Value]
}
