package queue

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/nats-io/nats.go/micro"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
)

// Name returns the worker's name.
func (q *Queue) Name() string { return q.o.Name }

// DefaultName returns a name for a worker of this process that no other has. Callers see it in sandboxes' ids: it tells
// nothing of the machine.
func DefaultName() string { return "w" + digest(engine.NewID(""))[:12] }

// goodName is the form of a worker's name, which is a part of subjects and of sandboxes' ids.
var goodName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,40}$`)

// GoodName reports whether a text can be a worker's name.
func GoodName(s string) bool { return goodName.MatchString(s) }

// Info returns what the worker tells of itself.
func (w *Worker) Info() front.WorkerInfo {
	host, _ := os.Hostname() // "" if it has none
	i := front.WorkerInfo{Worker: w.Name(), Host: host, Arch: runtime.GOARCH, Version: w.Queue.o.Version,
		Languages: []engine.Language{}, Slots: w.o.Slots, Running: w.Running(), ShortOf: w.Short()}
	if list := w.languages.Load(); list != nil {
		i.Languages = *list
	}
	i.Taken, i.Again, i.Dead, i.Late = w.Counts()
	return i
}

// publish makes the worker a micro service of NATS: `nats micro info brigd` lists the workers.
func (w *Worker) publish() error {
	s, err := micro.AddService(w.nc, micro.Config{Name: "brigd", Version: semantic(w.Queue.o.Version),
		Description: "runs untrusted programs from the queue of brigd", Metadata: map[string]string{"worker": w.Name()},
		StatsHandler: func(*micro.Endpoint) any { return w.Info() }})
	if err != nil {
		return err
	}
	tell := micro.HandlerFunc(func(r micro.Request) {
		if err := r.RespondJSON(w.Info()); err != nil {
			w.Queue.o.Logger.Debug("the load is not told", "error", err)
		}
	})
	return s.AddEndpoint("all", tell, micro.WithEndpointSubject(workerSubject+"all"),
		micro.WithEndpointQueueGroupDisabled())
}

// semantic returns a version of three numbers, which micro services must have.
func semantic(v string) string {
	v, _, _ = strings.Cut(strings.TrimPrefix(v, "v"), " ")
	if strings.Count(v, ".") != 2 {
		return "0.0.0"
	}
	return v
}

// askTime is how long workers may take to tell of themselves.
const askTime = 300 * time.Millisecond

// workers returns what the workers tell that answer in time.
func (q *Queue) workers() ([]front.WorkerInfo, error) {
	in := q.nc.NewInbox()
	sub, err := q.nc.SubscribeSync(in)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection
	if err := q.nc.PublishRequest(workerSubject+"all", in, nil); err != nil {
		return nil, err
	}
	list := []front.WorkerInfo{}
	for end := time.Now().Add(askTime); ; {
		m, err := sub.NextMsg(time.Until(end))
		if err != nil {
			return list, nil // the time is over, or nobody is there
		}
		var i front.WorkerInfo
		if json.Unmarshal(m.Data, &i) == nil && i.Worker != "" {
			list = append(list, i)
		}
	}
}

// Info describes the queue.
func (q *Queue) Info(ctx context.Context) (*front.QueueInfo, error) {
	q.sample(ctx)
	i := &front.QueueInfo{Waiting: map[string]int{}}
	q.rates.mu.Lock()
	i.Length, i.Rate, i.Leader = q.rates.length, q.rates.perSec, q.rates.leader
	q.rates.mu.Unlock()
	for _, l := range lanes() {
		c, err := q.runs.Consumer(ctx, l.consumer())
		if err != nil {
			return nil, unavailable(err)
		}
		i.Waiting[l.class] += int(c.CachedInfo().NumPending)
	}
	var err error
	if i.Workers, err = q.workers(); err != nil {
		return nil, unavailable(err)
	}
	if i.Dead, err = q.given(ctx); err != nil {
		return nil, unavailable(err)
	}
	return i, nil
}
