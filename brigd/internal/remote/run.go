package remote

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/admit"
	"brig/brigd/internal/front"
	"brig/brigd/job"
	"brig/nsjail"
)

const eventsType = "application/x-ndjson"

// endTime is how long a worker may take to end a run that was cancelled.
const endTime = 10 * time.Second

// Run runs a request in its sandbox, or at any worker if it has none.
func (e *Engine) Run(ctx context.Context, c engine.Caller, r *engine.Request,
	stream func(engine.Event)) *engine.Response {
	if r.Sandbox != "" && !front.ID.MatchString(r.Sandbox) {
		return e.runner.Run(ctx, c, r, stream) // there is none
	}
	a := &engine.Response{ID: r.ID}
	err := e.run(ctx, c, r, stream, a)
	if err == nil {
		return a
	}
	a = &engine.Response{ID: a.ID, Status: string(nsjail.StatusCancelled), ExitCode: -1}
	if no := front.AsRefusal(err); no != nil {
		if a.Status, a.Error = "refused", no; no.Layer == "jail" {
			a.Status = string(nsjail.StatusError)
		}
	} else if ctx.Err() == nil {
		a.Status, a.Error = string(nsjail.StatusError), &job.Refusal{Code: "internal", Layer: "jail", Message: err.Error()}
	}
	var later *admit.Rejected
	if errors.As(err, &later) {
		a.RetryAfter = later.RetryAfter
	}
	return a
}

func (e *Engine) run(ctx context.Context, c engine.Caller, r *engine.Request, stream func(engine.Event),
	a *engine.Response) (err error) {
	q := e.about(c, r.Sandbox, "POST", "/exec")
	q.run = r.ID
	if r.Sandbox == "" {
		q.path, q.sandbox = "run", false
		if q.worker, err = e.hub.Place(ctx); err != nil {
			return err
		}
	}
	if no := e.count(c); no != nil {
		return no
	}
	call, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	q.ctx = call
	if stream == nil && r.Watch == nil {
		defer context.AfterFunc(ctx, cancel)()
		if err := e.get(q, r, a); err != nil {
			return err
		}
	} else if err := e.events(ctx, cancel, q, r, stream, a); err != nil {
		return err
	}
	if q.worker != "" {
		a.Queue = &engine.Delivery{Worker: q.worker, Attempt: 1}
	}
	return nil
}

// events runs a request that is watched. If ctx ends, the run is cancelled; cancel ends the connection.
func (e *Engine) events(ctx context.Context, cancel func(), q *request, r *engine.Request,
	stream func(engine.Event), a *engine.Response) error {
	q.accept = eventsType
	if stream == nil {
		stream, q.whole = r.Watch, true
	}
	if r.StdinReader != nil {
		q.path += query("stdin", "stream")
	}
	if err := q.encode(r); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, cancel)
	defer func() { stop() }()
	w, err := e.do(q)
	if err != nil {
		return err
	}
	defer w.Body.Close()
	for in := json.NewDecoder(w.Body); ; {
		var v engine.Event
		if err := in.Decode(&v); err != nil {
			return e.lost(q, err)
		}
		switch v.Type {
		case "end":
			*a = *v.Result
			return nil
		case "start":
			a.ID = v.ID
			stop()
			own := &request{ctx: q.ctx, caller: q.caller, worker: q.worker, sandbox: q.sandbox, path: "runs/" + v.ID}
			stop = context.AfterFunc(ctx, func() {
				time.AfterFunc(endTime, cancel)
				end := *own
				if end.method = "DELETE"; e.get(&end, nil, nil) != nil {
					cancel()
				}
			})
			if r.StdinReader != nil {
				go e.feed(own, r)
			}
		}
		stream(v)
	}
}

// feed sends what is read of a run's input, after what the request itself has.
func (e *Engine) feed(q *request, r *engine.Request) {
	if _, err := io.CopyN(io.Discard, r.StdinReader, int64(len(r.Stdin))); err != nil {
		return // the run has ended
	}
	q.method, q.kind, q.body = "POST", "application/octet-stream", r.StdinReader
	q.path += "/stdin" + query("eof", "1")
	var taken struct{}
	_ = e.get(q, nil, &taken) // the run itself tells of its end
}
