package text

import "unicode/utf8"

// replacement is U+FFFD in UTF-8.
const replacement = "\uFFFD"

var replacementBytes = []byte(replacement)

// fixer is the stage that makes valid UTF-8: each byte that is not part of a rune becomes U+FFFD, as in Go's conversion
// to []rune and in encoding/json.
type fixer struct {
	next stage
	part []byte // an incomplete rune
}

func (f *fixer) write(b []byte) {
	if len(f.part) > 0 {
		b = append(f.part, b...)
	}
	whole := len(b) - Incomplete(b)
	if utf8.Valid(b[:whole]) {
		f.next.write(b[:whole])
	} else {
		f.next.write([]byte(fix(string(b[:whole]))))
	}
	f.part = append(f.part[:0], b[whole:]...)
}

// Incomplete returns the length of an incomplete rune at the end of b.
func Incomplete(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if end := b[len(b)-n:]; utf8.RuneStart(end[0]) {
			if !utf8.FullRune(end) {
				return n
			}
			break
		}
	}
	return 0
}

func (f *fixer) close(cut bool) {
	for range f.part {
		f.next.write(replacementBytes)
	}
	f.part = nil
	f.next.close(cut)
}

// fix returns a text as a fixer writes it: each byte that is not part of a rune becomes U+FFFD.
func fix(s string) string { return string([]rune(s)) }
