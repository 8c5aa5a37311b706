package text

import "bytes"

// stripper is the stage that removes terminal sequences. Between writes it keeps only a state, no text.
//
// 8-bit control characters are recognised in UTF-8 only, as 0xC2 0x80 to 0xC2 0x9F: a single byte is not a character
// there. A 0xC2 without a continuation byte becomes U+FFFD, so that it cannot form a control character with another
// byte after the text in between is removed.
type stripper struct {
	next  stage
	state state
	n     int  // length of the current sequence in bytes
	c2    bool // the previous byte was 0xC2: held back in plain text, dropped in a string
	out   []byte
}

type state uint8

const (
	plain  state = iota
	escape       // after ESC
	inter        // ESC and an intermediate byte: "ESC ( B"
	csi          // control sequence: ESC [
	line         // OSC, SOS, PM, APC: a string that ends at the end of the line at the latest
	device       // DCS: a string that may contain line ends, as sixels do
)

// Maximum lengths of sequences in bytes. After that, bytes are text again.
const (
	maxInter  = 16
	maxCSI    = 256
	maxString = 64 << 10
)

const (
	bel = 0x07
	can = 0x18
	sub = 0x1a
	esc = 0x1b
	c2  = 0xc2
)

func (s *stripper) write(b []byte) {
	if s.state == plain && !s.c2 && bytes.IndexByte(b, esc) < 0 && bytes.IndexByte(b, c2) < 0 {
		s.next.write(b)
		return
	}
	for i := 0; i < len(b); {
		if s.state != plain || s.c2 || b[i] == esc || b[i] == c2 {
			if s.step(b[i]) {
				i++
			}
			continue
		}
		from := i
		for i < len(b) && b[i] != esc && b[i] != c2 {
			i++
		}
		s.out = append(s.out, b[from:i]...)
	}
	s.flush()
}

func (s *stripper) flush() {
	if len(s.out) > 0 {
		s.next.write(s.out)
		s.out = s.out[:0]
	}
}

// step processes one byte and returns true, or changes the state and returns false: the byte must then be processed
// again.
func (s *stripper) step(c byte) bool {
	switch s.state {
	case plain:
		return s.text(c)
	case escape:
		return s.escape(c)
	case inter:
		return s.until(c, 0x20, 0x2f, 0x30, maxInter)
	case csi:
		return s.until(c, 0x20, 0x3f, 0x40, maxCSI)
	}
	return s.inString(c)
}

func (s *stripper) enter(to state) bool {
	s.state, s.n, s.c2 = to, 0, false
	return true
}

// leave ends a sequence before the current byte, which is text again.
func (s *stripper) leave() bool {
	s.enter(plain)
	return false
}

func (s *stripper) text(c byte) bool {
	switch {
	case s.c2 && c >= 0xa0 && c <= 0xbf:
		s.c2 = false
		s.out = append(s.out, c2, c)
	case s.c2 && c >= 0x80 && c <= 0x9f:
		s.c2 = false
		s.introduce(c - 0x40) // U+009B is ESC [
	case s.c2:
		s.c2 = false
		s.out = append(s.out, replacement...)
		return false
	case c == c2:
		s.c2 = true
	case c == esc:
		s.enter(escape)
	default:
		s.out = append(s.out, c)
	}
	return true
}

// introduce starts the sequence that begins with ESC and c.
func (s *stripper) introduce(c byte) {
	switch c {
	case '[':
		s.enter(csi)
	case ']', 'X', '^', '_':
		s.enter(line)
	case 'P':
		s.enter(device)
	default:
		s.enter(plain)
	}
}

func (s *stripper) escape(c byte) bool {
	switch {
	case c >= 0x20 && c <= 0x2f:
		return s.enter(inter)
	case c >= 0x30 && c <= 0x7e:
		s.introduce(c)
		return true
	}
	return s.leave()
}

// until processes a byte of a sequence: bytes from low to high continue it, and one from final to '~' ends it.
func (s *stripper) until(c, low, high, final byte, most int) bool {
	switch s.n++; {
	case c >= final && c <= '~':
		return s.enter(plain)
	case c < low || c > high || s.n > most:
		return s.leave()
	}
	return true
}

func (s *stripper) inString(c byte) bool {
	end := s.c2 && c == 0x9c // U+009C, ST
	s.c2 = c == c2
	switch s.n++; {
	case end, c == bel, c == can, c == sub:
		return s.enter(plain)
	case c == esc: // start of ESC \, or of another sequence
		return s.enter(escape)
	case c == '\n' && s.state == line, s.n > maxString:
		return s.leave()
	}
	return true
}

// close drops an incomplete sequence. A remaining 0xC2 becomes U+FFFD. If the text was cut off, this happens only after
// masking, since the 0xC2 may be part of a secret.
func (s *stripper) close(cut bool) {
	switch {
	case s.state != plain || !s.c2:
	case cut:
		s.out = append(s.out, c2)
	default:
		s.out = append(s.out, replacement...)
	}
	s.enter(plain)
	s.flush()
	s.next.close(cut)
}
