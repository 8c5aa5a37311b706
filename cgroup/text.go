package cgroup

import (
	"strconv"
	"strings"
)

// printable returns a value, quoted if it could control a terminal.
func printable(s string) string {
	if q := strconv.QuoteToASCII(s); q != `"`+s+`"` {
		return q
	}
	return s
}

// quote makes a name safe to print. It does not change an ordinary one.
func quote(s string) string {
	if strings.Contains(s, " ") {
		return strconv.QuoteToASCII(s)
	}
	return printable(s)
}
