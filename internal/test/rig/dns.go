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
	hosts  map[string]func(nth int) []string
	asked  map[dnsmessage.Question]int
}

func newDNS(v *Visits) *DNS {
	return &DNS{visits: v, hosts: map[string]func(int) []string{}, asked: map[dnsmessage.Question]int{}}
}

// Set sets a name's addresses, or "alias NAME" and NAME's addresses, or "silence". The nth query of a type, from 0,
// gets answers[nth % len(answers)].
func (d *DNS) Set(name string, answers ...[]string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hosts[name] = func(nth int) []string { return answers[nth%len(answers)] }
}

// Known reports whether a name was Set, or is below a name that was Set with "*.".
func (d *DNS) Known(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.find(name) != nil
}

func (d *DNS) find(name string) func(int) []string {
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
	var p dnsmessage.Parser
	header, err := p.Start(q)
	question, bad := p.Question()
	if err != nil || bad != nil {
		d.visits.add(Visit{Kind: "dns", At: at, What: "unreadable: " + string(q), Evil: true})
		return nil
	}
	name, kind := strings.TrimSuffix(question.Name.String(), "."), question.Type
	d.mu.Lock()
	f := d.find(name)
	nth := d.asked[question]
	d.asked[question]++
	d.mu.Unlock()
	d.visits.add(Visit{Kind: "dns", At: at, What: name, Evil: f == nil})
	addrs := []string{EvilAddr, EvilAddr6}
	if f != nil {
		addrs = f(nth)
	}
	if len(addrs) == 1 && addrs[0] == "silence" {
		return nil
	}
	m := dnsmessage.Message{Questions: []dnsmessage.Question{question}, Header: dnsmessage.Header{ID: header.ID,
		Response:      true,
		Authoritative: true, RecursionDesired: header.RecursionDesired, RecursionAvailable: true}}
	owner := question.Name
	add := func(body dnsmessage.ResourceBody) {
		head := dnsmessage.ResourceHeader{Name: owner, Class: dnsmessage.ClassINET}
		m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: body})
	}
	for _, a := range addrs {
		if alias, is := strings.CutPrefix(a, "alias "); is { // the addresses after it belong to the alias
			target := dnsmessage.MustNewName(alias + ".")
			add(&dnsmessage.CNAMEResource{CNAME: target})
			owner = target
		} else if ip := netip.MustParseAddr(a); ip.Is4() && kind == dnsmessage.TypeA {
			add(&dnsmessage.AResource{A: ip.As4()})
		} else if !ip.Is4() && kind == dnsmessage.TypeAAAA {
			add(&dnsmessage.AAAAResource{AAAA: ip.As16()})
		}
	}
	if kind != dnsmessage.TypeA && kind != dnsmessage.TypeAAAA { // the shape of a TXT record
		add(&dnsmessage.UnknownResource{Type: kind, Data: []byte("\x04EVIL")})
	}
	reply, err := m.Pack()
	if err != nil {
		panic(err) // the names are those of a parsed question and of the suite
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
