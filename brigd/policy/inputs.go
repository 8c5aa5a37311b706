package policy

import (
	"fmt"

	"brig/brigd/job"
)

// inputRules limit what a request brings.
type inputRules struct {
	rule
	Inputs
}

func (p *Policy) inputs() *inputRules { return &inputRules{p.rule(), p.Inputs} }

// code refuses code of more than inputs.code_bytes bytes.
func (r *inputRules) code(n int64) *job.Refusal {
	return r.within("code_bytes", "the code", n, int64(r.CodeBytes), "Send less code, or put data into files.")
}

// stdin refuses standard input of more than inputs.stdin_bytes bytes.
func (r *inputRules) stdin(n int64) *job.Refusal {
	return r.within("stdin_bytes", "the standard input", n, int64(r.StdinBytes),
		"Send less, or put data into files.")
}

// files refuses the files of a request, given their sizes in bytes, if there are too many, one is too large, or
// their sum is.
func (r *inputRules) files(sizes []int64) *job.Refusal {
	if r.Files > 0 && int64(len(sizes)) > r.Files {
		return r.refusal("inputs.files", "input_too_large",
			fmt.Sprintf("%d files are more than the allowed %d", len(sizes), r.Files), "Send fewer files, or one archive.")
	}
	var total int64
	for _, n := range sizes {
		if no := r.within("file_bytes", "a file", n, int64(r.FileBytes), "Send smaller files."); no != nil {
			return no
		}
		if total += n; total < 0 {
			total = 1<<63 - 1
		}
	}
	return r.within("total_bytes", "the files together", total, int64(r.TotalBytes), "Send less.")
}

func (r *inputRules) within(field, what string, n, most int64, next string) *job.Refusal {
	if n < 0 {
		return r.refusal("inputs."+field, "invalid_request", what+" cannot have a negative size", "Send its size.")
	}
	if most == 0 || n <= most {
		return nil
	}
	return r.refusal("inputs."+field, "input_too_large",
		fmt.Sprintf("%s has %d bytes, more than the allowed %d", what, n, most), next)
}
