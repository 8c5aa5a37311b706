package text

import (
	"bytes"
	"encoding/binary"
)

// masker is the stage that puts a mask in the place of each pattern. Where occurrences overlap, one mask stands for all
// that they cover: of "abcdefg" and the secrets abcde and defg nothing is left.
//
// It searches as Wu and Manber do: the last three bytes of a window as long as the shortest pattern say how far it may be
// moved, by a table, and only where that says 0 patterns are compared. Nobody but the owner of a secret can make that slow.
type masker struct {
	next    stage
	mask    []byte
	count   int64
	longest int
	window  int

	shift [1 << 13]uint8
	by    map[uint32][][]byte // patterns by their first four bytes, the longest first
	short [4]map[uint32]bool  // the first one, two and three bytes

	held    []byte // the end of what came, which may be the beginning of a pattern
	covered int    // so much of it belongs to a mask that is written already
}

// maxWindow bounds the window in bytes.
const maxWindow = 128

// newMasker takes patterns of at least four bytes, the longest first.
func newMasker(next stage, patterns [][]byte, mask string) *masker {
	m := &masker{next: next, mask: []byte(mask), by: map[uint32][][]byte{}}
	for n := range m.short {
		m.short[n] = map[uint32]bool{}
	}
	m.longest, m.window = len(patterns[0]), min(len(patterns[len(patterns)-1]), maxWindow)
	for i := range m.shift {
		m.shift[i] = uint8(m.window - 2)
	}
	for _, p := range patterns {
		v := binary.LittleEndian.Uint32(p)
		m.by[v] = append(m.by[v], p)
		for n := 1; n < 4; n++ {
			m.short[n][first(p[:n])] = true
		}
		for end := 3; end <= m.window; end++ {
			s := &m.shift[hash(p[end-3], p[end-2], p[end-1])]
			*s = min(*s, uint8(m.window-end))
		}
	}
	return m
}

func hash(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 0x9e3779b1 >> 19
}

// first is a number for up to three bytes.
func first(b []byte) (v uint32) {
	for i, c := range b {
		v |= uint32(c) << (8 * i)
	}
	return v
}

func (m *masker) write(b []byte) {
	if len(m.held) == 0 {
		m.held = append(m.held, b[m.pass(b, false):]...)
		return
	}
	m.held = append(m.held, b...)
	m.held = m.held[:copy(m.held, m.held[m.pass(m.held, false):])]
}

func (m *masker) close() {
	m.pass(m.held, true)
	m.held = m.held[:0]
	m.next.close()
}

// pass writes what is decided, and says how much of b that is. The first m.covered bytes of b belong to a mask already.
func (m *masker) pass(b []byte, last bool) int {
	end := m.covered // of the mask: what is before needs no writing
	from := end      // what was not written yet
	at := len(b)     // what has to wait
	for i := m.candidate(b, 0); i < len(b); i = m.candidate(b, i+1) {
		if n := m.match(b[i:]); n > 0 {
			if i >= end {
				m.next.write(b[from:i])
				m.next.write(m.mask)
				m.count++
			}
			end = max(end, i+n)
			from = end
		}
		if !last && len(b)-i < m.longest && m.begins(b[i:]) {
			at = i
			break
		}
	}
	if from < at {
		m.next.write(b[from:at])
	}
	m.covered = max(0, end-at)
	return at
}

// candidate is the first place from i on where a pattern may begin. Of those less than a window before the end nothing
// is known.
func (m *masker) candidate(b []byte, i int) int {
	for end := i + m.window; end <= len(b); end = i + m.window {
		step := m.shift[hash(b[end-3], b[end-2], b[end-1])]
		if step == 0 {
			return i
		}
		i += int(step)
	}
	return i
}

// match is the length of the longest pattern that b begins with.
func (m *masker) match(b []byte) int {
	if len(b) < 4 {
		return 0
	}
	for _, p := range m.by[binary.LittleEndian.Uint32(b)] {
		if bytes.HasPrefix(b, p) {
			return len(p)
		}
	}
	return 0
}

// begins says whether b is the beginning of a longer pattern.
func (m *masker) begins(b []byte) bool {
	if len(b) < 4 {
		return m.short[len(b)][first(b)]
	}
	for _, p := range m.by[binary.LittleEndian.Uint32(b)] {
		if len(p) > len(b) && bytes.HasPrefix(p, b) {
			return true
		}
	}
	return false
}
