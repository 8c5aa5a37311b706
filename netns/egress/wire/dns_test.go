package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"brig/netns/egress/policy"
)

var synthetic = netip.MustParseAddr("198.18.0.7")

func knows(name string) bool {
	return strings.HasSuffix(name, ".arpa") || name == "example.com" || strings.HasSuffix(name, ".pypi.org")
}

func give(string) (netip.Addr, bool) { return synthetic, true }

// ask is a query for a name with plain labels; more follows the question; records is its number of records.
func ask(name string, qtype, class uint16, records byte, more ...byte) []byte {
	q := []byte{0xab, 0xcd, 1, 0x20, 0, 1, 0, 0, 0, 0, 0, records}
	for label := range strings.SplitSeq(name, ".") {
		if label != "" {
			q = append(append(q, byte(len(label))), label...)
		}
	}
	q = binary.BigEndian.AppendUint16(append(q, 0), qtype)
	return append(binary.BigEndian.AppendUint16(q, class), more...)
}

func with(q []byte, at int, b ...byte) []byte {
	q = bytes.Clone(q)
	copy(q[at:], b)
	return q
}

var (
	edns0   = []byte{0, 0, 41, 16, 0, 0, 0, 0x80, 0, 0, 0}
	cookie  = []byte{0, 0, 41, 16, 0, 0, 0, 0, 0, 0, 12, 0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8}
	ednsV1  = []byte{0, 0, 41, 16, 0, 0, 1, 0, 0, 0, 0}
	badOpt  = []byte{0, 0, 41, 16, 0, 0, 0, 0, 0, 0, 5, 0, 10, 0, 8, 1}
	tsig    = []byte{0, 0, 250, 0, 255, 0, 0, 0, 0, 0, 0}
	hidden  = []byte("\x07example\x03com\x00\x00\x01\x00\x01")
	longest = strings.Repeat("a23456789b23456789c23456789d23456789e23456789f23456789g23456789.", 3) + strings.Repeat("h", 52) + ".pypi.org"
)

