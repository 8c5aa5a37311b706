package queue

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

func (s stream) Info(_ context.Context, _ ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	return &jetstream.StreamInfo{State: jetstream.StreamState{Subjects: s.counts}}, nil
}

// While all classes have runs, each goes on, and the highest most often.
func TestEachClassHasAShare(t *testing.T) {
	w := &Worker{hot: map[lane]bool{}, served: map[lane]int{}}
	for _, l := range lanes() {
		w.hot[l] = true
	}
	taken := map[string]int{}
	for range 160 {
		l := w.order()[0]
		w.turn++
		w.served[l] = w.turn
		taken[l.class]++
	}
	if taken["normal"] < 20 || taken["low"] < 20 || taken["high"] < 80 {
		t.Errorf("of 160: %v", taken)
	}
}

// A lane is left alone while a tenant has his part of the slots and it has nobody else's run; others are found there.
func TestOneTenantHasAPart(t *testing.T) {
	q, _, _, _ := memory(t)
	counts := map[string]uint64{}
	q.runs = stream{counts: counts}
	w := &Worker{Queue: q, hot: map[lane]bool{}, listens: map[lane]bool{}, served: map[lane]int{}, woken: make(chan struct{}, 1)}
	w.shares.most = 2
	greedy, other := digest("greedy"), ""
	own := laneOf(0, greedy)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"} {
		if other == "" && laneOf(0, digest(name)) == own {
			other = digest(name)
		}
	}
	open := func() (found bool) {
		w.hot = map[lane]bool{own: true}
		w.probe()
		return len(w.order()) == 1
	}
	step := func(what string, want bool) {
		t.Helper()
		if got := open(); got != want {
			t.Errorf("%s: the lane is looked at: %v", what, got)
		}
	}
	counts[runsSubject+own.token()+"."+greedy] = 500
	step("nothing goes on", true)
	w.hold(greedy)
	step("one run goes on", true)
	w.hold(greedy)
	step("he has his part", false)
	counts[runsSubject+own.token()+"."+other] = 1
	step("another's run has come, untold", false)
	if !w.came(own, other) || w.came(own, greedy) {
		t.Error("whose run may be taken")
	}
	step("another's run has come", true)
	w.hold(other)
	w.found(own, true)
	step("it goes on here", false)
	w.release(greedy)
	if step("a run has ended", true); !w.hot[own] {
		t.Error("the lane is cold")
	}
}
