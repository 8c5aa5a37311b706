package diffs

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestLimited: whatever way a text takes to the buffer, no more than one byte above the bound is kept, and the writer is
// told.
func TestLimited(t *testing.T) {
	const most = 10
	ways := map[string]func(w io.Writer, s string) error{
		"Write":       func(w io.Writer, s string) error { _, err := w.Write([]byte(s)); return err },
		"WriteString": func(w io.Writer, s string) error { _, err := io.WriteString(w, s); return err },
		"Copy": func(w io.Writer, s string) error {
			_, err := io.Copy(w, io.LimitReader(strings.NewReader(s), int64(len(s))))
			return err
		},
		"bufio": func(w io.Writer, s string) error {
			b := bufio.NewWriterSize(w, 16)
			_, err := b.WriteString(s)
			return errors.Join(err, b.Flush())
		},
	}
	for name, write := range ways {
		for _, c := range []struct {
			first, second int
			fits          bool
		}{{10, 0, true}, {4, 6, true}, {11, 1, false}, {4, 7, false}, {10, 1, false}, {1000, 1000, false}} {
			l := &limited{ctx: t.Context(), most: most}
			err := errors.Join(write(l, strings.Repeat("a", c.first)), write(l, strings.Repeat("b", c.second)))
			if (err == nil) != c.fits || l.full() == c.fits || len(l.text) > most+1 {
				t.Errorf("%s of %d and %d bytes: %d are kept, %v", name, c.first, c.second, len(l.text), err)
			}
		}
	}
}
