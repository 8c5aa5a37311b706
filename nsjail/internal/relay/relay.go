// Package relay is the keeper's end of a jail's network: the published ports, and the server that receives the
// connections of the payload.
package relay

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"

	"brig/internal/words"
	"brig/netns"
	"brig/netns/egress"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"
)

// Relay is the keeper's end of one jail's network. A nil one is that of a jail without.
type Relay struct {
	server    *egress.Server
	published []egress.Published
	serving   bool
	ended     bool
}

// Open checks the policy and listens on the published ports before the jail exists. It returns nil for a Spec without
// NetEgress and published ports. log receives one JSON line for each connection and refused attempt; or it is nil.
func Open(s *spec.Spec, log io.Writer) (r *Relay, err error) {
	if s.Net != spec.NetEgress && len(s.Publish) == 0 {
		return nil, nil
	}
	r = &Relay{}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	for i, text := range s.Publish {
		p, _ := spec.ParsePublished(text) // Check has parsed it before
		l, err := listenTCP(p.Host)
		if err != nil {
			return r, spec.CallerError(spec.Index("publish", i), err.Error(), "choose another port or address")
		}
		r.published = append(r.published, egress.Published{Listener: l,
			To: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), p.Port)})
	}
	r.server, err = egress.New(egress.Config{Policy: s.Policy(), Jail: cmp.Or(s.Hostname, spec.DefaultHostname), Log: log})
	if err != nil {
		return r, spec.CallerError("egress", err.Error(), "mend the policy")
	}
	return r, nil
}

// listenTCP listens on the host with plain TCP. Go's default, MPTCP, does not support splice(2).
func listenTCP(at netip.AddrPort) (*net.TCPListener, error) {
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	l, err := c.Listen(context.Background(), "tcp", at.String())
	if err != nil {
		return nil, err
	}
	return l.(*net.TCPListener), nil // package net documents this type for "tcp"
}

// Waits reports whether the jail has still to open its sockets.
func (r *Relay) Waits() bool { return r != nil && !r.serving }

// Serve starts to serve the sockets that the jail has opened. They come from set-up, before the payload starts.
func (r *Relay) Serve(fds []int, want []netns.Socket) error {
	if err := netns.Verify(fds, want); err != nil {
		launcher.CloseAll(fds)
		return &spec.Error{Fault: spec.FaultBrig, Op: "net", Detail: words.Plain(err.Error())}
	}
	var s egress.Sockets
	var dial []*os.File
	var errs []error
	for i, w := range want {
		f := os.NewFile(uintptr(fds[i]), string(w.Role))
		if w.Role == netns.RoleDial {
			dial = append(dial, f)
			continue
		}
		errs = append(errs, place(&s, w, f), f.Close())
	}
	for i := range r.published {
		k := len(r.published) // an equal part of the sockets for each port
		r.published[i].Conns = dial[i*len(dial)/k : (i+1)*len(dial)/k]
	}
	s.Publish = r.published
	r.serving = true
	r.server.Serve(s) // the server owns the sockets that were placed
	return errors.Join(errs...)
}

// place assigns a socket to the server's field for its role.
func place(s *egress.Sockets, w netns.Socket, f *os.File) error {
	var c any
	var err error
	switch w.Role {
	case netns.RoleDNS, netns.RoleUDP, netns.RoleTap:
		c, err = net.FilePacketConn(f)
	default:
		c, err = net.FileListener(f)
	}
	if err != nil {
		return err
	}
	switch c := c.(type) { // Verify has looked at the kinds
	case *net.IPConn:
		s.Taps = append(s.Taps, c)
	case *net.UDPConn:
		if w.Role == netns.RoleDNS {
			s.DNS = c
		} else {
			s.UDP = append(s.UDP, c)
		}
	case *net.TCPListener:
		switch w.Role {
		case netns.RoleDNSTCP:
			s.DNSTCP = c
		case netns.RoleCatchAll:
			s.CatchAll = c
		default:
			s.TCP = append(s.TCP, c)
		}
	}
	return nil
}

// Close ends all connections and returns their summary, or nil without a network.
func (r *Relay) Close() *egress.Summary {
	if r == nil || r.ended {
		return nil
	}
	r.ended = true
	if !r.serving {
		for _, p := range r.published {
			p.Listener.Close()
		}
	}
	if r.server == nil {
		return nil
	}
	return r.server.Close()
}
