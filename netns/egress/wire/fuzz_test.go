package wire

import (
	"bytes"
	"crypto/tls"
	"net/netip"
	"strings"
	"testing"
)

// FuzzAnswer: a reply is whole and repeats the question; an address comes for an approved name only, once.
func FuzzAnswer(f *testing.F) {
	f.Add(ask("example.com", 1, 1, 0))
	f.Add(ask("files.pypi.org", 28, 1, 1, cookie...))
	f.Add(ask("evil.org", 65, 1, 1, edns0...))
	f.Add(ask("7.0.18.198.in-addr.arpa", 12, 1, 0))
	f.Add(ask("a\x00b.pypi.org", 1, 1, 1, ednsV1...))
	f.Fuzz(func(t *testing.T, query []byte) {
		before := bytes.Clone(query)
		asked := ""
		knows := func(name string) bool {
			if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" || strings.Contains("."+name+".", "..") || len(name) > 253 {
				t.Errorf("asked for %q", name)
			}
			return len(name)%2 == 1
		}
		b, q := Answer(query, knows, func(name string) (netip.Addr, bool) {
			if asked != "" || !knows(name) {
				t.Errorf("an address for %q", name)
			}
			asked = name
			return synthetic, len(name)%4 == 1
		})
		if !bytes.Equal(query, before) {
			t.Fatal("the query was changed")
		}
		for i := range len(q.Name) {
			if q.Name[i] <= ' ' || q.Name[i] >= 0x7f {
				t.Errorf("logs %q", q.Name)
			}
		}
		if b == nil {
			if len(query) >= 12 && query[2]&0x80 == 0 || q != (Question{}) {
				t.Errorf("silence after %x: %+v", query, q)
			}
			return
		}
		r := readReply(t, query, b)
		if given := q.Verdict == "allow"; given != r.address.IsValid() || given && (q.Name != asked || len(asked)%4 != 1) {
			t.Errorf("%+v after %+v", r, q)
		}
		if (q.Verdict == "deny") != (q.Reason != "") || q.Verdict == "deny" && r.code == 0 {
			t.Errorf("%+v after %+v", r, q)
		}
	})
}

// FuzzHello: how the bytes are cut does not matter, and what crypto/tls reads in them is the same name.
func FuzzHello(f *testing.F) {
	f.Add(clientMsg(body(ext(0x0a0a, ""), sni("example.com"), ext(0xfe0d, "\x00\x00\x01\x00\x01\x07"))), byte(3))
	f.Add(clientMsg(body(sni("example.com"), sni("evil.org"))), byte(200))
	f.Fuzz(func(t *testing.T, b []byte, size byte) {
		if len(b) == 0 {
			return
		}
		one, doneOne, errOne := feed(b, len(b))
		h, done, err := feed(b, max(1, int(size)))
		if done != doneOne || reason(err) != reason(errOne) || done && h.SNI != one.SNI {
			t.Fatalf("whole: %v %v; in parts: %v %v", doneOne, errOne, done, err)
		}
		if !done {
			return
		}
		if h.SNI == "" || h.SNI != strings.ToLower(h.SNI) || !bytes.HasPrefix(b, h.Bytes()) {
			t.Fatalf("SNI %q", h.SNI)
		}
		server := &tls.Config{GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
			if strings.ToLower(info.ServerName) != h.SNI {
				t.Errorf("crypto/tls reads %q, we %q", info.ServerName, h.SNI)
			}
			return nil, errFailing
		}}
		if err := tls.Server(&wired{in: bytes.NewReader(b)}, server).Handshake(); err == nil {
			t.Error("a handshake with a dead client")
		}
	})
}
