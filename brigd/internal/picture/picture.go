// Package picture knows pictures by their bytes.
package picture

import (
	"bytes"
	"encoding/binary"
)

// The bounds of a picture: clients hand it to models, which refuse larger ones.
const (
	Max     = 1 << 20 // bytes
	maxSide = 8000    // pixels
)

// Type returns the media type of a whole PNG, JPEG, GIF or WebP file, or "" for anything else. A file that only
// begins as one would make a client's next request to its model fail.
func Type(b []byte) string {
	kind, w, h := "", 0, 0
	switch {
	case len(b) > 33 && bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")) &&
		bytes.HasSuffix(b, []byte("IEND\xaeB`\x82")):
		kind, w, h = "image/png", int(binary.BigEndian.Uint32(b[16:])), int(binary.BigEndian.Uint32(b[20:]))
	case len(b) > 13 && (bytes.HasPrefix(b, []byte("GIF87a")) || bytes.HasPrefix(b, []byte("GIF89a"))) &&
		b[len(b)-1] == ';':
		kind, w, h = "image/gif", int(binary.LittleEndian.Uint16(b[6:])), int(binary.LittleEndian.Uint16(b[8:]))
	case bytes.HasPrefix(b, []byte("\xff\xd8\xff")) && bytes.HasSuffix(b, []byte("\xff\xd9")):
		kind = "image/jpeg"
		w, h = jpegSize(b[2:])
	case len(b) > 30 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP" &&
		int64(binary.LittleEndian.Uint32(b[4:]))+8 == int64(len(b)):
		kind = "image/webp"
		w, h = webpSize(b[12:])
	}
	if w < 1 || h < 1 || w > maxSide || h > maxSide {
		return ""
	}
	return kind
}

// jpegSize returns the size in the frame header: ITU T.81, B.2.2. It is 0 if there is none.
func jpegSize(b []byte) (w, h int) {
	for len(b) >= 9 && b[0] == 0xff {
		marker, n := b[1], int(binary.BigEndian.Uint16(b[2:]))
		switch {
		case marker == 0xff: // a fill byte
			b = b[1:]
			continue
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			return int(binary.BigEndian.Uint16(b[7:])), int(binary.BigEndian.Uint16(b[5:]))
		case n < 2 || n+2 > len(b):
			return 0, 0
		}
		b = b[n+2:]
	}
	return 0, 0
}

// webpSize returns the size in the first chunk, of at least 18 bytes: RFC 9649.
func webpSize(b []byte) (w, h int) {
	le := binary.LittleEndian
	switch string(b[:4]) {
	case "VP8 ":
		return int(le.Uint16(b[14:]) & 0x3fff), int(le.Uint16(b[16:]) & 0x3fff)
	case "VP8L":
		bits := le.Uint32(b[9:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case "VP8X":
		return int(le.Uint32(b[11:])>>8) + 1, int(le.Uint32(b[14:])>>8) + 1
	}
	return 0, 0
}
