package layer

import (
	"bytes"
	"errors"
	"testing"
)

// Headers without files, which a compressed layer has by the million for a few bytes, are bounded too.
func TestHeadersAreBounded(t *testing.T) {
	for kind, data := range map[string]string{"g": record("comment", "x"), "x": record("comment", "x"), "L": "name\x00", "K": "name\x00"} {
		one := raw([3]string{kind, "p", data})
		many := append(bytes.Repeat(one[:len(one)-1024], 16<<10), raw([3]string{"0", "f", ""})...)
		p := newScene(t)
		_, err := Unpack(bytes.NewReader(many), p.dir, &Options{MaxBytes: 1 << 10, MaxFiles: 10})
		var limit *LimitError
		if !errors.As(err, &limit) || limit.What != "bytes" {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