func TestAnswer(t *testing.T) {
	plain := ask("example.com", 1, 1, 0)
	for _, c := range []struct {
		name    string
		query   []byte
		code    int // -1: silence
		verdict string
		reason  policy.Reason
		logged  string
		edns    bool
	}{
		{"allowed", plain, 0, "allow", "", "example.com", false},
		{"letter case is kept", ask("eXaMPle.COM", 1, 1, 0), 0, "allow", "", "example.com", false},
		{"wildcard", ask("files.pypi.org", 1, 1, 0), 0, "allow", "", "files.pypi.org", false},
		{"ANY", ask("example.com", 255, 1, 0), 0, "allow", "", "example.com", false},
		{"longest name", ask(longest, 1, 1, 0), 0, "allow", "", longest, false},
		{"EDNS0", ask("example.com", 1, 1, 1, edns0...), 0, "allow", "", "example.com", true},
		{"EDNS0 cookie", ask("example.com", 1, 1, 1, cookie...), 0, "allow", "", "example.com", true},
		{"EDNS0 denied", ask("evil.org", 1, 1, 1, edns0...), 3, "deny", policy.ReasonNoRule, "evil.org", true},
		{"EDNS version 1", ask("example.com", 1, 1, 1, ednsV1...), 16, "", "", "", true},
		{"EDNS0 option too long", ask("example.com", 1, 1, 1, badOpt...), 1, "", "", "", false},
		{"EDNS0 record too short", ask("example.com", 1, 1, 1, edns0[:10]...), 1, "", "", "", false},
		{"bytes after EDNS0", ask("example.com", 1, 1, 1, append(edns0[:11:11], 0)...), 1, "", "", "", false},
		{"EDNS0 with an owner", ask("example.com", 1, 1, 1, append([]byte{1, 'a'}, edns0...)...), 1, "", "", "", false},
		{"name without an end", plain[:24], 1, "", "", "", false},
		{"EDNS0 twice", ask("example.com", 1, 1, 2, append(edns0[:11:11], edns0...)...), 1, "", "", "", false},
		{"TSIG", ask("example.com", 1, 1, 1, tsig...), 1, "", "", "", false},
		{"additional record missing", ask("example.com", 1, 1, 1), 1, "", "", "", false},
		{"bytes after the question", ask("example.com", 1, 1, 0, hidden...), 1, "", "", "", false},
		{"AAAA of an allowed name", ask("example.com", 28, 1, 0), 0, "", "", "example.com", false},
		{"HTTPS of an allowed name", ask("example.com", 65, 1, 0), 0, "", "", "example.com", false},
		{"TXT of an allowed name", ask("example.com", 16, 1, 1, edns0...), 0, "", "", "example.com", true},
		{"denied", ask("evil.org", 1, 1, 0), 3, "deny", policy.ReasonNoRule, "evil.org", false},
		{"denied AAAA", ask("evil.org", 28, 1, 0), 3, "deny", policy.ReasonNoRule, "evil.org", false},
		{"reverse", ask("7.0.18.198.in-addr.arpa", 12, 1, 0), 3, "deny", policy.ReasonNoRule, "7.0.18.198.in-addr.arpa", false},
		{"root", ask(".", 2, 1, 0), 3, "deny", policy.ReasonNameInvalid, "", false},
		{"NUL", ask("example.com\x00", 1, 1, 0), 3, "deny", policy.ReasonNameInvalid, `example.com\000`, false},
		{"line break", ask("a\nb.pypi.org", 1, 1, 0), 3, "deny", policy.ReasonNameInvalid, `a\010b.pypi.org`, false},
		{"8 bits", ask("ex\xc3\xa4mple.com", 1, 1, 0), 3, "deny", policy.ReasonNameInvalid, `ex\195\164mple.com`, false},
		{"backslash", ask(`a\046.pypi.org`, 1, 1, 0), 3, "deny", policy.ReasonNameInvalid, `a\092046.pypi.org`, false},
		{"dot in a label", with(with(plain, 20, '.'), 12, 11), 3, "deny", policy.ReasonNameInvalid, `example\046com`, false},
		{"class CH", ask("example.com", 1, 3, 0), 5, "deny", policy.ReasonProtocol, "example.com", false},
		{"class ANY", ask("example.com", 1, 255, 0), 5, "deny", policy.ReasonProtocol, "example.com", false},
		{"AXFR", ask("example.com", 252, 1, 0), 5, "deny", policy.ReasonProtocol, "example.com", false},
		{"compression pointer", append(with(plain, 4, 0, 1)[:12], 0xc0, 12, 0, 1, 0, 1), 1, "", "", "", false},
		{"label of 64", ask(strings.Repeat("a", 64)+".pypi.org", 1, 1, 0), 1, "", "", "", false},
		{"name of 256", ask(strings.Replace(longest, "h", "hh", 1), 1, 1, 0), 1, "", "", "", false},
		{"two questions", append(with(plain, 5, 2), hidden...), 1, "", "", "", false},
		{"no question", with(plain, 5, 0)[:12], 1, "", "", "", false},
		{"an answer section", with(plain, 7, 1), 1, "", "", "", false},
		{"cut short", plain[:len(plain)-1], 1, "", "", "", false},
		{"name cut short", plain[:18], 1, "", "", "", false},
		{"too long", ask("example.com", 1, 1, 0, make([]byte, 5000)...), 1, "", "", "", false},
		{"NOTIFY", with(plain, 2, 4<<3), 4, "", "", "", false},
		{"UPDATE", with(plain, 2, 5<<3), 4, "", "", "", false},
		{"a reply", with(plain, 2, 0x81), -1, "", "", "", false},
		{"half a header", plain[:11], -1, "", "", "", false},
		{"nothing", nil, -1, "", "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply, q := Answer(c.query, knows, give)
			if q.Verdict != c.verdict || q.Reason != c.reason || q.Name != c.logged {
				t.Errorf("logs %+v", q)
			}
			if c.code < 0 {
				if reply != nil {
					t.Fatalf("reply %x", reply)
				}
				return
			}
			r := readReply(t, c.query, reply)
			if r.code != c.code || r.edns != c.edns || r.address.IsValid() != (c.verdict == "allow") {
				t.Errorf("reply %+v", r)
			}
		})
	}
}

