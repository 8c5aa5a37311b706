package policy

import (
	"slices"
	"strings"

	"brig/internal/strictjson"
	"brig/internal/words"
)

// checker collects problems, so that Check returns all of them.
type checker struct{ problems []string }

func (c *checker) add(path, reason, fix string) {
	c.problems = append(c.problems, path+": "+reason+"; "+fix)
}

func (c *checker) each(path string, list []string, reason, fix string, ok func(string) bool) {
	for i, s := range list {
		if !ok(s) {
			c.add(strictjson.Index(path, i), words.QuoteASCII(s)+" "+reason, fix)
		}
	}
}

func (c *checker) oneOf(path string, list, known []string) {
	c.each(path, list, "is not known here", "write one of "+strings.Join(known, ", "),
		func(s string) bool { return slices.Contains(known, s) })
}
