package seccomp

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Target is the machine and the process for which a profile is resolved.
type Target struct {
	Arch        string // as runtime.GOARCH
	KernelMajor int
	KernelMinor int
	Caps        []string // the process's capabilities, "CAP_SYS_ADMIN"; a default jail has none
}

// Table is the meaning of a profile for one Target. The first Rule that matches a call decides.
type Table struct {
	Arch    string `json:"arch"`
	Default Action `json:"default"`
	// Newest is the greatest system call number in the rules. Greater ones return ENOSYS. -1 disables that.
	Newest int      `json:"newest"`
	Rules  []Rule   `json:"rules"`
	Flags  []string `json:"flags,omitempty"`
	// Notes name the parts of the profile that do not apply here, with the reason.
	Notes []string `json:"notes,omitempty"`
}

// Rule is the action for one system call if all conditions hold.
type Rule struct {
	Name   string `json:"name"`
	Nr     int    `json:"nr"`
	Action Action `json:"action"`
	Conds  []Cond `json:"conds,omitempty"`
	// Entry is the index of the rule's entry in the profile: syscalls[Entry].
	Entry int `json:"entry"`
}

// Data is struct seccomp_data: a filter's input for a system call.
type Data struct {
	Nr   int32
	Arch uint32 // AUDIT_ARCH_*; 0 means the native one
	IP   uint64
	Args [6]uint64
}

// x32Bit marks the numbers of the x32 ABI, which shares AUDIT_ARCH_X86_64 with the native one.
const x32Bit = 0x40000000

// Eval returns the table's answer to a call. It defines the meaning of the table: Compile compares its filter with it.
func (t *Table) Eval(d Data) Action {
	a, ok := findArch(t.Arch)
	if !ok || d.Arch != 0 && d.Arch != a.audit {
		return KillProcess
	}
	// -1 is the number that a tracer writes to skip a call; in libseccomp it gets the default action.
	if t.Arch == "amd64" && uint32(d.Nr) >= x32Bit && d.Nr != -1 {
		return KillProcess
	}
	if t.Newest >= 0 && int(d.Nr) > t.Newest && d.Nr < x32Bit {
		return ErrnoAction(unix.ENOSYS)
	}
	for _, r := range t.Rules {
		if r.Nr == int(d.Nr) && holds(r.Conds, d.Args) {
			return r.Action
		}
	}
	return t.Default
}

func holds(conds []Cond, args [6]uint64) bool {
	return !slices.ContainsFunc(conds, func(c Cond) bool { return !c.Holds(args) })
}

// Kills reports whether the table answers a call of the native ABI with death.
func (t *Table) Kills() bool {
	return t.Default.Kills() || slices.ContainsFunc(t.Rules, func(r Rule) bool { return r.Action.Kills() })
}

// LoadFlags returns the flags that the profile requests for seccomp(SECCOMP_SET_MODE_FILTER). TSYNC is not among them:
// it has no effect in a process that is about to call execve(2).
func (t *Table) LoadFlags() uint {
	var flags uint
	for _, f := range t.Flags {
		switch f {
		case "SECCOMP_FILTER_FLAG_LOG":
			flags |= unix.SECCOMP_FILTER_FLAG_LOG
		case "SECCOMP_FILTER_FLAG_SPEC_ALLOW":
			flags |= unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW
		}
	}
	return flags
}

// bySyscall returns the numbers of the system calls with rules in the table's order, and the rules of each.
func (t *Table) bySyscall() (numbers []int, rules map[int][]Rule) {
	rules = map[int][]Rule{}
	for _, r := range t.Rules {
		if rules[r.Nr] == nil {
			numbers = append(numbers, r.Nr)
		}
		rules[r.Nr] = append(rules[r.Nr], r)
	}
	return numbers, rules
}
