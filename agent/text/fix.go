package text

import "unicode/utf8"

// replacement is U+FFFD in UTF-8.
const replacement = "\uFFFD"

var replacementBytes = []byte(replacement)

// fixer is the stage that makes valid UTF-8: each byte that is not part of a rune becomes U+FFFD, as in Go's conversion
// to []rune and in encoding/json.
type fixer struct {
	next stage
	part [utf8.UTFMax]byte // an incomplete rune
	n    int
	out  []byte
}

func (f *fixer) write(b []byte) {
	f.out = f.out[:0]
	for f.n > 0 && len(b) > 0 {
		f.part[f.n] = b[0]
		f.n++
		b = b[1:]
		for f.n > 0 && utf8.FullRune(f.part[:f.n]) {
			f.n = copy(f.part[:], f.part[f.one(f.part[:f.n]):f.n])
		}
	}
	b = b[:len(b)-f.keep(b)]
	if len(f.out) == 0 && utf8.Valid(b) {
		f.next.write(b)
		return
	}
	for len(b) > 0 {
		b = b[f.one(b):]
	}
	f.next.write(f.out)
}

// one writes the first rune of b, or a sequence of ASCII at its start, and returns the number of bytes.
func (f *fixer) one(b []byte) int {
	n := 0
	for n < len(b) && b[n] < utf8.RuneSelf {
		n++
	}
	if n == 0 {
		var r rune
		if r, n = utf8.DecodeRune(b); r == utf8.RuneError && n == 1 {
			f.out = append(f.out, replacement...)
			return n
		}
	}
	f.out = append(f.out, b[:n]...)
	return n
}

// keep holds back an incomplete rune at the end of b, and returns its number of bytes.
func (f *fixer) keep(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if end := b[len(b)-n:]; utf8.RuneStart(end[0]) {
			if !utf8.FullRune(end) {
				f.n = copy(f.part[:], end)
				return n
			}
			break
		}
	}
	return 0
}

func (f *fixer) close(cut bool) {
	for range f.n {
		f.next.write(replacementBytes)
	}
	f.n = 0
	f.next.close(cut)
}

// fix returns a text as a fixer writes it.
func fix(s string) string {
	b := make([]byte, 0, len(s)+8)
	for _, r := range s { // an invalid byte yields utf8.RuneError
		b = utf8.AppendRune(b, r)
	}
	return string(b)
}
