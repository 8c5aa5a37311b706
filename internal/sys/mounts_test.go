package sys

import (
	"bytes"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMountsAreReadAgain: a reading during which the table has changed, and which lacks a line, is not believed.
func TestMountsAreReadAgain(t *testing.T) {
	whole, torn := []byte("1 a\n2 b\n"), []byte("1 a\n")
	for name, x := range map[string]struct {
		once    bool
		texts   [][]byte
		changed []bool
		want    []byte
	}{
		"in one piece":      {true, [][]byte{whole}, nil, whole},
		"no change":         {false, [][]byte{whole}, []bool{false}, whole},
		"one change":        {false, [][]byte{torn, whole}, []bool{true, false}, whole},
		"twice the same":    {false, [][]byte{torn, whole, whole}, []bool{true, true, true}, whole},
		"changes each time": {false, nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			got, err := settled(func() ([]byte, bool, error) {
				if n++; x.texts == nil {
					return bytes.Repeat([]byte("x"), n), x.once, nil
				}
				return x.texts[n-1], x.once, nil
			}, func() bool { return x.texts == nil || x.changed[n-1] })
			if !bytes.Equal(got, x.want) || (err == nil) != (x.want != nil) || x.want == nil && err != unix.EAGAIN {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	text, err := Mounts()
	if own, rerr := os.ReadFile("/proc/self/mountinfo"); err != nil || rerr != nil || len(text) == 0 || len(own) == 0 {
		t.Errorf("%q, %v, %v", text, err, rerr)
	}
}
