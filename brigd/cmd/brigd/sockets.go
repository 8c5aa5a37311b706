package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"brig/brigd/internal/config"
	"brig/brigd/internal/links"
	"brig/brigd/internal/listen"
)

// sockets are the listeners of brigd.
type sockets struct {
	local *listen.Bound // for Unix sockets
	far   *listen.Bound // for TCP
	list  []net.Listener
	unix  []*listen.Unix // those of list to be removed at the end
	tcp   bool
}

// openSockets opens the sockets that the settings name, or takes those of a service manager. A TCP port without
// authentication is refused, even if a service manager opened it.
func openSockets(ctx context.Context, c *config.Config) (s *sockets, err error) {
	s = &sockets{local: listen.NewBound(c.HTTP.MaxConnections), far: listen.NewBound(c.HTTP.MaxConnections)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
			s = nil
		}
	}()
	t, err := c.Sockets.TLS.Config()
	if err != nil {
		return s, err
	}
	o := listen.UnixOptions{UIDs: c.Sockets.UIDs}
	given, err := listen.Inherited(o)
	if err != nil {
		return s, err
	}
	byPath := slices.ContainsFunc(c.Sockets.Listen, func(w string) bool { return strings.HasPrefix(w, "unix:") })
	for _, l := range given {
		if l.Addr().Network() != "tcp" {
			s.list, byPath = append(s.list, s.local.Listener(l)), true
			continue
		}
		s.tcp = true
		s.list = append(s.list, listen.Secure(l, t, s.far))
		if err := c.Sockets.CheckTCP(listen.IsLoopback(l.Addr())); err != nil {
			return s, fmt.Errorf("the socket %s of LISTEN_FDS: %w", l.Addr(), err)
		}
	}
	if len(o.UIDs) > 0 && !byPath {
		return s, errors.New("--allow-uid: those users reach no socket, since the default one is in a directory of yours " +
			"alone; add --listen unix:PATH in a directory that they can reach")
	}
	where := c.Sockets.Listen
	if len(given) == 0 && len(where) == 0 && c.Command != "worker" {
		where = []string{"unix"}
	}
	for _, w := range where {
		if err := s.open(ctx, w, o, t); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *sockets) open(ctx context.Context, where string, o listen.UnixOptions, t *tls.Config) error {
	if address, ok := strings.CutPrefix(where, "tcp:"); ok {
		l, err := listen.TCP(ctx, address, t, s.far)
		if err == nil {
			s.list, s.tcp = append(s.list, l), true
		}
		return err
	}
	o.Path, _ = strings.CutPrefix(strings.TrimPrefix(where, "unix"), ":")
	u, err := listen.ListenUnix(ctx, o)
	if err == nil {
		s.list, s.unix = append(s.list, s.local.Listener(u)), append(s.unix, u)
	}
	return err
}

// links returns the links to ports of sandboxes, at the first TCP socket or at a proxy; nil without --port-host.
func (s *sockets) links(c *config.Config) (*links.Links, error) {
	site, err := c.HTTP.Site()
	if site == nil || err != nil {
		return nil, err
	}
	for _, l := range s.list {
		if tcp, ok := l.Addr().(*net.TCPAddr); ok && !site.Complete() {
			site.At(tcp.Port, c.Sockets.TLS.Cert != "")
		}
	}
	if !site.Complete() {
		return nil, errors.New("--port-host: no browser reaches a Unix socket; add --listen tcp:HOST:PORT, or write " +
			"https://NAME for a proxy in front of it")
	}
	return links.New(site), nil
}

// close closes all listeners and removes the paths of Unix sockets.
func (s *sockets) close() error {
	var errs []error
	for _, l := range s.list {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	for _, u := range s.unix {
		errs = append(errs, u.Remove())
	}
	s.list, s.unix = nil, nil
	return errors.Join(errs...)
}

// names returns the addresses of the sockets, for the log.
func (s *sockets) names() (list []string) {
	for _, l := range s.list {
		list = append(list, l.Addr().Network()+":"+l.Addr().String())
	}
	return list
}
