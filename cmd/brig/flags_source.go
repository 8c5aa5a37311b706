package main

import (
	"fmt"
	"os"
	"strings"

	"brig/internal/words"
	"brig/nsjail"
)

// dirFlag returns the setter of --input, --work and --output.
func (b *builder) dirFlag(target string, writable bool) func([]string) error {
	return func(v []string) error {
		src, dst, hasDst := cutSource(v[0])
		if !hasDst {
			dst = target
		}
		if strings.Contains(dst, ":") {
			other := "--ro-bind"
			if writable {
				other = "--bind"
			}
			return fmt.Errorf("%s has more than one colon; write %s SRC DST", words.Quote(v[0]), other)
		}
		b.mount(nsjail.Mount{Type: nsjail.MountBind, Source: src, Target: dst, Writable: writable})
		return nil
	}
}

// cutSource divides "SRC:REST". The names in SRC may have colons: it is as long as a file of that name exists. A target
// is absolute, and SRC ends before it.
func cutSource(text string) (src, rest string, found bool) {
	end := len(text)
	if at := strings.Index(text, ":/"); at >= 0 {
		end = at
	}
	for at := end; strings.Contains(text[:max(at, 0)], ":"); at = strings.LastIndexByte(text[:at], ':') {
		if _, err := os.Lstat(text[:at]); err == nil {
			return text[:at], strings.TrimPrefix(text[at:], ":"), at < len(text)
		}
	}
	return strings.Cut(text, ":")
}
