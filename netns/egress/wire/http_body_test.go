package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestCopyBody(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 1000)
	for _, c := range []struct {
		name, in  string
		f         Framing
		out, rest string
	}{
		{"none", "next", Framing{}, "", "next"},
		{"length 0", "next", Framing{Kind: Length}, "", "next"},
		{"length", "hellonext", Framing{Length, 5}, "hello", "next"},
		{"big length", big + "next", Framing{Length, 16000}, big, "next"},
		{"until close", big, Framing{Kind: UntilClose}, big, ""},
		{"until close, nothing", "", Framing{Kind: UntilClose}, "", ""},
		{"chunks", "5\r\nhello\r\n1\r\n \r\n0\r\n\r\nnext", Framing{Kind: Chunked}, "5\r\nhello\r\n1\r\n \r\n0\r\n\r\n", "next"},
		{"no chunk", "0\r\n\r\nnext", Framing{Kind: Chunked}, "0\r\n\r\n", "next"},
		{"one spelling", "00A;x=\"y\"\r\n0123456789\r\n000;z\r\n\r\nnext", Framing{Kind: Chunked}, "a\r\n0123456789\r\n0\r\n\r\n", "next"},
		{"trailers", "0\r\nDigest: x\r\nY:\r\n\r\nnext", Framing{Kind: Chunked}, "0\r\n\r\n", "next"},
		{"chunk with CR LF", "4\r\n\r\n\r\n\r\n0\r\n\r\n", Framing{Kind: Chunked}, "4\r\n\r\n\r\n\r\n0\r\n\r\n", ""},
		{"big chunk", "3E80\r\n" + big + "\r\n0\r\n\r\n", Framing{Kind: Chunked}, "3e80\r\n" + big + "\r\n0\r\n\r\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, in := range map[string]io.Reader{"whole": strings.NewReader(c.in), "bytes": iotest.OneByteReader(strings.NewReader(c.in))} {
				var out bytes.Buffer
				src, asked := bufio.NewReaderSize(in, 64), int64(0)
				n, err := CopyBody(&out, src, c.f, func(n int) error { asked += int64(n); return nil })
				if err != nil || out.String() != c.out || n != int64(len(c.out)) || asked != n {
					t.Errorf("%s: %d %d %v: %.100q", name, n, asked, err, out.String())
				}
				if rest, err := io.ReadAll(src); err != nil || string(rest) != c.rest {
					t.Errorf("%s: rest %q %v", name, rest, err)
				}
			}
		})
	}
}

