package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"sync"
	"unicode/utf8"

	"brig/brigd/job"
	"brig/internal/text"
	"brig/internal/words"
	"brig/nsjail"
)

// output processes the two output streams of a run. Each passes through a filter, and is then kept as head and tail or
// streamed to the caller.
type output struct {
	filters [2]*text.Filter
	kept    [2]keeper
	filter  text.Options
	last    *text.Capture // of stderr
}

// keeper takes a filtered stream: a text.Capture, or pieces.
type keeper interface {
	io.Writer
	fmt.Stringer
	Dropped() int64
}

// newOutput sets a Job's output streams. A limit of 0 means no limit.
func newOutput(j *job.Job, r *Request, limit nsjail.Bytes, stream func(Event)) *output {
	secrets := slices.Sorted(maps.Values(r.Secrets))
	o := &output{last: text.NewCapture(hintSize), filter: text.Options{Set: text.NewSet(secrets),
		StripANSI: r.StripANSI || r.Strip == "ansi", StripAll: r.Strip == "all"}}
	begin := &beginning{stream: stream, id: j.ID}
	if stream == nil {
		begin.stream = r.Watch
	}
	for i, kind := range []string{"stdout", "stderr"} {
		if stream != nil {
			o.kept[i] = &pieces{kind: kind, to: begin, left: cmp.Or(int64(limit), math.MaxInt64)}
		} else {
			o.kept[i] = text.NewCapture(int64(limit))
		}
		to := io.Writer(o.kept[i])
		if stream == nil && r.Watch != nil {
			to = io.MultiWriter(to, &pieces{kind: kind, to: begin, left: math.MaxInt64})
		}
		if kind == "stderr" {
			to = io.MultiWriter(to, o.last)
		}
		o.filters[i] = text.New(to, o.filter)
	}
	j.Stdout, j.Stderr = o.filters[0], o.filters[1]
	if len(secrets) > 0 {
		j.Redact = o.clean
	}
	if begin.stream != nil {
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
	r.Stdout, r.Stderr = o.kept[0].String(), o.kept[1].String()
	if t := (Truncated{o.kept[0].Dropped(), o.kept[1].Dropped()}); t != (Truncated{}) {
		r.Truncated = &t
	}
}

// redact masks the secrets in the other fields of a Response that a payload can influence.
func (o *output) redact(j *job.Job, r *Response) {
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
	for i := range r.Denials {
		d := &r.Denials[i]
		d.Name, d.Why = o.clean(d.Name), words.Plain(o.clean(d.Why.String()))
		d.Fix = words.Plain(o.clean(d.Fix.In(inRequest)))
	}
	for i := range r.Hints { // they name processes, which choose their names
		r.Hints[i] = o.clean(r.Hints[i])
	}
	if len(r.Network) == 0 {
		return
	}
	var summary any
	err := json.Unmarshal(r.Network, &summary)
	if err == nil {
		r.Network, err = json.Marshal(o.cleanJSON(summary))
	}
	if err != nil {
		r.Network = nil // cannot happen: it was plain data
	}
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
	left    int64 // bytes
	dropped int64
}

func (p *pieces) Write(b []byte) (int, error) {
	n := len(b)
	if int64(n) > p.left {
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

// String returns "": the caller has had the stream.
func (p *pieces) String() string { return "" }

// Dropped returns the number of bytes that were not passed on.
func (p *pieces) Dropped() int64 { return p.dropped }
