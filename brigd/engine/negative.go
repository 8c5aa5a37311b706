package engine

import (
	"strings"

	"brig/brigd/job"
)

// amount is a field of a request that holds a number.
type amount struct {
	field    string
	negative bool
	example  string
}

// negative refuses fields that are negative. It names each of them, with what to send instead.
func negative(fields ...amount) *job.Refusal {
	var names, next []string
	for _, f := range fields {
		if f.negative {
			names = append(names, f.field)
			next = append(next, f.field+": leave it out, or send a positive one, as in "+f.example)
		}
	}
	switch len(names) {
	case 0:
		return nil
	case 1:
		return bad("negative_limit", names[0], names[0]+": it is negative", next...)
	}
	return bad("negative_limit", strings.Join(names, ", "), strings.Join(names, ", ")+": they are negative", next...)
}
