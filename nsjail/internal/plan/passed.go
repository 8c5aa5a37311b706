package plan

import (
	"brig/internal/program"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
)

// Passed is a mount that the keeper makes with the caller's privileges.
type Passed struct {
	Source host.SourceID `json:"Key"` // in Host.Sources
	Attr   uint64        // MOUNT_ATTR_*
	IDMap  bool          // the source's owner becomes the payload's uid, its group the payload's gid
	Target string

	Slot     program.Slot
	InPrefix bool `json:"Head"` // passed with the prefix
}

// intake numbers the descriptors that the keeper passes with a program: each has a slot below those of results.
type intake struct {
	next   program.Slot
	passed []Passed
	suffix bool // they come with the suffix
}

func newIntake() intake { return intake{next: launcher.SlotUser} }

// slots reserves slots for n descriptors, and returns the first.
func (in *intake) slots(n int) (first program.Slot) {
	first = in.next
	in.next += program.Slot(n)
	return first
}

// pass has the keeper pass a mount, and returns its slot.
func (in *intake) pass(m Passed) program.Slot {
	m.Slot, m.InPrefix = in.slots(1), !in.suffix
	in.passed = append(in.passed, m)
	return m.Slot
}
