package text

// Set contains prepared secrets. Any number of Filters may use it concurrently. It takes about nine bytes of memory for
// each byte of a form, and a secret has about fourteen forms.
type Set struct {
	find *automaton // nil if there are no forms
	skip skipper
	mask []byte
	late bool // the conversion to UTF-8 can produce a form
}

// NewSet prepares values to mask: each literally, and in its base64, hexadecimal, URL and JSON encodings. White space
// around a value is ignored. Values shorter than MinSecret bytes are not masked, since they would occur everywhere.
// Each long line of a multi-line value is masked too.
func NewSet(secrets []string) *Set { return newSet(forms(secrets)) }

// newSet prepares patterns, which must be distinct and have at least four bytes.
func newSet(patterns [][]byte) *Set {
	s := &Set{mask: []byte(freeMask(patterns)), late: holdReplacement(patterns)}
	if len(patterns) > 0 {
		s.skip = newSkipper(patterns)
		s.find = newAutomaton(patterns)
	}
	return s
}

// skipper finds places where a pattern may begin, with the algorithm of Wu and Manber. The window is as long as the
// shortest pattern, and a table maps its last three bytes to the distance by which it can be moved.
type skipper struct {
	window int // in bytes
	shift  []uint8
	drop   uint8 // number of hash bits beyond the size of the table
}

// maxWindow is the maximum length of the window in bytes.
const maxWindow = 128

// newSkipper returns a skipper for patterns of at least four bytes.
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

// from returns the first position from i on at which a pattern may begin, and the number of positions examined. Any of
// the last positions, less than a window before the end, may be the beginning of a pattern.
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
