package terminal

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"
)

// What reaches the payload is what was typed, less the escapes, however it is cut.
func TestKeys(t *testing.T) {
	for _, c := range []struct{ typed, payload, escapes string }{
		{"ls ~/x\r~.", "ls ~/x\r", "."},
		{"~/bin/x\r", "~/bin/x\r", ""},
		{"~~/x\r~~.\r", "~/x\r~.\r", ""},
		{"a~.\r~?~\x1a~.", "a~.\r", "?\x1a."},
		{"~\r~.", "~\r", "."},
		{"~a~.\n~.", "~a~.\n", "."},
		{"", "", ""},
		{"x\n~", "x\n~", ""},
	} {
		for _, in := range []io.Reader{bytes.NewBufferString(c.typed), iotest.OneByteReader(bytes.NewBufferString(c.typed)),
			iotest.DataErrReader(bytes.NewBufferString(c.typed))} {
			var done []byte
			got, err := io.ReadAll(&Keys{In: in, Do: func(b byte) { done = append(done, b) }})
			if err != nil || string(got) != c.payload || string(done) != c.escapes {
				t.Errorf("%q: %q, escapes %q, %v; want %q, %q", c.typed, got, done, err, c.payload, c.escapes)
			}
		}
		slow := iotest.OneByteReader(&Keys{In: bytes.NewBufferString(c.typed), Do: func(byte) {}})
		if got, err := io.ReadAll(slow); err != nil || string(got) != c.payload {
			t.Errorf("%q, byte by byte: %q, %v; want %q", c.typed, got, err, c.payload)
		}
	}
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte("a\r~~b\r~/c"))
	f.Add([]byte("~.\n~?~~~\x1a~"))
	f.Fuzz(func(t *testing.T, typed []byte) {
		whole := (&Keys{Do: func(byte) {}}).filter(typed)
		one, pieces := &Keys{Do: func(byte) {}}, []byte(nil)
		for _, b := range typed {
			pieces = append(pieces, one.filter([]byte{b})...)
		}
		if !bytes.Equal(whole, pieces) {
			t.Errorf("%q: %q at once, %q one by one", typed, whole, pieces)
		}
		if len(whole) > len(typed) {
			t.Errorf("%q: %q is more than was typed", typed, whole)
		}
	})
}
