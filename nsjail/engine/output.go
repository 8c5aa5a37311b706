package engine

import (
	"errors"
	"io"
	"slices"
	"sync"

	"brig/nsjail"
	"brig/nsjail/text"
)

// output is where a run's two streams go: each through a filter, and then to its head and tail or to the caller as it comes.
type output struct {
	filters  [2]*text.Filter
	captures [2]*text.Capture // nil in a stream
}

// newOutput sets a Job's streams up.
func newOutput(j *nsjail.Job, r *Request, limit nsjail.Bytes, stream func(Event)) *output {
	o := &output{}
	opts := text.Options{StripANSI: r.StripANSI}
	for _, secret := range r.Secrets {
		opts.Secrets = append(opts.Secrets, secret)
	}
	slices.Sort(opts.Secrets)
	begin := &beginning{stream: stream, id: j.ID}
	for i, kind := range []string{"stdout", "stderr"} {
		var to io.Writer
		if stream != nil {
			to = &pieces{kind: kind, to: begin}
		} else {
			o.captures[i] = text.NewCapture(int64(limit))
			to = o.captures[i]
		}
		o.filters[i] = text.New(to, opts)
	}
	j.Stdout, j.Stderr = o.filters[0], o.filters[1]
	if stream != nil {
		j.Started = func(*nsjail.Cmd) { begin.send(Event{}) }
	}
	return o
}

// close lets out what the filters have kept back.
func (o *output) close() error { return errors.Join(o.filters[0].Close(), o.filters[1].Close()) }

// put fills the streams of a Response.
func (o *output) put(r *Response) {
	if o.captures[0] == nil {
		return
	}
	r.Stdout, r.Stderr = o.captures[0].String(), o.captures[1].String()
	if t := (Truncated{o.captures[0].Dropped(), o.captures[1].Dropped()}); t != (Truncated{}) {
		r.Truncated = &t
	}
}

// beginning hands Events on, one at a time, with "start" as the first: a payload may have written before anybody could say
// that it runs.
type beginning struct {
	mu     sync.Mutex
	begun  bool
	id     string
	stream func(Event)
}

// send hands on an Event, or only the start if it is none.
func (b *beginning) send(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.begun {
		b.begun = true
		b.stream(Event{Type: "start", ID: b.id})
	}
	if e.Type != "" {
		b.stream(e)
	}
}

// pieces hands a stream on as Events.
type pieces struct {
	kind string
	to   *beginning
}

func (p *pieces) Write(b []byte) (int, error) {
	if len(b) > 0 {
		p.to.send(Event{Type: p.kind, Data: string(b)})
	}
	return len(b), nil
}
