package seccomp

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// width is the line length of Table.String.
const width = 110

// String returns the table for `brig explain --seccomp`: system calls with the same rules form one group.
func (t *Table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seccomp table for %s\n", t.Arch)
	if t.Newest >= 0 {
		fmt.Fprintf(&b, "  %-20s  every call newer than number %d%s\n", "ERRNO(ENOSYS)", t.Newest, t.newestName())
	}
	fmt.Fprintf(&b, "  %-20s  every call through another ABI (i386, x32, …)\n", KillProcess)
	fmt.Fprintf(&b, "  %-20s  every call not listed below\n", t.Default)
	for _, f := range t.Flags {
		fmt.Fprintf(&b, "  %-20s  %s\n", "flag", f)
	}
	always, sometimes := t.groups()
	for _, g := range always {
		fmt.Fprintf(&b, "\n%s (%d)\n%s", g.rules[0].Action, len(g.names), wrap(g.names))
	}
	if len(sometimes) > 0 {
		b.WriteString("\nBY ARGUMENT (the first line that holds decides)\n")
	}
	for _, g := range sometimes {
		b.WriteString(wrap(g.names) + g.lines)
	}
	if len(t.Notes) > 0 {
		b.WriteString("\nNOTES\n")
	}
	for _, n := range t.Notes {
		b.WriteString(wrapText(n, "  ", "    "))
	}
	return b.String()
}

func (t *Table) newestName() string {
	for _, r := range t.Rules {
		if r.Nr == t.Newest {
			return " (" + r.Name + ")"
		}
	}
	return ""
}

// group is a set of system calls with the same rules.
type group struct {
	names []string
	rules []Rule
	lines string
}

// groups divides the calls into those without conditions, one group for each action, and the others.
func (t *Table) groups() (always, sometimes []group) {
	at := map[string]int{}
	var all []group
	numbers, byNumber := t.bySyscall()
	for _, nr := range numbers {
		rules := byNumber[nr]
		lines := t.lines(rules)
		i, ok := at[lines]
		if !ok {
			i = len(all)
			at[lines] = i
			all = append(all, group{rules: rules, lines: lines})
		}
		all[i].names = append(all[i].names, rules[0].Name)
	}
	for _, g := range all {
		slices.Sort(g.names)
		if len(g.rules[0].Conds) == 0 {
			always = append(always, g)
		} else {
			sometimes = append(sometimes, g)
		}
	}
	slices.SortStableFunc(sometimes, func(a, b group) int { return strings.Compare(a.names[0], b.names[0]) })
	return always, sometimes
}

// lines returns the rules of a system call as text.
func (t *Table) lines(rules []Rule) string {
	var b strings.Builder
	for _, r := range rules {
		text := "otherwise"
		if len(r.Conds) > 0 {
			text = "if " + condText(r)
		}
		fmt.Fprintf(&b, "    %-18s  %s\n", r.Action, text)
	}
	if len(rules[len(rules)-1].Conds) > 0 {
		fmt.Fprintf(&b, "    %-18s  otherwise\n", t.Default)
	}
	return b.String()
}

// condText formats the conditions of a rule: `domain[31:0] == 16 (AF_NETLINK) and protocol[31:0] == 0`.
func condText(r Rule) string {
	parts := make([]string, 0, len(r.Conds))
	for _, c := range r.Conds {
		name := argName(r.Name, c.Arg)
		value := number(c.Value)
		switch {
		case c.Op == MaskedEq && c.Mask == math.MaxUint32:
			name += "[31:0]"
		case c.Op == MaskedEq:
			name += " & " + number(c.Mask)
		}
		if meaning := valueName(r.Name, c); meaning != "" {
			value += " (" + meaning + ")"
		}
		parts = append(parts, name+" "+c.Op.String()+" "+value)
	}
	return strings.Join(parts, " and ")
}

func number(v uint64) string {
	if v < 1000 {
		return strconv.FormatUint(v, 10)
	}
	return "0x" + strconv.FormatUint(v, 16)
}

// wrap arranges words in indented lines of width.
func wrap(words []string) string { return wrapText(strings.Join(words, " "), "  ", "  ") }

func wrapText(text, first, rest string) string {
	var b strings.Builder
	line := first
	empty := true
	for _, w := range strings.Fields(text) {
		if !empty && len(line)+1+len(w) > width {
			b.WriteString(line + "\n")
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+w, false
	}
	return b.String() + line + "\n"
}

// argName returns the name of an argument, as in the manual page, for the calls that profiles usually filter by
// arguments.
func argName(call string, arg int) string {
	names := strings.Fields(map[string]string{
		"socket": "domain type protocol", "socketpair": "domain type protocol", "clone": "flags", "ioctl": "fd cmd arg",
		"fcntl": "fd cmd arg", "setpriority": "which who", "ioprio_set": "which who", "setrlimit": "resource new",
		"prlimit64": "pid resource new old", "setsockopt": "fd level option", "personality": "persona",
		"sendto": "fd data size flags", "sendmsg": "fd message flags", "sendmmsg": "fd messages count flags",
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
	case call == "socket" && c.Arg == 0 && c.Mask == 0xfffffff7 && c.Value == 2:
		return "AF_INET, AF_INET6"
	case call == "socket" && c.Arg == 1 && c.Mask == 0xf && c.Value < 3:
		return []string{"", "SOCK_STREAM", "SOCK_DGRAM"}[c.Value]
	case c.Mask == 1 && c.Value == 0 && strings.HasPrefix(call, "send"):
		return "no MSG_OOB"
	case call == "ioctl" && c.Mask>>2 == 0x3fffffff && c.Mask != 0xffffffff:
		return map[uint64]string{0x8940: "SIOCGIFBR, SIOCSIFBR", 0x8982: "SIOCGIFVLAN, SIOCSIFVLAN",
			0x89a0: "SIOCBRADDBR to SIOCBRDELIF"}[c.Value]
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
		"fcntl 1": {4: "F_SETFL", 10: "F_SETSIG", 1024: "F_SETLEASE", 1026: "F_NOTIFY"},
		"ioctl 1": {0x540c: "TIOCEXCL", 0x5412: "TIOCSTI", 0x541c: "TIOCLINUX", 0x5423: "TIOCSETD", 0x5452: "FIOASYNC",
			0x8004667d: "FIOASYNC"},
		"ptrace 0":     {0x4206: "PTRACE_SEIZE", 0x4200: "PTRACE_SETOPTIONS", 21: "PTRACE_OLDSETOPTIONS"},
		"socket 2":     {1: "IPPROTO_ICMP", 6: "IPPROTO_TCP", 17: "IPPROTO_UDP", 58: "IPPROTO_ICMPV6"},
		"setsockopt 1": {1: "SOL_SOCKET", 6: "IPPROTO_TCP", 17: "IPPROTO_UDP"},
		"setsockopt 2": {14: "TCP_MD5SIG", 26: "SO_ATTACH_FILTER", 32: "TCP_MD5SIG_EXT", 38: "TCP_AO_ADD_KEY",
			51: "SO_ATTACH_REUSEPORT_CBPF", 100: "UDP_ENCAP"},
		"personality 0": {0: "PER_LINUX", 8: "PER_LINUX32", 0x20000: "UNAME26", 0x20008: "PER_LINUX32 UNAME26",
			0x40000: "ADDR_NO_RANDOMIZE", 0xffffffff: "read it"},
	}[fmt.Sprintf("%s %d", call, c.Arg)][c.Value]
}
