package submit

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"brig/brigd/engine"
	"brig/brigd/internal/queue/record"
	"brig/brigd/internal/queue/wire"
	"brig/brigd/job"
)

// arrival is a message of a worker, or the result of one in the same process.
type arrival struct {
	*nats.Msg
	result *engine.Response
}

// waiter is a request that waits for a run.
type waiter struct {
	log     *slog.Logger
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

// waiters are the requests that wait for runs.
type waiters struct {
	log *slog.Logger
	mu  sync.Mutex
	of  map[string][]*waiter // by the run's id
}

func newWaiters(log *slog.Logger) waiters { return waiters{log: log, of: map[string][]*waiter{}} }

func (s *waiters) wait(id string) *waiter {
	w := &waiter{log: s.log, in: make(chan arrival, 4*wire.WindowEvents)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[id] = append(s.of[id], w)
	return w
}

func (s *waiters) forget(id string, w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := slices.DeleteFunc(s.of[id], func(o *waiter) bool { return o == w })
	if s.of[id] = rest; len(rest) == 0 {
		delete(s.of, id)
	}
}

// count returns how many runs are waited for.
func (s *waiters) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.of)
}

// arrived passes a message of a worker to those who wait for the run.
func (s *waiters) arrived(m *nats.Msg) {
	s.pass(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], arrival{Msg: m})
}

// hand passes the result of a run to who waits for it. It reports whether there is one.
func (s *waiters) hand(id string, a *engine.Response) bool { return s.pass(id, arrival{result: a}) }

func (s *waiters) pass(id string, m arrival) (taken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.of[id] {
		select {
		case w.in <- m:
			taken = true
		default: // the missing number shows it
		}
	}
	return taken
}

var broken = &job.Refusal{Code: "stream_broken", Layer: "queue",
	Message:   "a part of the run's output was lost on its way from the worker; the run has ended",
	NextSteps: []string{"run it again, if it may run twice", "ask for the whole answer instead of a stream"}}

// take processes a message, and returns the result if it is in it.
func (w *waiter) take(m *nats.Msg) *engine.Response {
	attempt, _ := strconv.Atoi(m.Header.Get(wire.Attempt))
	seq, _ := strconv.Atoi(m.Header.Get(wire.Seq))
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
	if done := m.Header.Get(wire.Done); done != "" {
		w.revision, _ = strconv.ParseUint(done, 10, 64)
		a := &engine.Response{}
		if len(m.Data) == 0 || json.Unmarshal(m.Data, a) != nil {
			return nil
		}
		if w.broken && w.only {
			return record.Refused(a.ID, broken)
		}
		return a
	}
	var e engine.Event
	if w.stream != nil && !w.broken && json.Unmarshal(m.Data, &e) == nil {
		w.stream(e)
	}
	if m.Reply != "" {
		if err := m.Respond(nil); err != nil {
			w.log.Debug("a worker does not learn that its output was taken", "error", err)
		}
	}
	return nil
}
