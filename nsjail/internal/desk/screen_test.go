package desk

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// A terminal that is not raw adds the carriage returns that the payload's has added already. A raw one gets what the
// payload's terminal has made of the output.
func TestScreenShows(t *testing.T) {
	for name, c := range map[string]struct {
		raw         bool
		pieces      []string
		shown, last string
	}{
		"lines":                  {false, []string{"a\r\nb\r\n"}, "a\nb\n", "a\r\nb\r\n"},
		"raw":                    {true, []string{"a\r\nb\r\n"}, "a\r\nb\r\n", "a\r\nb\r\n"},
		"a return alone":         {false, []string{"50%\r", "100%\r\n"}, "50%\r100%\n", "50%\r100%\r\n"},
		"two, and no line":       {false, []string{"a\r\r\nb"}, "a\r\nb", "a\r\r\nb"},
		"what is no text":        {false, []string{"\x00\xff\r\n\x1b[2J"}, "\x00\xff\n\x1b[2J", "\x00\xff\r\n\x1b[2J"},
		"nothing":                {false, []string{"", ""}, "", ""},
		"more than it remembers": {false, []string{"first", strings.Repeat("x", maxLast-1)}, "first" + strings.Repeat("x", maxLast-1), "t" + strings.Repeat("x", maxLast-1)},
		"a piece that is larger": {true, []string{"a", strings.Repeat("b", maxLast) + "end"}, "a" + strings.Repeat("b", maxLast) + "end", strings.Repeat("b", maxLast-3) + "end"},
	} {
		r, w, err := os.Pipe()
		must.Do(t, err)
		s := screen{to: w}
		s.raw.Store(c.raw)
		for _, piece := range c.pieces {
			if n, err := s.Write([]byte(piece)); n != len(piece) || err != nil { // of what was given, not of what was shown
				t.Errorf("%s: %d of %d, %v", name, n, len(piece), err)
			}
		}
		w.Close()
		if shown := must.Get(io.ReadAll(r))(t); string(shown) != c.shown || string(s.last) != c.last {
			t.Errorf("%s: shown %.40q, remembered %.40q", name, shown, s.last)
		}
		r.Close()
	}
}

// The memory of a screen is bounded, whatever the payload writes and in whatever pieces.
func TestScreenIsBounded(t *testing.T) {
	s := screen{}
	all := bytes.Repeat([]byte("0123456789"), maxLast)
	for rest, n := all, 1; len(rest) > 0; n = n*3%4001 + 1 {
		n = min(n, len(rest))
		s.remember(rest[:n])
		rest = rest[n:]
		if len(s.last) > maxLast {
			t.Fatalf("%d bytes are remembered", len(s.last))
		}
	}
	if !bytes.Equal(s.last, all[len(all)-maxLast:]) {
		t.Errorf("it ends in %q", s.last[maxLast-20:])
	}
}

// A screen that cannot be written to drops the output, since the payload would block otherwise. A terminal that has
// gone is an error.
func TestScreenWithoutATerminal(t *testing.T) {
	if n, err := new(screen).Write([]byte("lost")); n != 4 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	r, w, err := os.Pipe()
	must.Do(t, err)
	r.Close()
	defer w.Close()
	if n, err := (&screen{to: w}).Write([]byte("x")); n != 0 || err == nil {
		t.Errorf("nobody reads it: %d, %v", n, err)
	}
}
