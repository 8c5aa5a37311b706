package peers

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"

	"brig/brigd/internal/queue"
	"brig/brigd/internal/queue/retry"
	"brig/brigd/internal/queue/wire"
)

// yield is by how much each sandbox delays a worker's offer to take another one, and maxYield the most.
const yield, maxYield = 300 * time.Microsecond, 20 * time.Millisecond

// Listener serves HTTP to other brigds of the queue, by messages. It is a net.Listener.
type Listener struct {
	*Peers
	conns chan net.Conn
	ended context.Context
	end   context.CancelFunc

	listed bool // other brigds may reach it
}

// Serve returns the listener of this process. If there is room, other brigds may reach it: room returns how
// many sandboxes there are, and whether there may be one more.
func (q *Peers) Serve(room func() (count int, more bool)) (*Listener, error) {
	s := &Listener{Peers: q, conns: make(chan net.Conn)}
	s.ended, s.end = context.WithCancel(context.Background())
	q.own = s
	if room == nil {
		return s, nil
	}
	if err := s.register(); err != nil {
		return nil, err
	}
	s.listed = true
	go s.registerOften()
	if _, err := q.nc.Subscribe(wire.DialSubject+q.name, s.called); err != nil {
		return nil, err
	}
	_, err := q.nc.Subscribe(wire.PlaceSubject, func(m *nats.Msg) {
		if count, more := room(); more && s.ended.Err() == nil {
			time.AfterFunc(min(maxYield, time.Duration(count)*yield), func() {
				if err := m.Respond([]byte(q.name)); err != nil {
					q.log.Debug("room for a sandbox is not offered", "error", err)
				}
			})
		}
	})
	return s, err
}

// called takes a connection.
func (s *Listener) called(m *nats.Msg) {
	if m.Reply == "" || s.ended.Err() != nil {
		return
	}
	t, c, err := s.newTunnel(m.Reply)
	if err == nil {
		if err = t.send(kindOpen, nil); err == nil {
			go t.run()
			go s.take(c)
			return
		}
		t.end()
	}
	s.log.Warn("a brigd of the queue cannot be answered", "error", err)
}

// take hands a connection to HTTP.
func (s *Listener) take(c net.Conn) {
	select {
	case s.conns <- c:
	case <-s.ended.Done():
		_ = c.Close() // cannot fail
	}
}

// Accept implements net.Listener.
func (s *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.ended.Done():
		return nil, http.ErrServerClosed
	}
}

// Close implements net.Listener.
func (s *Listener) Close() error {
	if s.end(); s.listed {
		ctx, cancel := context.WithTimeout(context.Background(), retry.Soon)
		defer cancel()
		return s.present.Delete(ctx, s.name)
	}
	return nil
}

// Addr implements net.Listener.
func (s *Listener) Addr() net.Addr { return local{}.LocalAddr() }

func (s *Listener) register() error {
	return retry.Do(s.ended, retry.Patience, 0, func(ctx context.Context) error {
		_, err := s.present.PutString(ctx, s.name, "")
		return err
	})
}

// registerOften keeps the worker in the list of those that live.
func (s *Listener) registerOften() {
	for {
		select {
		case <-s.ended.Done():
			return
		case <-time.After(queue.KeepWorker / 3):
			if err := s.register(); err != nil && s.ended.Err() == nil {
				s.log.Warn("the worker's sandboxes are not listed", "error", err)
			}
		}
	}
}
