package worker

import (
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"brig/brigd/internal/queue/lane"
	"brig/brigd/internal/queue/retry"
	"brig/brigd/internal/queue/wire"
)

// ask asks for one message without a wait. It expires, in nanoseconds: otherwise the server would keep a request for a
// message that it counts and then does not have, and answer it long after we have given up.
var ask = []byte(`{"batch":1,"no_wait":true,"expires":20000000}`)

// puller asks the server for messages. Only the loop calls it.
type puller struct {
	nc      *nats.Conn
	inbox   string
	answers *nats.Subscription // to requests for runs
	asked   int
}

func newPuller(nc *nats.Conn) (p *puller, err error) {
	p = &puller{nc: nc, inbox: nc.NewInbox() + "."}
	p.answers, err = nc.SubscribeSync(p.inbox + "*")
	return p, err
}

// next asks the server for one message of a lane. m is nil if there is none; more is false if there is none after it. A
// message comes under its own subject, so that nats.Conn.Request could not match it to the request. One that comes too
// late is taken by the next call.
func (p *puller) next(l lane.Lane) (m *nats.Msg, more bool, err error) {
	p.asked = (p.asked + 1) % 16 // none is so late; of few subjects, the server remembers who wants them
	reply := p.inbox + strconv.Itoa(p.asked)
	if err := p.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+wire.Runs+"."+l.Consumer(), reply, ask); err != nil {
		return nil, false, err
	}
	for end := time.Now().Add(retry.Soon); ; {
		if m, err = p.answers.NextMsg(time.Until(end)); err != nil {
			return nil, false, err
		}
		status := m.Header.Get("Status")
		if status == "" {
			break
		}
		switch {
		case m.Subject != reply: // an answer to an earlier request
		case status == "404", status == "408":
			return nil, false, nil
		default:
			return nil, false, errors.New(status + " " + m.Header.Get("Description"))
		}
	}
	meta, err := m.Metadata()
	if err != nil {
		return nil, false, err
	}
	return m, meta.NumPending > 0, nil
}

// ears listen to lanes that were empty: the server tells of runs that come.
type ears struct {
	nc    *nats.Conn
	board *lane.Board

	mu sync.Mutex
	on map[lane.Lane]bool
}

// listen lets the server tell when a run comes to a lane. One may have come before.
func (e *ears) listen(l lane.Lane) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.on[l] {
		return
	}
	_, err := e.nc.Subscribe(wire.WakeSubject+l.Token()+".>", func(m *nats.Msg) {
		if e.board.Came(l, wire.TenantOf(m.Subject)) {
			e.wake(l, m.Sub)
		}
	})
	if err != nil {
		return
	}
	if e.on == nil {
		e.on = map[lane.Lane]bool{}
	}
	e.on[l] = true
	e.board.Stir(l)
}

// wake marks a lane that a run has come to. If a look at it is due anyway, as in a long queue, nothing more is told.
func (e *ears) wake(l lane.Lane, s *nats.Subscription) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.board.Stir(l) {
		e.on[l] = false
		_ = s.Unsubscribe() // fails if it was done before
	}
}
