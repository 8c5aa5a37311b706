package submit

import (
	"context"
	"encoding/json"
	"time"

	"brig/brigd/internal/front"
	"brig/brigd/internal/queue/lane"
	"brig/brigd/internal/queue/retry"
	"brig/brigd/internal/queue/wire"
)

// askTime is how long workers may take to tell of themselves.
const askTime = 300 * time.Millisecond

// workers returns what the workers tell that answer in time.
func (f *Front) workers() ([]front.WorkerInfo, error) {
	in := f.q.Conn.NewInbox()
	sub, err := f.q.Conn.SubscribeSync(in)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection
	if err := f.q.Conn.PublishRequest(wire.WorkerSubject+"all", in, nil); err != nil {
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
func (f *Front) Info(ctx context.Context) (*front.QueueInfo, error) {
	f.q.Gauge.Sample(ctx, f.q.Runs)
	i := &front.QueueInfo{Waiting: map[string]int{}}
	i.Length = f.q.Length()
	i.Rate, i.Leader = f.q.Gauge.Rate()
	for _, l := range lane.All() {
		c, err := f.q.Runs.Consumer(ctx, l.Consumer())
		if err != nil {
			return nil, retry.Unavailable(err)
		}
		i.Waiting[l.Class] += int(c.CachedInfo().NumPending)
	}
	var err error
	if i.Workers, err = f.workers(); err != nil {
		return nil, retry.Unavailable(err)
	}
	if i.Dead, err = f.dead.List(ctx); err != nil {
		return nil, retry.Unavailable(err)
	}
	return i, nil
}
