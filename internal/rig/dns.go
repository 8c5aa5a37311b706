package rig

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// DNS is W's name server, authoritative for every name. An unknown name leads to the evil site, so that a query that
// gets through is noticed.
type DNS struct {
	visits *Visits
	mu     sync.Mutex
	hosts  map[string][][]string // the answers to the queries of a type, in turn
	asked  map[string]int
}

func newDNS(v *Visits) *DNS {
	return &DNS{visits: v, hosts: map[string][][]string{}, asked: map[string]int{}}
}

// Set sets a name's addresses, or "alias NAME" and NAME's addresses, or "silence". The nth query of a type, from 0,
// gets answers[nth % len(answers)].
func (d *DNS) Set(name string, answers ...[]string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hosts[name] = answers
}

// Known reports whether a name was Set, or is below a name that was Set with "*.".
func (d *DNS) Known(name string) bool {
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

// answer returns the reply to one message; nil for none. A name is compared with each byte as received.
func (d *DNS) answer(at string, q []byte) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(q)
	var asked dnsmessage.Question
	if err == nil {
		asked, err = p.Question()
	}
	if err != nil {
		d.visits.add(Visit{Kind: "dns", At: at, What: "unreadable: " + string(q), Evil: true})
		return nil
	}
	name := strings.TrimSuffix(asked.Name.String(), ".")
	d.mu.Lock()
	f := d.find(name)
	nth := d.asked[name+asked.Type.String()]
	d.asked[name+asked.Type.String()]++
	d.mu.Unlock()
	d.visits.add(Visit{Kind: "dns", At: at, What: name, Evil: f == nil})
	addrs := []string{EvilAddr, EvilAddr6}
	if f != nil {
		addrs = f[nth%len(f)]
	}
	if len(addrs) == 1 && addrs[0] == "silence" {
		return nil
	}
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{ID: head.ID, Response: true, Authoritative: true,
		RecursionDesired: head.RecursionDesired, RecursionAvailable: true})
	err = errors.Join(b.StartQuestions(), b.Question(asked), b.StartAnswers())
	of := dnsmessage.ResourceHeader{Name: asked.Name, Class: dnsmessage.ClassINET}
	for _, a := range addrs {
		if alias, is := strings.CutPrefix(a, "alias "); is { // the addresses after it belong to the alias
			to := dnsmessage.MustNewName(alias + ".")
			err = errors.Join(err, b.CNAMEResource(of, dnsmessage.CNAMEResource{CNAME: to}))
			of.Name = to
			continue
		}
		switch addr := netip.MustParseAddr(a); {
		case addr.Is4() && asked.Type == dnsmessage.TypeA:
			err = errors.Join(err, b.AResource(of, dnsmessage.AResource{A: addr.As4()}))
		case !addr.Is4() && asked.Type == dnsmessage.TypeAAAA:
			err = errors.Join(err, b.AAAAResource(of, dnsmessage.AAAAResource{AAAA: addr.As16()}))
		}
	}
	if asked.Type != dnsmessage.TypeA && asked.Type != dnsmessage.TypeAAAA { // the shape of a TXT record
		evil := dnsmessage.UnknownResource{Type: asked.Type, Data: []byte("\x04EVIL")}
		err = errors.Join(err, b.UnknownResource(of, evil))
	}
	reply, ferr := b.Finish()
	if errors.Join(err, ferr) != nil {
		return nil // a name of the rig that does not fit into a message
	}
	return reply
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
