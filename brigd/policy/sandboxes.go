package policy

import (
	"slices"
	"strings"

	"brig/brigd/job"
	"brig/nsjail"
)

// operations are all operations on a sandbox: opLive is processes between calls, and opPort connections to them.
var operations = []string{"create", "put", "get", "list", "delete", opLive, opPort}

const (
	opLive = "live"
	opPort = "port"
)

// sandboxRules limit the operations on sandboxes, and their size.
type sandboxRules struct {
	rule
	Sandbox
	timed bool // a run may not take longer than some time
}

func (p *Policy) sandboxes() *sandboxRules {
	return &sandboxRules{p.rule(), p.Sandbox, p.Limits.Wall > 0}
}

func (r *sandboxRules) check(c *checker) { c.oneOf("sandbox.operations", r.Operations, operations) }

// operation refuses an operation on a sandbox that is not allowed: see operations. What a command of a living sandbox
// leaves behind is not bounded by limits.wall, so a policy that has this must name opLive.
func (r *sandboxRules) operation(op string) *job.Refusal {
	if op == opLive && r.timed && r.Operations == nil {
		return r.refusal("limits.wall", "operation_not_allowed", "a living sandbox outlasts what limits.wall allows a run",
			"Make a sandbox without living, or have the operator list live in sandbox.operations.")
	}
	if slices.Contains(r.Operations, op) || open(r.rule, r.Operations) && slices.Contains(operations, op) {
		return nil
	}
	return r.refusal("sandbox.operations", "operation_not_allowed", "to "+op+" is not allowed with sandboxes",
		"Allowed operations: "+strings.Join(append([]string{"run"}, r.Operations...), ", ")+".")
}

// narrow lowers the disk size, inodes and TTL of a new sandbox to the ceilings. 0 means as much as is allowed.
func (r *sandboxRules) narrow(disk nsjail.Bytes, inodes int64, ttl nsjail.Duration) (nsjail.Bytes, int64,
	nsjail.Duration) {
	return atMost(disk, r.Disk), atMost(inodes, r.Inodes), atMost(ttl, r.TTL)
}

func atMost[T nsjail.Bytes | nsjail.Duration | int64](v, most T) T {
	if most > 0 && (v <= 0 || v > most) {
		return most
	}
	return v
}
