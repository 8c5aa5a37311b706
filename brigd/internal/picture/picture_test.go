package picture

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"brig/internal/test/must"
)

// pictures returns one of each kind, of 3 by 2 pixels but for WebP, which Go cannot write.
func pictures(t testing.TB) map[string][]byte {
	t.Helper()
	m := image.NewPaletted(image.Rect(0, 0, 3, 2), color.Palette{color.Black, color.White})
	list := map[string][]byte{}
	var p, j, g bytes.Buffer
	must.Do(t, png.Encode(&p, m))
	must.Do(t, jpeg.Encode(&j, m, nil))
	must.Do(t, gif.Encode(&g, m, nil))
	list["image/png"], list["image/jpeg"], list["image/gif"] = p.Bytes(), j.Bytes(), g.Bytes()
	w := append([]byte("RIFF\x00\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f"), make([]byte, 13)...)
	binary.LittleEndian.PutUint32(w[4:], uint32(len(w)-8))
	binary.LittleEndian.PutUint32(w[21:], 2|1<<14)
	list["image/webp"] = w
	return list
}

func TestPicture(t *testing.T) {
	for want, b := range pictures(t) {
		if got := Type(b); got != want {
			t.Errorf("%s: %q", want, got)
		}
		for n := range b {
			if got := Type(b[:n]); got != "" {
				t.Errorf("%s, the first %d of %d bytes: %q", want, n, len(b), got)
			}
		}
	}
	wide := bytes.Clone(pictures(t)["image/png"])
	binary.BigEndian.PutUint32(wide[16:], maxSide+1)
	if got := Type(wide); got != "" {
		t.Errorf("too wide: %q", got)
	}
}

func FuzzPicture(f *testing.F) {
	for _, b := range pictures(f) {
		f.Add(b)
	}
	f.Fuzz(func(_ *testing.T, b []byte) { Type(b) })
}
