package queue

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"brig/brigd/engine"
	"brig/brigd/job"
	"brig/nsjail"
)

// Headers of messages from a worker to a Front.
const (
	seqHeader     = "Brig-Seq"     // counts the messages of an attempt
	attemptHeader = "Brig-Attempt" // counts from 1
	doneHeader    = "Brig-Done"    // the revision of the result, which is the body, or empty if that is too large
)

// A worker may send this many events or bytes without an answer.
const (
	windowEvents = 64
	windowBytes  = 256 << 10
)

// arrival is a message of a worker, or the result of one in the same process.
type arrival struct {
	*nats.Msg
	result *engine.Response
}

// waiter is a request that waits for a run.
type waiter struct {
	stream  func(engine.Event)
	only    bool // the result has no output, which is in the events
	in      chan arrival
	attempt int
	seq     int  // of the next message
	broken  bool // a message of the stream is missing
	// of the record with the result
	revision uint64
	object   string
}

func (f *Front) wait(id string) *waiter {
	w := &waiter{in: make(chan arrival, 4*windowEvents)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiters[id] = append(f.waiters[id], w)
	return w
}

func (f *Front) forget(id string, w *waiter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rest := slices.DeleteFunc(f.waiters[id], func(o *waiter) bool { return o == w })
	if f.waiters[id] = rest; len(rest) == 0 {
		delete(f.waiters, id)
	}
}

// Waiting returns how many requests wait for runs of the queue.
func (f *Front) Waiting() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.waiters)
}

// arrived passes a message of a worker to those who wait for the run.
func (f *Front) arrived(m *nats.Msg) {
	f.pass(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], arrival{Msg: m})
}

// hand passes the result of a run to who waits for it. It reports whether there is one.
func (f *Front) hand(id string, a *engine.Response) bool { return f.pass(id, arrival{result: a}) }

func (f *Front) pass(id string, m arrival) (taken bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.waiters[id] {
		select {
		case w.in <- m:
			taken = true
		default: // the missing number shows it
		}
	}
	return taken
}

// await returns the result of a run, or the cause of ctx. The result is also looked for in the bucket: the message with
// it may be lost with a connection.
func (f *Front) await(ctx context.Context, id string, w *waiter) (*engine.Response, error) {
	look := time.Second
	timer := time.NewTimer(look)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case m := <-w.in:
			if m.result != nil {
				return m.result, nil
			}
			if a := f.take(w, m.Msg); a != nil {
				return a, nil
			}
			if m.Header.Get(doneHeader) != "" {
				timer.Reset(0)
			}
		case <-timer.C:
			r, revision, err := f.head(ctx, "r."+id)
			if err == nil && r != nil {
				err = f.load(ctx, r)
			}
			if err == nil && r != nil && r.Result != nil {
				w.revision, w.object = revision, r.Object
				if w.only && r.Result.Status != string(nsjail.StatusCancelled) && r.Result.Error == nil {
					return refused(id, broken), nil // it has no output, which was sent as events
				}
				return r.Result, nil
			}
			look = min(2*look, 15*time.Second)
			timer.Reset(look)
		}
	}
}

var broken = &job.Refusal{Code: "stream_broken", Layer: "queue",
	Message:   "a part of the run's output was lost on its way from the worker; the run has ended",
	NextSteps: []string{"run it again, if it may run twice", "ask for the whole answer instead of a stream"}}

// take processes a message, and returns the result if it is in it.
func (f *Front) take(w *waiter, m *nats.Msg) *engine.Response {
	attempt, _ := strconv.Atoi(m.Header.Get(attemptHeader))
	seq, _ := strconv.Atoi(m.Header.Get(seqHeader))
	if attempt < w.attempt {
		return nil // of a worker that was given up
	}
	if attempt > w.attempt { // a stream has another start event then
		w.attempt, w.seq, w.broken = attempt, 0, false
	}
	if seq != w.seq {
		w.broken = true
	}
	w.seq = seq + 1
	if done := m.Header.Get(doneHeader); done != "" {
		w.revision, _ = strconv.ParseUint(done, 10, 64)
		a := &engine.Response{}
		if len(m.Data) == 0 || json.Unmarshal(m.Data, a) != nil {
			return nil
		}
		if w.broken && w.only {
			return refused(a.ID, broken)
		}
		return a
	}
	var e engine.Event
	if w.stream != nil && !w.broken && json.Unmarshal(m.Data, &e) == nil {
		w.stream(e)
	}
	if m.Reply != "" {
		if err := m.Respond(nil); err != nil {
			f.o.Logger.Debug("a worker does not learn that its output was taken", "error", err)
		}
	}
	return nil
}
