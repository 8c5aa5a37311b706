package peers

import (
	"context"
	"encoding/binary"
	"net"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// tunnel is one end of a connection over messages. What HTTP writes to the other end of its pipe is sent in pieces, and
// pieces that arrive are written there. Each message begins with its kind, and has as its reply subject the one where
// the sender listens, so that the server tells a sender whose peer is lost.
type tunnel struct {
	nc        *nats.Conn
	silence   time.Duration // after which the peer is lost
	own, peer string        // subjects: where this end listens, and where the other one does
	sub       *nats.Subscription
	far       net.Conn // of the pipe

	in       chan []byte   // pieces that have arrived
	owed     chan struct{} // has a value for each piece that the peer has not taken yet
	opened   chan struct{} // closed when the peer has answered
	end      func()
	ended    context.Context
	sent     uint32 // counts pieces
	arrived  uint32
	heard    atomic.Int64 // when something has arrived: Unix time in nanoseconds
	complete bool         // the peer has sent all
}

// Kinds of messages.
const (
	kindOpen  = 'o' // asks for a connection, or answers that there is one
	kindPiece = 'd' // has its number in four bytes, and then bytes
	kindTaken = 'a' // a piece was taken
	kindEnd   = 'e' // no piece follows
	kindBeat  = 'b' // the sender lives
)

const (
	pieceSize = 64 << 10 // bytes
	window    = 16       // pieces that may be on their way, or wait to be taken
	maxBeat   = time.Second
)

// newTunnel returns a tunnel, and the connection for HTTP that goes through it. Without an error it has to be ended.
func (q *Peers) newTunnel(peer string) (*tunnel, net.Conn, error) {
	near, far := net.Pipe()
	t := &tunnel{nc: q.nc, silence: q.silence, own: q.nc.NewInbox(), peer: peer, far: far, in: make(chan []byte, window),
		owed: make(chan struct{}, window), opened: make(chan struct{})}
	t.ended, t.end = context.WithCancel(context.Background())
	t.heard.Store(time.Now().UnixNano())
	var err error
	if t.sub, err = q.nc.Subscribe(t.own, t.receive); err != nil {
		return nil, nil, err
	}
	context.AfterFunc(t.ended, func() {
		_ = far.Close()         // cannot fail
		_ = t.sub.Unsubscribe() // fails only on a closed connection
	})
	return t, local{near}, nil
}

// local is a connection that counts as one of this machine: who may send messages is trusted as a local user is.
type local struct{ net.Conn }

// LocalAddr implements net.Conn.
func (local) LocalAddr() net.Addr { return &net.UnixAddr{Name: "queue", Net: "unix"} }

// send sends a message to the peer. If the peer has no subscription any more, the server answers "no responders".
func (t *tunnel) send(kind byte, body []byte) error {
	return t.nc.PublishRequest(t.peer, t.own, append([]byte{kind}, body...))
}

// receive processes a message. It never blocks.
func (t *tunnel) receive(m *nats.Msg) {
	if m.Header.Get("Status") != "" || len(m.Data) == 0 { // the server: nobody is there
		if !t.complete {
			t.end()
		}
		return
	}
	t.heard.Store(time.Now().UnixNano())
	switch m.Data[0] {
	case kindOpen:
		if t.peer == "" {
			t.peer = m.Reply
			close(t.opened)
		}
	case kindPiece:
		if t.complete || len(m.Data) < 5 || binary.BigEndian.Uint32(m.Data[1:]) != t.arrived || len(t.in) == window {
			t.end() // one is lost
			return
		}
		t.arrived++
		t.in <- m.Data[5:]
	case kindTaken:
		select {
		case <-t.owed:
		default:
		}
	case kindEnd:
		if !t.complete {
			t.complete = true
			close(t.in)
		}
	}
}

// run passes on what comes and goes until one end is closed, or lost.
func (t *tunnel) run() {
	go t.deliver()
	go t.beat()
	defer t.end()
	buf := make([]byte, 4+pieceSize)
	for {
		n, err := t.far.Read(buf[4:])
		if n > 0 {
			select {
			case t.owed <- struct{}{}:
			case <-t.ended.Done():
				return
			}
			binary.BigEndian.PutUint32(buf, t.sent)
			t.sent++
			if t.send(kindPiece, buf[:4+n]) != nil {
				return
			}
		}
		if err != nil {
			_ = t.send(kindEnd, nil) // it is lost with the connection, which the peer learns
			return
		}
	}
}

// deliver writes what has arrived to HTTP.
func (t *tunnel) deliver() {
	defer t.end()
	for {
		select {
		case p, ok := <-t.in:
			if !ok {
				return
			}
			if _, err := t.far.Write(p); err != nil {
				return
			}
			if t.nc.Publish(t.peer, []byte{kindTaken}) != nil {
				return
			}
		case <-t.ended.Done():
			return
		}
	}
}

// beat tells the peer that this end lives, and ends the tunnel if the peer is silent for as long as a worker may be.
func (t *tunnel) beat() {
	tick := time.NewTicker(min(maxBeat, t.silence/8))
	defer tick.Stop()
	for {
		select {
		case <-t.ended.Done():
			return
		case <-tick.C:
			if time.Since(time.Unix(0, t.heard.Load())) > t.silence || t.send(kindBeat, nil) != nil {
				t.end()
				return
			}
		}
	}
}
