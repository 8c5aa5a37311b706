package egress

import (
	"slices"
	"strings"
	"testing"
)

// quoted returns the ICMP error of the kernel for a datagram to a port at which no socket is bound.
func quoted(port byte, data string) []byte {
	udp := append([]byte{0x80, 0, 0, port, 0, byte(8 + len(data)), 0, 0}, data...)
	ip := func(protocol byte, rest []byte) []byte {
		n := 20 + len(rest)
		return append([]byte{0x45, 0, byte(n >> 8), byte(n), 0, 0, 0, 0, 64, protocol, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1}, rest...)
	}
	return ip(1, append([]byte{3, 3, 0, 0, 0, 0, 0, 0}, ip(17, udp)...))
}

const question = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x08Registry\x07example\x00\x00\x01\x00\x01"

// TestLookedUp: the name of a question is found in what the kernel quotes, and in nothing that is shorter or else.
func TestLookedUp(t *testing.T) {
	whole := quoted(53, question)
	if got := LookedUp(append(slices.Clone(whole), 0, 0, 0)); got != "registry.example" {
		t.Errorf("%q", got)
	}
	for i := range whole {
		if got := LookedUp(whole[:i]); got != "" {
			t.Errorf("%q of %d bytes", got, i)
		}
	}
	for _, m := range [][]byte{nil, quoted(54, question), quoted(53, strings.Replace(question, "Registry", "Regi\x1b[1m", 1)),
		quoted(53, question[:20]), append([]byte{0x46}, whole[1:]...)} {
		if got := LookedUp(m); got != "" {
			t.Errorf("%q of % x", got, m)
		}
	}
}

func FuzzLookedUp(f *testing.F) {
	f.Add(quoted(53, question))
	f.Add(quoted(53, ""))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, c := range LookedUp(b) {
			if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-_.", c) {
				t.Errorf("%q", c)
			}
		}
	})
}
