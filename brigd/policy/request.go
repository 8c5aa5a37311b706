package policy

import (
	"fmt"
	"slices"
	"strings"

	"brig/brigd/job"
	"brig/nsjail"
)

// CheckCode refuses code of more than inputs.code_bytes bytes. Decide calls it too.
func (p *Policy) CheckCode(n int64) *job.Refusal {
	return p.within("code_bytes", "the code", n, int64(p.Inputs.CodeBytes), "Send less code, or put data into files.")
}

// CheckStdin refuses standard input of more than inputs.stdin_bytes bytes.
func (p *Policy) CheckStdin(n int64) *job.Refusal {
	return p.within("stdin_bytes", "the standard input", n, int64(p.Inputs.StdinBytes),
		"Send less, or put data into files.")
}

// CheckFiles refuses the files of a request, given their sizes in bytes, if there are too many, one is too large, or
// their sum is.
func (p *Policy) CheckFiles(sizes []int64) *job.Refusal {
	i := p.Inputs
	if i.Files > 0 && int64(len(sizes)) > i.Files {
		return p.refusal("inputs.files", "input_too_large",
			fmt.Sprintf("%d files are more than the allowed %d", len(sizes), i.Files), "Send fewer files, or one archive.")
	}
	var total int64
	for _, n := range sizes {
		if r := p.within("file_bytes", "a file", n, int64(i.FileBytes), "Send smaller files."); r != nil {
			return r
		}
		if total += n; total < 0 {
			total = 1<<63 - 1
		}
	}
	return p.within("total_bytes", "the files together", total, int64(i.TotalBytes), "Send less.")
}

func (p *Policy) within(field, what string, n, most int64, next string) *job.Refusal {
	if n < 0 {
		return p.refusal("inputs."+field, "invalid_request", what+" cannot have a negative size", "Send its size.")
	}
	if most == 0 || n <= most {
		return nil
	}
	return p.refusal("inputs."+field, "input_too_large",
		fmt.Sprintf("%s has %d bytes, more than the allowed %d", what, n, most), next)
}

// CheckOperation refuses an operation on a sandbox that is not allowed: see operations.
func (p *Policy) CheckOperation(op string) *job.Refusal {
	if slices.Contains(p.Sandbox.Operations, op) || open(p, p.Sandbox.Operations) && slices.Contains(operations, op) {
		return nil
	}
	return p.refusal("sandbox.operations", "operation_not_allowed", "to "+op+" is not allowed with sandboxes",
		"Allowed operations: "+strings.Join(append([]string{"run"}, p.Sandbox.Operations...), ", ")+".")
}

// NarrowSandbox lowers the disk size, inodes and TTL of a new sandbox to the ceilings. 0 means as much as is allowed.
func (p *Policy) NarrowSandbox(disk nsjail.Bytes, inodes int64, ttl nsjail.Duration) (nsjail.Bytes, int64,
	nsjail.Duration) {
	return atMost(disk, p.Sandbox.Disk), atMost(inodes, p.Sandbox.Inodes), atMost(ttl, p.Sandbox.TTL)
}

func atMost[T nsjail.Bytes | nsjail.Duration | int64](v, most T) T {
	if most > 0 && (v <= 0 || v > most) {
		return most
	}
	return v
}
