package queue

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// heat marks all lanes as worth a look.
func (w *Worker) heat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range lanes() {
		w.hot[l] = true
	}
}

// listen lets the server tell when a run comes to a lane. One may have come before.
func (w *Worker) listen(l lane) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listens[l] {
		return
	}
	_, err := w.nc.Subscribe(wakeSubject+l.token()+".>", func(m *nats.Msg) {
		if w.came(l, tenantOf(m.Subject)) {
			w.wake(l, m.Sub)
		}
	})
	if w.listens[l] = err == nil; err == nil {
		w.stir(l)
	}
}

// wake marks a lane that a run has come to. If a look at it is due anyway, as in a long queue, nothing more is told.
func (w *Worker) wake(l lane, s *nats.Subscription) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hot[l] {
		w.listens[l] = false
		_ = s.Unsubscribe() // fails if it was done before
	}
	w.stir(l)
}

// stir lets the loop look at a lane.
func (w *Worker) stir(l lane) {
	w.hot[l] = true
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// take takes a run from the next lane that has one, and starts it in the place that the caller has made. It returns
// false if there is none.
func (w *Worker) take() bool {
	w.probe()
	for _, l := range w.order() {
		if m := w.takeFrom(l); m != nil {
			w.taken.Add(1)
			w.mu.Lock()
			w.turn++
			w.served[l] = w.turn
			w.mu.Unlock()
			w.hold(tenantOf(m.Subject))
			w.going.Add(1)
			select {
			case w.idle <- m:
			default:
				go w.serve(m)
			}
			return true
		}
	}
	return false
}

// takeFrom takes a run from a lane, and holds a slot for its tenant. It leaves those whose tenants have their parts.
func (w *Worker) takeFrom(l lane) *nats.Msg {
	for {
		w.mark(l, false) // before the look, so that no wake is lost
		m, more, err := w.next(l)
		if err != nil {
			w.Queue.o.Logger.Debug("a lane cannot be read", "lane", l.consumer(), "error", err)
			return nil
		}
		if more {
			w.mark(l, true)
		} else {
			w.listen(l)
		}
		if m != nil && w.full(tenantOf(m.Subject)) {
			w.putBack(m)
			continue
		}
		w.found(l, m != nil)
		return m
	}
}

// serve handles deliveries until the worker ends. A goroutine is used again, since each new one has to grow its stack.
func (w *Worker) serve(m *nats.Msg) {
	for {
		tenant := tenantOf(m.Subject)
		free := sync.OnceFunc(func() { w.release(tenant); <-w.slots })
		w.handle(m, free)
		free()
		w.going.Done()
		select {
		case m = <-w.idle:
		case <-w.pull.Done():
			return
		}
	}
}

// firsts are the classes that are first in turn: most often the highest, and each of the others often enough to go on
// while those before it never end. No two of the others follow each other closely.
var firsts = [16]int{2: 1, 5: 2, 8: 1, 11: 1, 14: 2}

// order returns the lanes that are worth a look: those of the class whose turn it is, then the others, the highest
// first, and in a class first those that were served the longest ago.
func (w *Worker) order() []lane {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := slices.DeleteFunc(lanes(), func(l lane) bool { return !w.hot[l] || w.shares.shut(l) })
	first := firsts[w.turn%len(firsts)]
	place := func(l lane) int {
		if r := rank(l); r != first {
			return r + 1
		}
		return 0
	}
	slices.SortStableFunc(list, func(a, b lane) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(w.served[a], w.served[b]))
	})
	return list
}

// rank returns the place of a lane's class, the highest class first.
func rank(l lane) int {
	for i, c := range classes {
		if c.name == l.class {
			return i
		}
	}
	return len(classes)
}

// mark notes whether a lane is worth a look.
func (w *Worker) mark(l lane, hot bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hot[l] = hot
}

// ask asks for one message without a wait. It expires, in nanoseconds: otherwise the server would keep a request for a
// message that it counts and then does not have, and answer it long after we have given up.
var ask = []byte(`{"batch":1,"no_wait":true,"expires":20000000}`)

// next asks the server for one message of a lane. m is nil if there is none; more is false if there is none after it. A
// message comes under its own subject, so that nats.Conn.Request could not match it to the request. One that comes too
// late is taken by the next call.
func (w *Worker) next(l lane) (m *nats.Msg, more bool, err error) {
	w.asked = (w.asked + 1) % 16 // none is so late; of few subjects, the server remembers who wants them
	reply := w.inbox + strconv.Itoa(w.asked)
	if err := w.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+runsStream+"."+l.consumer(), reply, ask); err != nil {
		return nil, false, err
	}
	for end := time.Now().Add(soon); ; {
		if m, err = w.answers.NextMsg(time.Until(end)); err != nil {
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
