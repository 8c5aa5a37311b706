package rig

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
)

// DNS is W's name server, authoritative for every name. An unknown name resolves to the evil site, so that a query that
// escapes is noticed.
type DNS struct {
	visits *Visits
	mu     sync.Mutex
	hosts  map[string][][]string // the answers to the queries of a type, in turn
	asked  map[string]int
}

func newDNS(v *Visits) *DNS {
	return &DNS{visits: v, hosts: map[string][][]string{}, asked: map[string]int{}}
}

// set sets a name's addresses, or "alias NAME" and NAME's addresses, or "silence". The nth query of a type, from 0,
// gets answers[nth % len(answers)].
func (d *DNS) set(name string, answers ...[]string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hosts[name] = answers
}

// known reports whether a name was set, or is below a name that was set with "*.".
func (d *DNS) known(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.find(name) != nil
}

func (d *DNS) find(name string) [][]string {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if f := d.hosts[name]; f != nil {
		return f
	}
	for i, c := range name {
		if f := d.hosts["*"+name[i:]]; c == '.' && f != nil {
			return f
		}
	}
	return nil
}

// answer returns the reply to one message; nil for none.
func (d *DNS) answer(at string, q []byte) []byte {
	name, end := question(q)
	if end == 0 {
		d.visits.add(Visit{Kind: "dns", At: at, What: "unreadable: " + string(q), Evil: true})
		return nil
	}
	kind := binary.BigEndian.Uint16(q[end-4:])
	d.mu.Lock()
	f := d.find(name)
	nth := d.asked[name+string(rune(kind))]
	d.asked[name+string(rune(kind))]++
	d.mu.Unlock()
	d.visits.add(Visit{Kind: "dns", At: at, What: name, Evil: f == nil})
	addrs := []string{evilAddr, evilAddr6}
	if f != nil {
		addrs = f[nth%len(f)]
	}
	if len(addrs) == 1 && addrs[0] == "silence" {
		return nil
	}
	reply := append([]byte{}, q[:end]...)
	copy(reply[2:], []byte{0x84 | q[2]&1, 0x80, 0, 1, 0, 0, 0, 0, 0, 0})
	n, owner := 0, uint16(12) // offset of the record's name
	for _, a := range addrs {
		if alias, is := strings.CutPrefix(a, "alias "); is { // the addresses after it belong to the alias
			at := len(reply) + 12
			reply = append(reply, record(owner, cname, labels(alias))...)
			owner = uint16(at)
			n++
			continue
		}
		data, want := netip.MustParseAddr(a).AsSlice(), uint16(1)
		if len(data) == 16 {
			want = 28
		}
		if kind == want {
			reply = append(reply, record(owner, want, data)...)
			n++
		}
	}
	if kind != 1 && kind != 28 {
		reply = append(reply, record(owner, kind, []byte("\x04EVIL"))...) // the shape of a TXT record
		n++
	}
	reply[7] = byte(n)
	return reply
}

const cname = 5

// labels returns a name in wire format.
func labels(name string) (wire []byte) {
	for _, l := range strings.Split(name, ".") {
		wire = append(append(wire, byte(len(l))), l...)
	}
	return append(wire, 0)
}

func record(owner, kind uint16, data []byte) []byte {
	r := []byte{0xc0 | byte(owner>>8), byte(owner), byte(kind >> 8), byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(data))}
	return append(r, data...)
}

// question returns the name of the first question, with each byte as received, and the question's end; 0 if there is
// none.
func question(q []byte) (name string, end int) {
	if len(q) < 12 {
		return "", 0
	}
	var labels []string
	for i := 12; i < len(q); {
		n := int(q[i])
		if n == 0 && i+5 <= len(q) {
			return strings.Join(labels, "."), i + 5
		}
		if n > 63 || i+1+n > len(q) {
			return "", 0
		}
		labels = append(labels, string(q[i+1:i+1+n]))
		i += 1 + n
	}
	return "", 0
}

// serveUDP answers on one address, since a reply must come from the address of the query.
func (d *DNS) serveUDP(c *net.UDPConn) {
	buf := make([]byte, 4096)
	for {
		n, from, err := c.ReadFromUDPAddrPort(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		if reply := d.answer(c.LocalAddr().String(), buf[:n]); reply != nil {
			_, _ = c.WriteToUDPAddrPort(reply, from) // a client that has gone needs no reply
		}
	}
}

func (d *DNS) serveTCP(c net.Conn) {
	defer c.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		q := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, q); err != nil {
			return
		}
		reply := d.answer(c.LocalAddr().String(), q)
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}
