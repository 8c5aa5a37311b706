package text

import "unicode/utf8"

// unseen is the stage that removes control characters and invisible characters. Its input is from a fixer and consists
// of complete runes. A carriage return without a line feed becomes a line end, so that a line cannot
// overwrite another one.
type unseen struct {
	next stage
	cr   bool // the previous rune was a carriage return
	out  []byte
}

// hidden are the non-ASCII characters that are invisible. A model reads them, but a person does not see them.
var hidden = [][2]rune{
	{0x80, 0x9f},       // C1 controls
	{0xad, 0xad},       // soft hyphen
	{0x61c, 0x61c},     // Arabic letter mark
	{0x180e, 0x180e},   // Mongolian vowel separator
	{0x200b, 0x200f},   // zero-width characters and direction marks
	{0x2028, 0x202e},   // line and paragraph separators; direction embeddings and overrides
	{0x2060, 0x206f},   // word joiner, invisible operators, direction isolates
	{0xfeff, 0xfeff},   // zero width no-break space
	{0xfff9, 0xfffb},   // interlinear annotations
	{0xe0000, 0xe0fff}, // tags and variation selectors, which can encode arbitrary bytes
}

func isHidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' && r != '\n' && r != '\t' || r == 0x7f
	}
	for _, h := range hidden {
		if r <= h[1] {
			return r >= h[0]
		}
	}
	return false
}

func (u *unseen) write(b []byte) {
	if !u.cr && plainText(b) {
		u.next.write(b)
		return
	}
	u.out = u.out[:0]
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if u.cr && r != '\r' {
			u.cr = false
			if r != '\n' {
				u.out = append(u.out, '\n')
			}
		}
		switch {
		case r == '\r':
			u.cr = true
		case !isHidden(r):
			u.out = append(u.out, b[i:i+n]...)
		}
		i += n
	}
	if len(u.out) > 0 {
		u.next.write(u.out)
	}
}

// plainText reports whether b has only printable ASCII, tabs and line ends.
func plainText(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return true
}

// close drops a carriage return at the end.
func (u *unseen) close(cut bool) {
	u.cr = false
	u.next.close(cut)
}
