package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"brig/internal/test/must"
	"brig/netns/egress/policy"
)

func TestCopyChunks(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 1000)
	for _, c := range []struct {
		name, in, out, rest string
	}{
		{"chunks", "5\r\nhello\r\n1\r\n \r\n0\r\n\r\nnext", "5\r\nhello\r\n1\r\n \r\n0\r\n\r\n", "next"},
		{"no chunk", "0\r\n\r\nnext", "0\r\n\r\n", "next"},
		{"one spelling", "00A;x=\"y\"\r\n0123456789\r\n000;z\r\n\r\nnext", "a\r\n0123456789\r\n0\r\n\r\n", "next"},
		{"trailers", "0\r\nDigest: x\r\nY:\r\n\r\nnext", "0\r\n\r\n", "next"},
		{"chunk with CR LF", "4\r\n\r\n\r\n\r\n0\r\n\r\n", "4\r\n\r\n\r\n\r\n0\r\n\r\n", ""},
		{"big chunk", "3E80\r\n" + big + "\r\n0\r\n\r\n", "3e80\r\n" + big + "\r\n0\r\n\r\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, in := range map[string]io.Reader{"whole": strings.NewReader(c.in), "bytes": iotest.OneByteReader(strings.NewReader(c.in))} {
				var out bytes.Buffer
				src := bufio.NewReaderSize(in, 64)
				if err := CopyChunks(&out, src); err != nil || out.String() != c.out {
					t.Errorf("%s: %v: %.100q", name, err, out.String())
				}
				if rest, err := io.ReadAll(src); err != nil || string(rest) != c.rest {
					t.Errorf("%s: rest %q %v", name, rest, err)
				}
			}
		})
	}
}

func TestCopyChunksRefused(t *testing.T) {
	short := policy.Reason(io.ErrUnexpectedEOF.Error())
	for _, c := range []struct {
		name, in string
		reason   policy.Reason
	}{
		{"no chunk", "", short},
		{"short size", "5", short},
		{"short chunk", "5\r\nhell", short},
		{"no end of chunk", "5\r\nhello", short},
		{"no last chunk", "5\r\nhello\r\n", short},
		{"no empty line", "0\r\n", short},
		{"chunk longer than its size", "5\r\nhello!\r\n0\r\n\r\n", policy.ReasonProtocol},
		{"chunk shorter than its size", "6\r\nhello\r\n0\r\n\r\n", policy.ReasonProtocol},
		{"0x5", "0x5\r\nhello\r\n0\r\n\r\n", policy.ReasonProtocol},
		{"+5", "+5\r\nhello\r\n0\r\n\r\n", policy.ReasonProtocol},
		{"-1", "-1\r\nhello\r\n0\r\n\r\n", policy.ReasonProtocol},
		{"5_", "5_\r\nhello\r\n0\r\n\r\n", policy.ReasonProtocol},
		{"space first", " 5\r\nhello\r\n0\r\n\r\n", policy.ReasonProtocol},
		{"space last", "5 \r\nhello\r\n0\r\n\r\n", policy.ReasonProtocol},
		{"space before an extension", "5 ;x\r\nhello\r\n0\r\n\r\n", policy.ReasonProtocol},
		{"no size", "\r\nhello\r\n0\r\n\r\n", policy.ReasonProtocol},
		{"only an extension", ";x\r\nhello\r\n0\r\n\r\n", policy.ReasonProtocol},
		{"beyond 60 bits", "1000000000000005\r\nhello\r\n0\r\n\r\n", policy.ReasonProtocol},
		{"8 bits", "5\xb5\r\nhello\r\n0\r\n\r\n", policy.ReasonProtocol},
		{"bare LF after the size", "5\nhello\r\n0\r\n\r\n", policy.ReasonProtocol},
		{"bare LF in an extension", "5;x\nx\r\nhello\r\n0\r\n\r\n", policy.ReasonProtocol},
		{"bare CR in an extension", "5;x\rx\r\nhello\r\n0\r\n\r\n", policy.ReasonProtocol},
		{"NUL in an extension", "5;\x00\r\nhello\r\n0\r\n\r\n", policy.ReasonProtocol},
		{"bare LF after the chunk", "5\r\nhello\n0\r\n\r\n", policy.ReasonProtocol},
		{"bare CR after the chunk", "5\r\nhello\r0\r\n\r\n", policy.ReasonProtocol},
		{"bare LF after the last chunk", "0\n\n", policy.ReasonProtocol},
		{"request for a trailer", "0\r\nGET /2 HTTP/1.1\r\n\r\n", policy.ReasonProtocol},
		{"folded trailer", "0\r\nA: b\r\n c\r\n\r\n", policy.ReasonProtocol},
		{"trailer without a name", "0\r\n: c\r\n\r\n", policy.ReasonProtocol},
		{"long line", "5;" + strings.Repeat("x", 2000) + "\r\nhello\r\n0\r\n\r\n", policy.ReasonProtocol},
		{"many extensions", strings.Repeat("1;"+strings.Repeat("x", 99)+"\r\n!\r\n", 200) + "0\r\n\r\n", policy.ReasonProtocol},
		{"many trailers", "0\r\n" + strings.Repeat("A: b\r\n", 5000) + "\r\n", policy.ReasonProtocol},
	} {
		var out bytes.Buffer
		err := CopyChunks(&out, bufio.NewReader(strings.NewReader(c.in)))
		if reason(err) != c.reason || bytes.HasSuffix(out.Bytes(), []byte("0\r\n\r\n")) {
			t.Errorf("%s: %v %.100q", c.name, err, out.String())
		}
	}
}

// full is a writer that takes so many bytes.
type full struct{ left int }

var errFull = errors.New("full")

func (w *full) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestCopyChunksFails(t *testing.T) {
	for name, in := range map[string]string{"size": "5\r\n", "chunk": "5\r\nhel", "end": "5\r\nhello", "last": "0\r\n\r\n", "big": "2000\r\n" + strings.Repeat("x", 8192),
		"later": "100000\r\n" + strings.Repeat("x", 1<<20) + "\r\n0\r\n\r\n"} {
		w := &full{}
		if name == "later" {
			w.left = 10000
		}
		if err := CopyChunks(w, bufio.NewReaderSize(strings.NewReader(in), 16)); err != errFull {
			t.Errorf("%s: %v", name, err)
		}
	}
	src := bufio.NewReader(io.MultiReader(strings.NewReader("5\r\nhel"), failing{}))
	if err := CopyChunks(io.Discard, src); err != errFailing {
		t.Error(err)
	}
}

// What has come is passed on before the reader waits for more.
func TestCopyChunksHoldsNothingBack(t *testing.T) {
	in, feed := io.Pipe()
	out, sink := io.Pipe()
	done := make(chan error)
	go func() { done <- CopyChunks(sink, bufio.NewReader(in)) }()
	for _, c := range []struct{ in, out string }{{"5\r\nhel", "5\r\nhel"}, {"lo", "lo"}, {"\r\n", "\r\n"}, {"0\r\n\r\n", "0\r\n\r\n"}} {
		must.Get(io.WriteString(feed, c.in))(t)
		got := make([]byte, len(c.out))
		if _, err := io.ReadFull(out, got); err != nil || string(got) != c.out {
			t.Fatalf("%q %v", got, err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
