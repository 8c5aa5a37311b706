package policy

import (
	"slices"
	"strings"

	"brig/brigd/job"
	"brig/nsjail"
)

// operations are all operations on a sandbox.
var operations = []string{"create", "put", "get", "list", "delete"}

// sandboxRules limit the operations on sandboxes, and their size.
type sandboxRules struct {
	rule
	Sandbox
}

func (p *Policy) sandboxes() *sandboxRules { return &sandboxRules{p.rule(), p.Sandbox} }

func (r *sandboxRules) check(c *checker) { c.oneOf("sandbox.operations", r.Operations, operations) }

// operation refuses an operation on a sandbox that is not allowed: see operations.
func (r *sandboxRules) operation(op string) *job.Refusal {
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
