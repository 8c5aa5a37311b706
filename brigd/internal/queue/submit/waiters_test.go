package submit

import (
	"testing"

	"github.com/nats-io/nats.go"

	"brig/brigd/engine"
	"brig/brigd/internal/queue/wire"
)

// A request takes the messages of the newest attempt, in their order. A stream with a gap is broken; the whole answer
// is good nevertheless.
func TestWhatAWorkerSends(t *testing.T) {
	m := func(attempt, seq, done, body string) *nats.Msg {
		h := nats.Header{wire.Attempt: {attempt}, wire.Seq: {seq}}
		if done != "" {
			h.Set(wire.Done, done)
		}
		return &nats.Msg{Header: h, Data: []byte(body)}
	}
	const event, result = `{"type":"stdout","data":"x"}`, `{"id":"run_1"}`
	for what, c := range map[string]struct {
		in     []*nats.Msg
		only   bool
		events int
		code   string // of the result's error
	}{
		"in order":          {[]*nats.Msg{m("1", "0", "", event), m("1", "1", "", event), m("1", "2", "7", result)}, true, 2, ""},
		"a gap in a stream": {[]*nats.Msg{m("1", "0", "", event), m("1", "2", "7", result)}, true, 1, "stream_broken"},
		"a gap in a watch":  {[]*nats.Msg{m("1", "0", "", event), m("1", "2", "7", result)}, false, 1, ""},
		"another attempt":   {[]*nats.Msg{m("1", "1", "", event), m("2", "0", "", event), m("2", "1", "7", result)}, true, 1, ""},
		"of a lost worker":  {[]*nats.Msg{m("2", "0", "", event), m("1", "9", "", event), m("2", "1", "7", result)}, true, 1, ""},
	} {
		events := 0
		w := &waiter{only: c.only, stream: func(engine.Event) { events++ }}
		var a *engine.Response
		for _, in := range c.in {
			a = w.take(in)
		}
		if a == nil || events != c.events || w.revision != 7 || (a.Error == nil) != (c.code == "") ||
			a.Error != nil && a.Error.Code != c.code {
			t.Errorf("%s: %d events, revision %d, %+v", what, events, w.revision, a)
		}
	}
}
