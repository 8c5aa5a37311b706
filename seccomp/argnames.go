package seccomp

import "fmt"

// argName names an argument of the calls that profiles usually look into, as their manual pages do.
func argName(call string, arg int) string {
	var names []string
	switch call {
	case "socket", "socketpair":
		names = []string{"domain", "type", "protocol"}
	case "clone":
		names = []string{"flags"}
	case "ioctl", "fcntl":
		names = []string{"fd", "cmd", "arg"}
	case "setpriority", "ioprio_set":
		names = []string{"which", "who"}
	case "setrlimit":
		names = []string{"resource", "new"}
	case "prlimit64":
		names = []string{"pid", "resource", "new", "old"}
	case "setsockopt":
		names = []string{"fd", "level", "option"}
	case "personality":
		names = []string{"persona"}
	case "open":
		names = []string{"path", "flags", "mode"}
	case "openat":
		names = []string{"dirfd", "path", "flags", "mode"}
	case "prctl", "arch_prctl":
		names = []string{"option"}
	case "ptrace":
		names = []string{"request", "pid", "addr", "data"}
	case "mmap", "mprotect":
		names = []string{"addr", "length", "prot", "flags"}
	case "kill", "tkill":
		names = []string{"pid", "sig"}
	}
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
	switch v {
	case 1:
		return "AF_UNIX"
	case 2:
		return "AF_INET"
	case 10:
		return "AF_INET6"
	case 16:
		return "AF_NETLINK"
	case 17:
		return "AF_PACKET"
	case 38:
		return "AF_ALG"
	case 40:
		return "AF_VSOCK"
	}
	return ""
}

func personaName(v uint64) string {
	switch v {
	case 0:
		return "PER_LINUX"
	case 8:
		return "PER_LINUX32"
	case 0x20000:
		return "UNAME26"
	case 0x20008:
		return "PER_LINUX32 UNAME26"
	case 0x40000:
		return "ADDR_NO_RANDOMIZE"
	case 0xffffffff:
		return "read it"
	}
	return ""
}
