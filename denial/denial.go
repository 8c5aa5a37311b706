// Package denial describes what a jail has refused: the reason, and the flag that would allow it. It makes no system
// calls.
//
// A Denial is of one of three layers: a system call that the filter refuses with EPERM, a destination that the policy
// of the network refuses, or the command itself, if it could not be executed. A jail's init counts the first, and the
// relay of package egress the second.
package denial

import (
	"cmp"
	"fmt"
	"slices"

	"brig/internal/words"
	"brig/netns/egress"
	"brig/netns/egress/policy"
	"brig/seccomp"
)

// The layers of a Denial.
const (
	LayerSyscall = "syscall"
	LayerNetwork = "network"
	LayerExec    = "exec"
)

// Denial is something that a jail has refused.
type Denial struct {
	// Layer is "syscall", "network" or "exec".
	Layer string `json:"layer"`
	// Name is the system call, the destination or the command.
	Name  string `json:"name"`
	Count int64  `json:"count"`
	// Why is a sentence without its full stop.
	Why words.Text `json:"why"`
	// Fix is what would allow it: fields of the Spec, or a sentence. "" means that nothing would.
	Fix words.Text `json:"fix,omitempty"`
}

// Calls returns the refused system calls, the most frequent first. counts has a counter for each number of the
// machine's own ABI; the last is that of all numbers from there on. profile is Spec.Seccomp.
func Calls(counts []uint64, profile string) (list []Denial) {
	for nr, n := range counts {
		if n == 0 {
			continue
		}
		name, _ := seccomp.CallName(int32(nr), seccomp.NativeAudit())
		if nr == len(counts)-1 {
			name = "an unknown system call"
		}
		d := Denial{Layer: LayerSyscall, Name: cmp.Or(name, fmt.Sprintf("system call %d", nr)), Count: int64(n)}
		d.Why, d.Fix = refusal(d.Name, profile)
		list = append(list, d)
	}
	slices.SortStableFunc(list, func(a, b Denial) int { return cmp.Compare(b.Count, a.Count) })
	return list
}

// Network returns the refused destinations; s may be nil.
func Network(s *egress.Summary) (list []Denial) {
	if s == nil {
		return nil
	}
	more := s.ByVerdict[egress.VerdictDeny] + s.Unrecorded
	for i := range s.Refused {
		r := &s.Refused[i]
		more -= r.Count
		list = append(list, Denial{LayerNetwork, r.Target(), int64(r.Count), words.Plain(r.Why()), r.Fix})
	}
	if more > 0 {
		list = append(list, Denial{LayerNetwork, "other destinations", int64(more), "they are too many for this list",
			words.Set("net_log", "FILE") + " lists them"})
	}
	return list
}

// noNetwork is Why of Lookup, by which LookupLine finds its entry.
const noNetwork = "the jail has no network"

// Lookup returns the entry for a name that was looked up in a jail without a network, or none for "".
func Lookup(name string) []Denial {
	if name == "" {
		return nil
	}
	return []Denial{{LayerNetwork, name, 1, noNetwork, policy.ReasonNoRule.Fix(name, 0, "")}}
}

// LookupLine returns one line of English, in printable ASCII, about the entry of Lookup in a list, or "".
func LookupLine(list []Denial) words.Text {
	i := slices.IndexFunc(list, func(d Denial) bool { return d.Why == noNetwork })
	if i < 0 {
		return ""
	}
	return words.Textf("%s; it looked for %s (%s, or brig learn)", noNetwork, list[i].Name, list[i].Fix)
}

// maxTold is how many entries a Line has.
const maxTold = 3

// Line returns one line of English, in printable ASCII, about the refused system calls of a list, or "".
func Line(list []Denial) words.Text {
	list = slices.DeleteFunc(slices.Clone(list), func(d Denial) bool { return d.Layer != LayerSyscall })
	if len(list) == 0 {
		return ""
	}
	var parts []words.Text
	for _, d := range list[:min(len(list), maxTold)] {
		s := words.Textf("%s %s: %s", d.Name, words.Times(d.Count), d.Why)
		if d.Fix != "" {
			s += " (" + d.Fix + ")"
		}
		parts = append(parts, s)
	}
	line := "the filter refused " + words.Join(parts, "; ")
	if more := len(list) - maxTold; more > 0 {
		line += words.Textf("; and %d other calls (%s lists them)", more, words.Set("report", "FILE"))
	}
	return line
}
