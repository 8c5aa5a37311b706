package wire

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/netns/egress/policy"
)

// wired is a connection of which one end is bytes: what is read from it is in, what is written goes to out.
type wired struct {
	in  io.Reader
	out bytes.Buffer
}

func (w *wired) Read(b []byte) (int, error)       { return w.in.Read(b) }
func (w *wired) Write(b []byte) (int, error)      { return w.out.Write(b) }
func (w *wired) Close() error                     { return nil }
func (w *wired) LocalAddr() net.Addr              { return nil }
func (w *wired) RemoteAddr() net.Addr             { return nil }
func (w *wired) SetDeadline(time.Time) error      { return nil }
func (w *wired) SetReadDeadline(time.Time) error  { return nil }
func (w *wired) SetWriteDeadline(time.Time) error { return nil }

// realHello is the first message that crypto/tls sends, without record headers.
func realHello(t testing.TB, c *tls.Config) []byte {
	t.Helper()
	w := &wired{in: strings.NewReader("")}
	if err := tls.Client(w, c).Handshake(); err == nil {
		t.Fatal("a handshake with nobody")
	}
	if w.out.Len() < 50 {
		t.Fatalf("a ClientHello of %d bytes", w.out.Len())
	}
	var msg []byte
	for b := w.out.Bytes(); len(b) > 0; {
		n := 5 + int(binary.BigEndian.Uint16(b[3:]))
		msg, b = append(msg, b[5:n]...), b[n:]
	}
	return msg
}

// records puts a message into records of n bytes.
func records(hello []byte, n int) (b []byte) {
	for part := range slices.Chunk(hello, n) {
		b = append(binary.BigEndian.AppendUint16(append(b, 22, 3, 1), uint16(len(part))), part...)
	}
	return b
}

// feed feeds b in pieces of n bytes until it is done or refused.
func feed(b []byte, n int) (h *Hello, done bool, err error) {
	h = &Hello{}
	for part := range slices.Chunk(b, n) {
		if done, err = h.Feed(part); done || err != nil {
			return h, done, err
		}
	}
	return h, false, nil
}

func TestHello(t *testing.T) {
	many := make([]string, 900)
	for i := range many {
		many[i] = strings.Repeat("p", 30)
	}
	for name, c := range map[string]*tls.Config{
		"plain":    {ServerName: "example.com"},
		"1.2":      {ServerName: "Example.COM", MaxVersion: tls.VersionTLS12},
		"1.3":      {ServerName: "a-b._x.example.com", MinVersion: tls.VersionTLS13, NextProtos: []string{"h2", "http/1.1"}},
		"big":      {ServerName: "example.com", NextProtos: many},
		"insecure": {ServerName: "example.com", InsecureSkipVerify: true},
	} {
		hello := realHello(t, c)
		for _, size := range []int{1, 2, 3, 100, 16384} {
			whole := append(records(hello, size), "\x17\x03\x03\x00\x05early"...)
			if len(hello) > 2000 && size < 100 {
				continue
			}
			for _, n := range []int{1, 7, len(whole)} {
				h, done, err := feed(whole, n)
				if !done || err != nil || h.SNI != strings.ToLower(c.ServerName) {
					t.Fatalf("%s in records of %d, reads of %d: %v %v, SNI %q", name, size, n, done, err, h.SNI)
				}
				if got := h.Bytes(); !bytes.HasPrefix(whole, got) || n == len(whole) && len(got) != n || len(got) < len(whole)-10 {
					t.Fatalf("%s: %d of %d bytes are kept", name, len(got), len(whole))
				}
			}
		}
	}
}

// ext is one extension of a ClientHello, sni the one with the name; body is a small ClientHello around extensions.
func ext(kind uint16, body string) string {
	b := binary.BigEndian.AppendUint16(nil, kind)
	return string(binary.BigEndian.AppendUint16(b, uint16(len(body)))) + body
}

func sni(name string) string {
	entry := "\x00" + string(binary.BigEndian.AppendUint16(nil, uint16(len(name)))) + name
	return ext(0, string(binary.BigEndian.AppendUint16(nil, uint16(len(entry))))+entry)
}

func clientMsg(body string) []byte {
	return record(string([]byte{1, byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body))}) + body)
}

func record(msg string) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{22, 3, 1}, uint16(len(msg))), msg...)
}

func body(extensions ...string) string {
	all := strings.Join(extensions, "")
	return "\x03\x03" + strings.Repeat("r", 32) + "\x00" + "\x00\x02\x13\x01" + "\x01\x00" +
		string(binary.BigEndian.AppendUint16(nil, uint16(len(all)))) + all
}

func TestHelloECH(t *testing.T) {
	h, done, err := feed(clientMsg(body(ext(0x0a0a, ""), sni("example.com"), ext(0xfe0d, "\x00\x00\x01\x00\x01\x07"))), 9)
	if !done || err != nil || h.SNI != "example.com" {
		t.Errorf("%v %v %q", done, err, h.SNI)
	}
}

