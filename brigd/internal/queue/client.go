package queue

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"brig/brigd/internal/queue/gauge"
	"brig/brigd/internal/queue/server"
)

// where returns the addresses without users: one without a password is a token.
func (o *Options) where() string {
	var list []string
	for at := range strings.SplitSeq(o.URL, ",") {
		if u, err := url.Parse(strings.TrimSpace(at)); err == nil {
			u.User = nil
			list = append(list, u.String())
		}
	}
	return strings.Join(list, ",")
}

// client returns the client's options. A client that has lost its server tries again for ever.
func (o *Options) client(g *gauge.Gauge) ([]nats.Option, error) {
	log := o.Logger
	opts := []nats.Option{nats.Name("brigd " + o.Name), nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 500*time.Millisecond), nats.Timeout(5 * time.Second),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2), nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(c *nats.Conn, err error) {
			if !c.IsClosed() {
				log.Warn("the queue's server is lost", "error", err)
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) {
			g.Doubt()
			log.Info("the queue's server is back", "server", c.ConnectedServerName())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn("the queue", "error", err) })}
	if dir, ok := strings.CutPrefix(o.URL, "unix:"); ok {
		secret, err := os.ReadFile(filepath.Join(dir, server.SecretFile))
		if err != nil {
			return nil, fmt.Errorf("the secret of the queue's server: %w; start brigd-queue --dir %s first", err, dir)
		}
		return append(opts, nats.InProcessServer(unixServer(filepath.Join(dir, server.SocketFile))),
			nats.UserInfo(server.LocalUser, strings.TrimSpace(string(secret)))), nil
	}
	if o.Creds != "" {
		opts = append(opts, nats.UserCredentials(o.Creds))
	}
	if o.CA != "" {
		opts = append(opts, nats.RootCAs(o.CA))
	}
	if o.Cert != "" {
		opts = append(opts, nats.ClientCert(o.Cert, o.Key))
	}
	if !o.Plain && !Loopback(o.URL) {
		opts = append(opts, nats.Secure())
	} else if !o.Plain { // a server's other addresses may be off loopback, and the connection there without TLS
		opts = append(opts, nats.IgnoreDiscoveredServers())
	}
	return opts, nil
}

// Loopback reports whether all addresses of a list of URLs are of this machine.
func Loopback(urls string) bool {
	for _, at := range strings.Split(urls, ",") {
		u, err := url.Parse(strings.TrimSpace(at))
		if err != nil {
			return false
		}
		ip, err := netip.ParseAddr(u.Hostname())
		if u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}

// unixServer connects to the Unix socket of a brigd-queue.
type unixServer string

// InProcessConn implements nats.InProcessConnProvider.
func (s unixServer) InProcessConn() (net.Conn, error) {
	return net.DialTimeout("unix", string(s), 5*time.Second)
}
