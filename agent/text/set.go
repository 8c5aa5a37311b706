package text

import (
	"io"
	"strings"
)

// Set is secrets made ready to be found: by any number of Filters at once. It takes about nine bytes of memory for each
// byte of a form of a secret, of which there are about fourteen forms.
type Set struct {
	find *automaton // nil without a form
	skip skipper
	mask []byte
	late bool // making UTF-8 can bring about a form
}

// NewSet prepares secrets, to which applies what Options.Secrets says.
func NewSet(secrets []string) *Set { return newSet(forms(secrets)) }

// newSet takes patterns of at least four bytes, each once.
func newSet(patterns [][]byte) *Set {
	s := &Set{mask: []byte(freeMask(patterns)), late: holdReplacement(patterns)}
	if len(patterns) > 0 {
		s.skip = newSkipper(patterns)
		s.find = newAutomaton(patterns)
	}
	return s
}

// Clean returns a single text, such as an error or a name, as a Filter of the Set with the Options o would write it. A
// nil Set has no secrets.
func (s *Set) Clean(text string, o Options) string {
	var b strings.Builder
	o.Set = s
	f := New(&b, o)
	_, _ = io.WriteString(f, text) // a Builder takes everything
	_ = f.Close()
	return b.String()
}

// skipper finds where a pattern may begin, as Wu and Manber do: the last three bytes of a window, which is as long as
// the shortest pattern, say by a table how far it may be moved.
type skipper struct {
	window int // in bytes
	shift  []uint8
	drop   uint8 // bits of a hash that the table has no room for
}

// maxWindow bounds the window in bytes.
const maxWindow = 128

// newSkipper takes patterns of at least four bytes.
func newSkipper(patterns [][]byte) skipper {
	s := skipper{window: maxWindow}
	for _, p := range patterns {
		s.window = min(s.window, len(p))
	}
	size := 13
	for size < 16 && 1<<size < 4*len(patterns)*s.window {
		size++
	}
	s.drop = uint8(32 - size)
	s.shift = make([]uint8, 1<<size)
	for i := range s.shift {
		s.shift[i] = uint8(s.window - 2)
	}
	for _, p := range patterns {
		for end := 3; end <= s.window; end++ {
			v := &s.shift[s.hash(p[end-3], p[end-2], p[end-1])]
			*v = min(*v, uint8(s.window-end))
		}
	}
	return s
}

func (s *skipper) hash(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 0x9e3779b1 >> (s.drop & 31)
}

// from is the first place from i on where a pattern may begin, and how many it looked at. Of those less than a window
// before the end nothing is known.
func (s *skipper) from(b []byte, i int) (at, steps int) {
	for end := i + s.window; end <= len(b); end = i + s.window {
		step := s.shift[s.hash(b[end-3], b[end-2], b[end-1])]
		steps++
		if step == 0 {
			break
		}
		i += int(step)
	}
	return i, steps
}
