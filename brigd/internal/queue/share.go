package queue

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// shares counts the runs of each tenant that a worker has taken. One tenant has a part of the slots, as it has of the
// places: a lane with a tenant who has his part is closed, unless it has a run of somebody else. Worker.mu guards it.
type shares struct {
	most   int // slots of one tenant; 0 is no bound
	held   map[string]int
	probes map[lane]*probe // of closed lanes
}

// probe is what is known of a closed lane.
type probe struct {
	open  bool          // it has a run of somebody else, which is looked for
	next  time.Time     // when it may be looked at again
	pause time.Duration // after a look in vain
}

// slotsOfOne returns how many slots one tenant may have, or 0 if all: then nothing is kept for others.
func slotsOfOne(o WorkerOptions) int {
	if o.Share < o.Slots {
		return o.Share
	}
	return 0
}

const (
	// leftFor is how long a run is left in the queue whose tenant has his part.
	leftFor            = 2 * time.Second
	minProbe, maxProbe = time.Second, 16 * time.Second
)

// tenantOf returns the tenant in a message's subject.
func tenantOf(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// has reports whether runs of a tenant come to the lane.
func (l lane) has(tenant string) bool { return l.number == numberOf(tenant, classes[rank(l)].lanes) }

// closed reports whether a tenant of the lane has all that he may have.
func (s *shares) closed(l lane) bool {
	for tenant, n := range s.held {
		if s.most > 0 && n >= s.most && l.has(tenant) {
			return true
		}
	}
	return false
}

// shut reports whether nothing is to be taken from a lane now.
func (s *shares) shut(l lane) bool {
	p := s.probes[l]
	if s.closed(l) {
		return p == nil || !p.open
	}
	if p != nil {
		p.open = false // next stays: a lane that closes with each run is not looked at each time
	}
	return false
}

// full reports whether a tenant has all that he may have.
func (w *Worker) full(tenant string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shares.most > 0 && w.shares.held[tenant] >= w.shares.most
}

// hold counts a run of a tenant's, until release.
func (w *Worker) hold(tenant string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shares.held == nil {
		w.shares.held, w.shares.probes = map[string]int{}, map[lane]*probe{}
	}
	w.shares.held[tenant]++
}

// release ends hold, and lets the loop look at the lanes that were closed.
func (w *Worker) release(tenant string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.shares.most > 0 && w.shares.held[tenant] >= w.shares.most
	if w.shares.held[tenant]--; w.shares.held[tenant] == 0 {
		delete(w.shares.held, tenant)
	}
	for _, l := range lanes() {
		if was && l.has(tenant) {
			w.stir(l)
		}
	}
}

// more reports whether a tenant has more runs in a lane than he has here, and may have one here.
func (w *Worker) more(tenant string, runs uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := w.shares.held[tenant]
	return held < w.shares.most && runs > uint64(held)
}

// came notes that a run has come to a lane, and reports whether its tenant may have it here.
func (w *Worker) came(l lane, tenant string) bool {
	if w.full(tenant) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.shares.probes[l]; p != nil && w.shares.elsewhose(l, tenant) {
		p.next = time.Time{}
	}
	return true
}

// elsewhose reports whether the lane may be closed by another tenant than this one: only then has a run of his to be
// looked for there, which asks the server for all subjects of the lane.
func (s *shares) elsewhose(l lane, tenant string) bool {
	for other := range s.held {
		if other != tenant && l.has(other) {
			return true
		}
	}
	return false
}

// probe looks whether closed lanes that are worth a look have runs of others, and opens those.
func (w *Worker) probe() {
	now := time.Now()
	var list []lane
	w.mu.Lock()
	for _, l := range lanes() {
		if w.hot[l] && w.shares.shut(l) {
			if p := w.shares.probes[l]; p == nil || now.After(p.next) {
				list = append(list, l)
			}
		}
	}
	w.mu.Unlock()
	for _, l := range list {
		others := w.others(l)
		w.mu.Lock()
		if w.shares.closed(l) {
			p := w.shares.probes[l]
			if p == nil {
				p = &probe{pause: minProbe}
				w.shares.probes[l] = p
			}
			p.open, p.next = others, now.Add(p.pause)
		}
		w.mu.Unlock()
	}
}

// others reports whether a lane has runs of tenants who may have more.
func (w *Worker) others(l lane) bool {
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	counts, err := w.count(ctx, l.token()+".*")
	if err != nil {
		w.Queue.o.Logger.Debug("a lane cannot be read", "lane", l.consumer(), "error", err)
		return false
	}
	for subject, n := range counts {
		if w.more(tenantOf(subject), n) {
			return true
		}
	}
	return false
}

// found notes the end of a look at a lane that was opened: whether there was a run of somebody else. After a look in
// vain, since such a run goes on elsewhere, the next one is later.
func (w *Worker) found(l lane, run bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.shares.probes[l]
	if p == nil {
		return
	}
	p.open = false
	if p.pause = min(2*p.pause, maxProbe); run {
		p.pause = minProbe
		p.next = time.Time{} // there may be more
		w.stir(l)
	}
}

// count returns how many messages the stream of runs has by subject, of those that match.
func (q *Queue) count(ctx context.Context, subjects string) (map[string]uint64, error) {
	info, err := q.runs.Info(ctx, jetstream.WithSubjectFilter(runsSubject+subjects))
	if err != nil {
		return nil, err
	}
	return info.State.Subjects, nil
}

// leftKey is the key of how often a message was left in the queue without a try.
func leftKey(number uint64) string { return "n." + strconv.FormatUint(number, 10) }

// putBack leaves a run in the queue whose tenant has his part. That is noted, since it is no try.
func (w *Worker) putBack(m *nats.Msg) {
	meta, err := m.Metadata()
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), soon)
		defer cancel()
		left := strconv.FormatUint(meta.NumDelivered, 10)
		if meta.NumDelivered > 1 {
			left = strconv.FormatUint(w.left(ctx, meta.Sequence.Stream)+1, 10)
		}
		if _, err = w.results.PutString(ctx, leftKey(meta.Sequence.Stream), left); err == nil {
			err = m.NakWithDelay(leftFor)
		}
	}
	if err != nil { // it is delivered again when the server has waited for it
		w.Queue.o.Logger.Debug("a run is not left in the queue at once", "error", err)
	}
}

// left returns how often a message was left in the queue.
func (q *Queue) left(ctx context.Context, number uint64) uint64 {
	e, err := q.results.Get(ctx, leftKey(number))
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseUint(string(e.Value()), 10, 64) // 0 if it is none
	return n
}
