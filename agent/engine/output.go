package engine

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"unicode/utf8"

	"brig/agent/text"
	"brig/nsjail"
)

// output processes the two output streams of a run. Each passes through a filter, and is then kept as head and tail or
// streamed to the caller.
type output struct {
	filters  [2]*text.Filter
	captures [2]*text.Capture // nil if streaming
	pieces   [2]*pieces       // nil if not streaming
	last     tail             // of stderr
	filter   text.Options
}

// newOutput sets a Job's output streams. A limit of 0 means no limit.
func newOutput(j *nsjail.Job, r *Request, limit nsjail.Bytes, stream func(Event)) *output {
	var secrets []string
	for _, value := range r.Secrets {
		secrets = append(secrets, value)
	}
	slices.Sort(secrets)
	o := &output{filter: text.Options{Set: text.NewSet(secrets),
		StripANSI: r.StripANSI || r.Strip == "ansi", StripAll: r.Strip == "all"}}
	begin := &beginning{stream: stream, id: j.ID}
	for i, kind := range []string{"stdout", "stderr"} {
		var to io.Writer
		if stream != nil {
			o.pieces[i] = &pieces{kind: kind, to: begin, bounded: limit > 0, left: int64(limit)}
			to = o.pieces[i]
		} else {
			o.captures[i] = text.NewCapture(int64(limit))
			to = o.captures[i]
		}
		if i == 1 {
			to = io.MultiWriter(to, &o.last)
		}
		o.filters[i] = text.New(to, o.filter)
	}
	j.Stdout, j.Stderr = o.filters[0], o.filters[1]
	if len(secrets) > 0 {
		j.Redact = o.clean
	}
	if stream != nil {
		j.Started = func(*nsjail.Cmd) { begin.send(Event{}) }
	}
	return o
}

// clean masks the secrets in a text.
func (o *output) clean(s string) string { return text.Clean(s, o.filter) }

// close writes what the filters have held back. If the run was cut off, it masks a possible beginning of a secret.
func (o *output) close(res *nsjail.Result) error {
	if res != nil && res.ExitCode >= 0 {
		return errors.Join(o.filters[0].Close(), o.filters[1].Close())
	}
	return errors.Join(o.filters[0].CloseCut(), o.filters[1].CloseCut())
}

// put sets the output fields of a Response.
func (o *output) put(r *Response) {
	var t Truncated
	if o.captures[0] != nil {
		r.Stdout, r.Stderr = o.captures[0].String(), o.captures[1].String()
		t = Truncated{o.captures[0].Dropped(), o.captures[1].Dropped()}
	} else {
		t = Truncated{o.pieces[0].dropped, o.pieces[1].dropped}
	}
	if t != (Truncated{}) {
		r.Truncated = &t
	}
}

// redact masks the secrets in the other fields of a Response that a payload can influence.
func (o *output) redact(j *nsjail.Job, r *Response) {
	if j.Redact == nil {
		return
	}
	if r.Error != nil {
		no := *r.Error
		no.Message = o.clean(no.Message)
		no.NextSteps = slices.Clone(no.NextSteps)
		for i, step := range no.NextSteps {
			no.NextSteps[i] = o.clean(step)
		}
		r.Error = &no
	}
	for i := range r.Violations {
		r.Violations[i].Detail = o.clean(r.Violations[i].Detail)
	}
	if len(r.Network) == 0 {
		return
	}
	var summary any
	if err := json.Unmarshal(r.Network, &summary); err == nil {
		r.Network, err = json.Marshal(o.cleanJSON(summary))
		if err == nil {
			return
		}
	}
	r.Network = nil // cannot happen: it was plain data
}

// cleanJSON masks the secrets in all strings of a JSON value, including keys.
func (o *output) cleanJSON(v any) any {
	switch v := v.(type) {
	case string:
		return o.clean(v)
	case []any:
		for i := range v {
			v[i] = o.cleanJSON(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key, value := range v {
			clean[o.clean(key)] = o.cleanJSON(value)
		}
		return clean
	}
	return v
}

// beginning passes on Events one at a time, "start" first. A payload may produce output before the engine knows that it
// has started.
type beginning struct {
	mu     sync.Mutex
	begun  bool
	id     string
	stream func(Event)
}

// send passes on an Event. For the zero Event it only sends "start".
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

// pieces passes on a stream as Events up to a limit, and counts the remaining bytes.
type pieces struct {
	kind    string
	to      *beginning
	bounded bool
	left    int64 // bytes left, if bounded
	dropped int64
}

func (p *pieces) Write(b []byte) (int, error) {
	n := len(b)
	if p.bounded && int64(n) > p.left {
		cut := p.left
		for cut > 0 && !utf8.RuneStart(b[cut]) {
			cut--
		}
		b, p.left = b[:cut], cut
		p.dropped += int64(n) - cut
	}
	p.left -= int64(len(b))
	if len(b) > 0 {
		p.to.send(Event{Type: p.kind, Data: string(b)})
	}
	return n, nil
}
