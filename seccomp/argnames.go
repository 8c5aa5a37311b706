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
	case "ioctl":
		names = []string{"fd", "cmd"}
	case "fcntl":
		names = []string{"fd", "cmd"}
	case "personality":
		names = []string{"persona"}
	case "open":
		names = []string{"path", "flags", "mode"}
	case "openat":
		names = []string{"dirfd", "path", "flags", "mode"}
	case "prctl", "arch_prctl":
		names = []string{"option"}
	case "ptrace":
		names = []string{"request", "pid"}
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

// intArg says that the kernel reads only 32 bits of an argument of these calls.
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

// valueName says what a constant means, where a reader should not have to look it up.
func valueName(call string, c Cond) string {
	exact := c.Op != MaskedEq || c.Mask&0xffffffff == 0xffffffff
	switch {
	case (call == "socket" || call == "socketpair") && c.Arg == 0 && exact:
		return familyName(c.Value)
	case call == "socket" && c.Arg == 1 && c.Mask == 0xf && c.Value == 10:
		return "SOCK_PACKET"
	case call == "ioctl" && c.Arg == 1 && c.Value == 0x5412:
		return "TIOCSTI"
	case call == "ioctl" && c.Arg == 1 && c.Value == 0x541c:
		return "TIOCLINUX"
	case call == "clone" && c.Mask == 0x7e020000 && c.Value == 0:
		return "no CLONE_NEW* flag"
	case call == "clone" && c.Mask == 0x7e030000 && c.Value == 0x10000:
		return "CLONE_THREAD, no CLONE_NEW* flag"
	case call == "personality" && exact:
		return personaName(c.Value)
	}
	return ""
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
