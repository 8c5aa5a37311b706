package rig

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Ports of W, on every address. An echo begins with a line that tells whether the site is good.
var (
	echoPorts  = []string{"7", "22", "25", "5432", "6379", "9000", "17000"}
	httpPorts  = []string{"80", "81", "8080"}
	httpsPorts = []string{"443", "8443"}
	udpPorts   = []string{"123", "443", "9999", "5353"}
)

// sites are the names that W serves and policies of the suite may allow.
var sites = []string{"good.example", "git.example", "pypi.example", "npm.example"}

func goodAddress(a net.Addr) bool {
	host, _, err := net.SplitHostPort(a.String())
	return err == nil && slices.Contains([]string{GoodAddr, sharedAddr, GoodAddr6, "::ffff:" + GoodAddr}, host)
}

// word returns the word by which a server identifies itself; payloads look for EVIL and SECRET.
func word(good bool) string {
	if good {
		return "good"
	}
	return "EVIL"
}

func (r *Rig) names() {
	for _, s := range sites {
		r.DNS.set(s, []string{GoodAddr})
	}
	r.DNS.set("shared.example", []string{sharedAddr})
	r.DNS.set("*.many.example", []string{GoodAddr})
	r.DNS.set("six.example", []string{GoodAddr6})
	r.DNS.set("silent.example", []string{"silence"})
	r.DNS.set("nowhere.example", []string{})
	r.DNS.set("blackhole.example", []string{"93.184.216.99"}) // no host is there
	for name, addresses := range rebinding {
		r.DNS.set(name, addresses)
	}
	r.DNS.set("alias.example", []string{"alias instance-data.internal", "169.254.169.254"})
	r.DNS.set("flip.example", []string{GoodAddr}, []string{"10.0.0.1"})
}

// rebinding are names that policies of the suite allow, and that resolve to forbidden addresses.
var rebinding = map[string][]string{
	"ten.example": {"10.0.0.1"}, "meta.example": {"169.254.169.254"}, "loop.example": {"127.0.0.1"},
	"own.example": {HostAddr}, "ownpublic.example": {hostPublic}, "zero.example": {"0.0.0.0"},
	"cgnat.example": {"100.64.0.1"}, "bench.example": {"198.18.0.1"}, "ula.example": {"fd00::1"},
	"mapped.example": {"::ffff:10.0.0.1"}, "nat64.example": {"64:ff9b::a00:1"}, "sixtofour.example": {"2002:a00:1::1"},
	"teredo.example": {"2001::1"}, "own6.example": {hostAddr6}, "loop6.example": {"::1"},
	"azure.example": {"168.63.129.16"}, "class-e.example": {"240.0.0.1"}, "barred.example": {evilAddr},
	"mixed.example": {"10.0.0.1", "169.254.169.254", "127.0.0.1", GoodAddr}, "multi.example": {"224.0.0.1"},
	"broadcast.example": {"255.255.255.255"},
}

// serveWorld starts W's servers.
func (r *Rig) serveWorld() error {
	r.names()
	return r.World.do(func() error {
		var errs []error
		for _, a := range []string{WorldAddr, "8.8.8.8", "1.1.1.1"} {
			c, err := net.ListenPacket("udp", net.JoinHostPort(a, "53"))
			l, lerr := net.Listen("tcp", net.JoinHostPort(a, "53"))
			if err := errors.Join(err, lerr); err != nil {
				return err
			}
			go r.DNS.serveUDP(c.(*net.UDPConn))
			go accept(l, r.DNS.serveTCP)
		}
		for _, p := range udpPorts {
			for _, a := range r.addresses() {
				errs = append(errs, r.echoUDP(net.JoinHostPort(a, p)))
			}
		}
		for _, p := range echoPorts {
			errs = append(errs, r.listen(p, func(l net.Listener) { accept(l, r.echoTCP) }))
		}
		for _, p := range httpPorts {
			errs = append(errs, r.listen(p, func(l net.Listener) { r.httpServer().Serve(&taped{l, r.Visits}) }))
		}
		for _, p := range httpsPorts {
			errs = append(errs, r.listen(p, func(l net.Listener) { r.httpServer().ServeTLS(l, "", "") }))
		}
		return errors.Join(errs...)
	})
}

// listen serves a port of every address of the calling thread's namespace.
func (r *Rig) listen(port string, serve func(net.Listener)) error {
	l, err := net.Listen("tcp", ":"+port)
	if err == nil {
		go serve(l)
	}
	return err
}

func accept(l net.Listener, serve func(net.Conn)) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			go serve(c)
		}
	}
}

func (r *Rig) echoUDP(address string) error {
	c, err := net.ListenPacket("udp", address)
	if err != nil {
		return err
	}
	go func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := c.ReadFrom(buf)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			good := goodAddress(c.LocalAddr())
			r.Visits.add(Visit{Kind: "udp", At: c.LocalAddr().String(), What: string(buf[:n]), Evil: !good})
			if err == nil {
				_, _ = c.WriteTo(append([]byte(word(good)+" "), buf[:n]...), from)
			}
		}
	}()
	return nil
}

func (r *Rig) echoTCP(c net.Conn) {
	defer c.Close()
	good := goodAddress(c.LocalAddr())
	r.Visits.add(Visit{Kind: "tcp", At: c.LocalAddr().String(), Evil: !good})
	if _, err := fmt.Fprintf(c, "%s %s\n", word(good), c.LocalAddr()); err == nil {
		_, _ = io.Copy(c, bufio.NewReader(c))
	}
}

// httpServer answers each request with the site's name and the request itself.
func (r *Rig) httpServer() *http.Server {
	return &http.Server{
		Handler:           r.handler(),
		ReadHeaderTimeout: 30 * time.Second,
		ErrorLog:          quiet,
		TLSConfig: &tls.Config{NextProtos: []string{"h2", "http/1.1"},
			GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
				good := goodAddress(h.Conn.LocalAddr()) && r.good(h.ServerName)
				r.Visits.add(Visit{Kind: "tls", At: h.Conn.LocalAddr().String(), What: h.ServerName, Evil: !good})
				return r.CA.certificate(h)
			}},
	}
}

// good reports whether a Host is a site that a policy may allow.
func (r *Rig) good(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	return host == GoodAddr || host == GoodAddr6 || r.DNS.known(strings.ToLower(host))
}

// taped records the first bytes of each connection: an evil request may hide in a good one.
type taped struct {
	net.Listener
	visits *Visits
}

type tape struct {
	net.Conn
	visits *Visits
	heard  []byte
}

func (t *taped) Accept() (net.Conn, error) {
	c, err := t.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &tape{Conn: c, visits: t.visits}, nil
}

func (t *tape) Read(b []byte) (int, error) {
	n, err := t.Conn.Read(b)
	if len(t.heard) < 64<<10 && n > 0 {
		t.heard = append(t.heard, b[:n]...)
		t.visits.addRaw(string(t.heard))
	}
	return n, err
}
