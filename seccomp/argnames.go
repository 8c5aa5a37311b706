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
	exact := c.Op != MaskedEq || c.Mask&0xffffffff == 0xffffffff
	switch {
	case (call == "socket" || call == "socketpair") && c.Arg == 0 && exact:
		return familyName(c.Value)
	case call == "socket" && c.Arg == 1 && c.Mask == 0xf && c.Value == 10:
		return "SOCK_PACKET"
	case (call == "ioctl" || call == "fcntl") && c.Arg == 1 && exact:
		return requestName(call, c.Value)
	case call == "ptrace" && c.Arg == 0 && exact:
		return map[uint64]string{0x4206: "PTRACE_SEIZE", 0x4200: "PTRACE_SETOPTIONS", 21: "PTRACE_OLDSETOPTIONS"}[c.Value]
	case call == "ptrace" && c.Arg == 3 && c.Mask == 0x40:
		return "PTRACE_O_TRACEEXIT"
	case (call == "setrlimit" && c.Arg == 0 || call == "prlimit64" && c.Arg == 1) && c.Value == 4:
		return "RLIMIT_CORE"
	case call == "setsockopt" && c.Arg == 2:
		return map[uint64]string{26: "SO_ATTACH_FILTER", 51: "SO_ATTACH_REUSEPORT_CBPF"}[c.Value]
	case call == "clone" && c.Mask == 0x7e020000 && c.Value == 0:
		return "no CLONE_NEW* flag"
	case call == "clone" && c.Mask == 0x7e030000 && c.Value == 0x10000:
		return "CLONE_THREAD, no CLONE_NEW* flag"
	case call == "personality" && exact:
		return personaName(c.Value)
	}
	return ""
}

func requestName(call string, v uint64) string {
	if call == "fcntl" {
		return map[uint64]string{4: "F_SETFL", 10: "F_SETSIG", 1024: "F_SETLEASE"}[v]
	}
	return map[uint64]string{0x540c: "TIOCEXCL", 0x5412: "TIOCSTI", 0x541c: "TIOCLINUX", 0x5423: "TIOCSETD",
		0x5452: "FIOASYNC", 0x8004667d: "FIOASYNC"}[v]
}

func familyName(v uint64) string {
	return map[uint64]string{1: "AF_UNIX", 2: "AF_INET", 10: "AF_INET6", 16: "AF_NETLINK", 17: "AF_PACKET", 38: "AF_ALG",
		40: "AF_VSOCK"}[v]
}

func personaName(v uint64) string {
	return map[uint64]string{0: "PER_LINUX", 8: "PER_LINUX32", 0x20000: "UNAME26", 0x20008: "PER_LINUX32 UNAME26",
		0x40000: "ADDR_NO_RANDOMIZE", 0xffffffff: "read it"}[v]
}
