package queue

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Queue is a connection to the queue. Its methods may be called from several goroutines.
type Queue struct {
	o       Options
	nc      *nats.Conn
	js      jetstream.JetStream
	runs    jetstream.Stream
	results jetstream.KeyValue
	revoked jetstream.KeyValue
	files   jetstream.ObjectStore // of requests
	large   jetstream.ObjectStore // of results, which are kept as long as their records
	snaps   jetstream.ObjectStore // of snapshots
	present jetstream.KeyValue    // the names of workers that live
	own     *Sandboxes            // of this process; nil without
	ackWait time.Duration
	rates   rates
	kept    kept
	front   atomic.Pointer[Front] // of this process, or nil
}

// noStorage is the server's code for a stream whose bytes it could not keep.
const noStorage = 10047

// startTime is how long the servers may take to be usable.
const startTime = 30 * time.Second

// Files of a brigd-queue in its directory: its socket, and the password of its local user.
const (
	SocketFile = "socket"
	SecretFile = "secret"
	LocalUser  = "brig-local"
)

// Connect connects to the queue and makes what it lacks. An existing queue is checked.
func Connect(ctx context.Context, o Options) (*Queue, error) {
	q := &Queue{o: o}
	for at := range strings.SplitSeq(o.URL, ",") {
		if _, err := url.Parse(strings.TrimSpace(at)); err != nil { // the error has the password
			return nil, errors.New("an address of the queue is no URL; write nats://USER:PASSWORD@HOST:PORT, with %2F for " +
				"/ and %25 for % in a password")
		}
	}
	opts, err := q.options()
	if err != nil {
		return nil, err
	}
	at := o.URL
	if strings.HasPrefix(at, "unix:") {
		at = "nats://localhost" // not used: unixServer connects
	}
	if q.nc, err = nats.Connect(at, opts...); err != nil {
		return nil, fmt.Errorf("the queue at %s cannot be reached: %w; start its server, or correct the address",
			q.where(), err)
	}
	if q.js, err = jetstream.New(q.nc, jetstream.WithDefaultTimeout(5*time.Second)); err == nil {
		err = q.makeSoon(ctx)
	}
	if err != nil {
		q.nc.Close()
		return nil, err
	}
	return q, nil
}

// Close closes the connection.
func (q *Queue) Close() { q.nc.Close() }

// makeSoon makes what the queue lacks. A cluster that has just been started needs some seconds to elect its leaders.
func (q *Queue) makeSoon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		try, end := context.WithTimeout(ctx, soon) // a call has no answer while there is no leader
		err := q.make(try)
		end()
		if api, ok := errors.AsType[*jetstream.APIError](err); ok && api.ErrorCode == noStorage && q.o.Store > 0 {
			q.o.Store = -1 // its configuration keeps less than was thought
			continue
		}
		var wrong *layoutError
		if err == nil || errors.As(err, &wrong) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the queue at %s cannot be used: %w; see the log of its server", q.where(), err)
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// where returns the addresses without users: one without a password is a token.
func (q *Queue) where() string {
	var list []string
	for at := range strings.SplitSeq(q.o.URL, ",") {
		if u, err := url.Parse(strings.TrimSpace(at)); err == nil {
			u.User = nil
			list = append(list, u.String())
		}
	}
	return strings.Join(list, ",")
}

// options returns the client's options. A client that has lost its server tries again for ever.
func (q *Queue) options() ([]nats.Option, error) {
	o, log := &q.o, q.o.Logger
	opts := []nats.Option{nats.Name("brigd " + o.Name), nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 500*time.Millisecond), nats.Timeout(5 * time.Second),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2), nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(c *nats.Conn, err error) {
			if !c.IsClosed() {
				log.Warn("the queue's server is lost", "error", err)
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) {
			q.doubt()
			log.Info("the queue's server is back", "server", c.ConnectedServerName())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn("the queue", "error", err) })}
	if dir, ok := strings.CutPrefix(o.URL, "unix:"); ok {
		secret, err := os.ReadFile(filepath.Join(dir, SecretFile))
		if err != nil {
			return nil, fmt.Errorf("the secret of the queue's server: %w; start brigd-queue --dir %s first", err, dir)
		}
		return append(opts, nats.InProcessServer(unixServer(filepath.Join(dir, SocketFile))),
			nats.UserInfo(LocalUser, strings.TrimSpace(string(secret)))), nil
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
