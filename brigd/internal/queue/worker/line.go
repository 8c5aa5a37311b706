package worker

import (
	"encoding/json"
	"log/slog"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"brig/brigd/engine"
	"brig/brigd/internal/queue/record"
	"brig/brigd/internal/queue/wire"
)

// line goes from an attempt to the front that waits for its run.
type line struct {
	nc      *nats.Conn
	to      string // its subject
	attempt int
	seq     int // of the next message
	owed    int // events since the front's last answer
	bytes   int
}

// event sends a piece of the output, and waits for an answer where the window is full.
func (l *line) event(e engine.Event) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	m := l.message(text)
	l.owed, l.bytes = l.owed+1, l.bytes+len(text)
	if l.owed < wire.WindowEvents && l.bytes < wire.WindowBytes {
		return l.nc.PublishMsg(m)
	}
	l.owed, l.bytes = 0, 0
	_, err = l.nc.RequestMsg(m, 30*time.Second)
	return err
}

// message returns the next message to the front.
func (l *line) message(body []byte) *nats.Msg {
	m := &nats.Msg{Subject: l.to, Data: body, Header: nats.Header{}}
	m.Header.Set(wire.Attempt, strconv.Itoa(l.attempt))
	m.Header.Set(wire.Seq, strconv.Itoa(l.seq))
	l.seq++
	return m
}

// tell sends the result, and the revision of its record. The front looks for one itself that is too large.
func (l *line) tell(a *engine.Response, revision uint64, bounds *record.Bounds, log *slog.Logger) {
	text, err := json.Marshal(a)
	if err != nil || !bounds.Fit(text) {
		text = nil
	}
	m := l.message(text)
	m.Header.Set(wire.Done, strconv.FormatUint(revision, 10))
	if err := l.nc.PublishMsg(m); err != nil {
		log.Debug("the front looks for the result itself", "run", a.ID, "error", err)
	}
}