func TestCopyBodyRefused(t *testing.T) {
	chunked := Framing{Kind: Chunked}
	short := io.ErrUnexpectedEOF.Error()
	for _, c := range []struct {
		name, in string
		f        Framing
		reason   string
	}{
		{"short", "hell", Framing{Length, 5}, short},
		{"nothing", "", Framing{Length, 5}, short},
		{"no chunk", "", chunked, short},
		{"short size", "5", chunked, short},
		{"short chunk", "5\r\nhell", chunked, short},
		{"no end of chunk", "5\r\nhello", chunked, short},
		{"no last chunk", "5\r\nhello\r\n", chunked, short},
		{"no empty line", "0\r\n", chunked, short},
		{"chunk longer than its size", "5\r\nhello!\r\n0\r\n\r\n", chunked, Protocol},
		{"chunk shorter than its size", "6\r\nhello\r\n0\r\n\r\n", chunked, Protocol},
		{"0x5", "0x5\r\nhello\r\n0\r\n\r\n", chunked, Protocol},
		{"+5", "+5\r\nhello\r\n0\r\n\r\n", chunked, Protocol},
		{"-1", "-1\r\nhello\r\n0\r\n\r\n", chunked, Protocol},
		{"5_", "5_\r\nhello\r\n0\r\n\r\n", chunked, Protocol},
		{"space first", " 5\r\nhello\r\n0\r\n\r\n", chunked, Protocol},
		{"space last", "5 \r\nhello\r\n0\r\n\r\n", chunked, Protocol},
		{"space before an extension", "5 ;x\r\nhello\r\n0\r\n\r\n", chunked, Protocol},
		{"no size", "\r\nhello\r\n0\r\n\r\n", chunked, Protocol},
		{"only an extension", ";x\r\nhello\r\n0\r\n\r\n", chunked, Protocol},
		{"beyond 60 bits", "1000000000000005\r\nhello\r\n0\r\n\r\n", chunked, Protocol},
		{"8 bits", "5\xb5\r\nhello\r\n0\r\n\r\n", chunked, Protocol},
		{"bare LF after the size", "5\nhello\r\n0\r\n\r\n", chunked, Protocol},
		{"bare LF in an extension", "5;x\nx\r\nhello\r\n0\r\n\r\n", chunked, Protocol},
		{"bare CR in an extension", "5;x\rx\r\nhello\r\n0\r\n\r\n", chunked, Protocol},
		{"NUL in an extension", "5;\x00\r\nhello\r\n0\r\n\r\n", chunked, Protocol},
		{"bare LF after the chunk", "5\r\nhello\n0\r\n\r\n", chunked, Protocol},
		{"bare CR after the chunk", "5\r\nhello\r0\r\n\r\n", chunked, Protocol},
		{"bare LF after the last chunk", "0\n\n", chunked, Protocol},
		{"request for a trailer", "0\r\nGET /2 HTTP/1.1\r\n\r\n", chunked, Protocol},
		{"folded trailer", "0\r\nA: b\r\n c\r\n\r\n", chunked, Protocol},
		{"trailer without a name", "0\r\n: c\r\n\r\n", chunked, Protocol},
		{"long line", "5;" + strings.Repeat("x", 2000) + "\r\nhello\r\n0\r\n\r\n", chunked, Protocol},
		{"many extensions", strings.Repeat("1;"+strings.Repeat("x", 99)+"\r\n!\r\n", 200) + "0\r\n\r\n", chunked, Protocol},
		{"many trailers", "0\r\n" + strings.Repeat("A: b\r\n", 5000) + "\r\n", chunked, Protocol},
	} {
		var out bytes.Buffer
		n, err := CopyBody(&out, bufio.NewReader(strings.NewReader(c.in)), c.f, nil)
		if reason(err) != c.reason || n != int64(out.Len()) || bytes.HasSuffix(out.Bytes(), []byte("0\r\n\r\n")) {
			t.Errorf("%s: %d %v %.100q", c.name, n, err, out.String())
		}
	}
}

func TestCopyBodyLimit(t *testing.T) {
	enough := errors.New("enough")
	for name, c := range map[string]struct {
		f  Framing
		in string
	}{"length": {Framing{Length, 1 << 20}, strings.Repeat("x", 1<<20)}, "chunked": {Framing{Kind: Chunked}, "100000\r\n" + strings.Repeat("x", 1<<20) + "\r\n0\r\n\r\n"}} {
		left := 10000
		var out bytes.Buffer
		n, err := CopyBody(&out, bufio.NewReader(strings.NewReader(c.in)), c.f, func(n int) error {
			if left -= n; left < 0 {
				return enough
			}
			return nil
		})
		if err != enough || n != int64(out.Len()) || n > 10000 || n < 10000-4096 {
			t.Errorf("%s: %d %v", name, n, err)
		}
	}
	for name, in := range map[string]string{"size": "5\r\n", "chunk": "5\r\nhel", "end": "5\r\nhello", "last": "0\r\n\r\n", "big": "2000\r\n" + strings.Repeat("x", 8192)} {
		src := bufio.NewReaderSize(strings.NewReader(in), 16)
		if n, err := CopyBody(io.Discard, src, Framing{Kind: Chunked}, func(int) error { return enough }); err != enough || n != 0 {
			t.Errorf("%s: %d %v", name, n, err)
		}
	}
	src := bufio.NewReader(io.MultiReader(strings.NewReader("5\r\nhel"), failing{}))
	if _, err := CopyBody(io.Discard, src, Framing{Kind: Chunked}, nil); err != errFailing {
		t.Error(err)
	}
}

// What has come is passed on before the reader waits for more.
func TestCopyBodyHoldsNothingBack(t *testing.T) {
	in, feed := io.Pipe()
	out, sink := io.Pipe()
	done := make(chan error)
	go func() {
		_, err := CopyBody(sink, bufio.NewReader(in), Framing{Kind: Chunked}, nil)
		done <- err
	}()
	for _, c := range []struct{ in, out string }{{"5\r\nhel", "5\r\nhel"}, {"lo", "lo"}, {"\r\n", "\r\n"}, {"0\r\n\r\n", "0\r\n\r\n"}} {
		if _, err := io.WriteString(feed, c.in); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(c.out))
		if _, err := io.ReadFull(out, got); err != nil || string(got) != c.out {
			t.Fatalf("%q %v", got, err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
