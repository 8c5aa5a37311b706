// Package terminal makes texts of others fit to be shown on one.
package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Printable writes what is not as \uNNNN, so that it can act on no terminal; JSON stays JSON.
func Printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, c := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}
