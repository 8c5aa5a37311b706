package queue

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"brig/brigd/engine"
)

// event sends a piece of the output, and waits for an answer where the window is full.
func (d *delivery) event(e engine.Event) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	m := d.message(text)
	d.owed, d.bytes = d.owed+1, d.bytes+len(text)
	if d.owed < windowEvents && d.bytes < windowBytes {
		return d.nc.PublishMsg(m)
	}
	d.owed, d.bytes = 0, 0
	_, err = d.nc.RequestMsg(m, 30*time.Second)
	return err
}

// message returns the next message to the Front.
func (d *delivery) message(body []byte) *nats.Msg {
	m := &nats.Msg{Subject: d.j.Reply, Data: body, Header: nats.Header{}}
	m.Header.Set(attemptHeader, strconv.Itoa(d.tries))
	m.Header.Set(seqHeader, strconv.Itoa(d.seq))
	d.seq++
	return m
}

// tell sends the result to the Front, and the revision of its record.
func (d *delivery) tell(a *engine.Response, revision uint64) {
	text, err := json.Marshal(a)
	if err != nil || !d.fits(text) {
		text = nil
	}
	m := d.message(text)
	m.Header.Set(doneHeader, strconv.FormatUint(revision, 10))
	if err := d.nc.PublishMsg(m); err != nil {
		d.Queue.o.Logger.Debug("the front looks for the result itself", "run", d.j.ID, "error", err)
	}
}