func TestHelloRefused(t *testing.T) {
	good := body(sni("example.com"))
	many := make([]string, 129)
	for i := range many {
		many[i] = ext(uint16(1000+i), "")
	}
	for _, c := range []struct {
		name   string
		reason policy.Reason
		in     []byte
	}{
		{"HTTP", policy.ReasonNotTLS, []byte("G")},
		{"SSH", policy.ReasonNotTLS, []byte("SSH-2.0")},
		{"SSLv2", policy.ReasonNotTLS, []byte{0x80, 0x2e, 1, 0, 2}},
		{"application data first", policy.ReasonNotTLS, []byte{23}},
		{"version 4", policy.ReasonNotTLS, []byte{22, 4}},
		{"version 3.5", policy.ReasonNotTLS, []byte{22, 3, 5}},
		{"empty record", policy.ReasonNotTLS, []byte{22, 3, 1, 0, 0}},
		{"record of 16385", policy.ReasonNotTLS, []byte{22, 3, 1, 0x40, 1}},
		{"ServerHello", policy.ReasonNotTLS, []byte{22, 3, 1, 0, 9, 2}},
		{"16 MiB", policy.ReasonNotTLS, []byte{22, 3, 1, 0, 4, 1, 255, 255, 255}},
		{"64 KiB of records", policy.ReasonNotTLS, bytes.Repeat(append([]byte{22, 3, 1, 0, 9, 1, 0, 0xf0, 0}, "12345"...), 5000)},
		{"message of 64 KiB", policy.ReasonNotTLS, []byte{22, 3, 1, 0, 4, 1, 0, 0xff, 0xfd}},
		{"alert between records", policy.ReasonNotTLS, append(record("\x01\x00\x00\x40ab"), 21, 3, 1, 0, 2)},
		{"second message in the record", policy.ReasonNotTLS, record("\x01\x00" + string([]byte{byte(len(good) >> 8), byte(len(good))}) + good + "\x01")},
		{"empty", policy.ReasonNotTLS, clientMsg("")},
		{"no extensions", policy.ReasonNoSNI, clientMsg(good[:2+32+1+4+2])},
		{"empty extensions", policy.ReasonNoSNI, clientMsg(body())},
		{"other extensions only", policy.ReasonNoSNI, clientMsg(body(ext(10, "\x00\x02\x00\x1d")))},
		{"bytes after the extensions", policy.ReasonNotTLS, clientMsg(good + "x")},
		{"cut short", policy.ReasonNotTLS, clientMsg(good[:len(good)-1])},
		{"version 2", policy.ReasonNotTLS, clientMsg("\x02" + good[1:])},
		{"long session", policy.ReasonNotTLS, clientMsg(good[:34] + "\x21" + strings.Repeat("s", 33) + good[35:])},
		{"odd suites", policy.ReasonNotTLS, clientMsg(good[:35] + "\x00\x01\x13" + good[39:])},
		{"no suites", policy.ReasonNotTLS, clientMsg(good[:35] + "\x00\x00" + good[39:])},
		{"two SNI extensions", policy.ReasonNotTLS, clientMsg(body(sni("example.com"), sni("evil.org")))},
		{"two names", policy.ReasonNotTLS, clientMsg(body(ext(0, "\x00\x1a\x00\x00\x0bexample.com\x00\x00\x08evil.org")))},
		{"name of type 1", policy.ReasonNotTLS, clientMsg(body(ext(0, "\x00\x0e\x01\x00\x0bexample.com")))},
		{"empty SNI extension", policy.ReasonNotTLS, clientMsg(body(ext(0, "")))},
		{"empty name", policy.ReasonNoSNI, clientMsg(body(sni("")))},
		{"list too long", policy.ReasonNotTLS, clientMsg(body(ext(0, "\x00\x0f\x00\x00\x0bexample.com")))},
		{"byte after the list", policy.ReasonNotTLS, clientMsg(body(ext(0, "\x00\x0e\x00\x00\x0bexample.com!")))},
		{"NUL", policy.ReasonNameInvalid, clientMsg(body(sni("example.com\x00.evil.org")))},
		{"8 bits", policy.ReasonNameInvalid, clientMsg(body(sni("ex\xc3\xa4mple.com")))},
		{"space", policy.ReasonNameInvalid, clientMsg(body(sni("example.com ")))},
		{"IPv6", policy.ReasonNameInvalid, clientMsg(body(sni("2001:db8::1")))},
		{"255 bytes", policy.ReasonNameInvalid, clientMsg(body(sni(strings.Repeat("a.", 127) + "a")))},
		{"any extension twice", policy.ReasonNotTLS, clientMsg(body(sni("example.com"), ext(43, ""), ext(43, "")))},
		{"129 extensions", policy.ReasonNotTLS, clientMsg(body(many...))},
		{"extension too long", policy.ReasonNotTLS, clientMsg(body(sni("example.com"), "\x00\x17\x00\x05x"))},
		{"inner ECH", policy.ReasonNotTLS, clientMsg(body(sni("example.com"), ext(0xfe0d, "\x01")))},
		{"empty ECH", policy.ReasonNotTLS, clientMsg(body(sni("example.com"), ext(0xfe0d, "")))},
		{"empty ALPN", policy.ReasonNotTLS, clientMsg(body(sni("example.com"), ext(16, "\x00\x00")))},
		{"ALPN with an empty protocol", policy.ReasonNotTLS, clientMsg(body(sni("example.com"), ext(16, "\x00\x04\x02h2\x00")))},
		{"ALPN cut short", policy.ReasonNotTLS, clientMsg(body(sni("example.com"), ext(16, "\x00\x03\x03h2")))},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, n := range []int{1, len(c.in)} {
				_, done, err := feed(c.in, n)
				var e *Error
				if done || !errors.As(err, &e) || e.Reason != c.reason {
					t.Fatalf("reads of %d: %v %v", n, done, err)
				}
			}
		})
	}
	if _, done, err := feed(clientMsg(good), 1); !done || err != nil {
		t.Errorf("the good one: %v %v", done, err)
	}
}
