package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// asked is a stream that counts the looks at it. It never has more than one message, however many came and left.
type asked struct {
	jetstream.Stream
	looks int
	last  uint64
}

func (a *asked) Info(context.Context, ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	a.looks++
	return &jetstream.StreamInfo{TimeStamp: time.Now(), State: jetstream.StreamState{Msgs: 1, LastSeq: a.last}}, nil
}

// The runs of one tenant close his lane again and again. The server is not asked each time for somebody else's.
func TestOneTenantAloneCostsNoLooks(t *testing.T) {
	s := &asked{}
	w := &Worker{Queue: &Queue{runs: s}, hot: map[lane]bool{}, listens: map[lane]bool{}, served: map[lane]int{}, woken: make(chan struct{}, 1)}
	w.shares.most = 2
	tenant := digest("alone")
	own := laneOf(0, tenant)
	w.hold(tenant)
	for range 100 {
		if !w.came(own, tenant) {
			t.Fatal("he may have another one")
		}
		w.hold(tenant)
		w.hot[own] = true
		w.probe()
		w.release(tenant)
	}
	if s.looks > len(classes) { // he has a lane in each
		t.Errorf("%d looks for runs of others, and no other has come", s.looks)
	}
}

// Where a tenant may have all slots, nothing is kept from him.
func TestAllSlotsAreNoPart(t *testing.T) {
	for share, want := range map[int]int{1: 1, 3: 3, 4: 0, 9: 0} {
		if got := slotsOfOne(WorkerOptions{Slots: 4, Share: share}); got != want {
			t.Errorf("a share of %d of 4 slots bounds to %d, want %d", share, got, want)
		}
	}
}

// Between two samples more runs come than may wait, and all leave: one look clears that up for all who ask at once.
func TestRunsThatHaveLeftAreNoLongerCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &asked{last: 7}
		q := &Queue{runs: s}
		p := &posting{Front: &Front{Queue: q, sampling: turns{busy: map[string]chan struct{}{}}}}
		q.sample(t.Context())
		time.Sleep(time.Second)
		s.last = 1007
		q.rates.stored(s.last)
		for range 8 {
			if !p.below(t.Context(), 512) {
				t.Error("the queue seems full, and has one run")
			}
		}
		if s.looks != 2 {
			t.Errorf("%d looks, want the sample and one more", s.looks)
		}
	})
}