func TestAnswerPool(t *testing.T) {
	for _, a := range []netip.Addr{{}, netip.MustParseAddr("::1")} {
		reply, q := Answer(ask("example.com", 1, 1, 0), knows, func(string) (netip.Addr, bool) { return a, a.IsValid() })
		if r := readReply(t, ask("example.com", 1, 1, 0), reply); r.code != 2 || q.Verdict != "deny" || q.Reason != policy.ReasonPoolExhausted {
			t.Errorf("%v: %+v %+v", a, r, q)
		}
	}
}

type reply struct {
	code    int
	address netip.Addr
	edns    bool
}

// readReply takes a reply apart, every byte of it.
func readReply(t *testing.T, query, b []byte) (r reply) {
	t.Helper()
	if len(b) < 12 || len(b) > 512 || !bytes.Equal(b[:2], query[:2]) || b[2]&0x80 == 0 || b[2]&0x79 != query[2]&0x79 || b[3]&0x80 == 0 {
		t.Fatalf("header of %x", b)
	}
	r.code = int(b[3] & 15)
	if b[5] == 0 {
		if len(b) != 12 {
			t.Fatalf("bytes without a question: %x", b)
		}
		return r
	}
	n := 12
	for b[n] != 0 {
		n += 1 + int(b[n])
	}
	n += 5
	if !bytes.Equal(b[12:n], query[12:n]) {
		t.Fatalf("the question is not repeated: %x", b)
	}
	rest := b[n:]
	if b[7] == 1 {
		if !bytes.HasPrefix(rest, []byte{0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4}) {
			t.Fatalf("answer %x", rest)
		}
		r.address, rest = netip.AddrFrom4([4]byte(rest[12:16])), rest[16:]
	}
	if b[9] == 1 {
		if len(rest) < 33 || rest[2] != 6 || int(rest[10]) != 22 || binary.BigEndian.Uint32(rest[29:]) != 60 {
			t.Fatalf("SOA %x", rest)
		}
		rest = rest[33:]
	}
	if b[11] == 1 {
		r.edns, r.code = true, r.code|int(rest[5])<<4
		rest = rest[11:]
	}
	if len(rest) != 0 {
		t.Fatalf("rest %x", rest)
	}
	if (b[7] == 1) != (r.code == 0 && b[9] == 0) {
		t.Fatalf("neither an answer nor a negative record, or both: %x", b)
	}
	return r
}

// The resolver of the Go library believes the replies, over the framing of TCP.
func TestAnswerResolver(t *testing.T) {
	r := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			for {
				b := make([]byte, 2)
				if _, err := io.ReadFull(server, b); err != nil {
					return
				}
				b = make([]byte, binary.BigEndian.Uint16(b))
				if _, err := io.ReadFull(server, b); err != nil {
					return
				}
				reply, _ := Answer(b, knows, give)
				if _, err := server.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
					return
				}
			}
		}()
		return client, nil
	}}
	if got, err := r.LookupNetIP(t.Context(), "ip", "example.com."); err != nil || len(got) != 1 || got[0].Unmap() != synthetic {
		t.Errorf("example.com: %v, %v", got, err)
	}
	for _, name := range []string{"evil.org.", "nothing.example.com."} {
		got, err := r.LookupNetIP(t.Context(), "ip", name)
		var e *net.DNSError
		if !errors.As(err, &e) || !e.IsNotFound {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if got, err := r.LookupTXT(t.Context(), "example.com."); err == nil {
		t.Errorf("TXT: %v", got)
	}
}
