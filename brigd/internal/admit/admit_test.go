package admit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"brig/brigd/job"
	"brig/internal/test/must"
)

// bench runs jobs through a Gate in a bubble of package synctest, whose clock moves only when everybody waits: the
// order of starts is the same on any machine.
type bench struct {
	t     *testing.T
	g     *Gate
	wg    sync.WaitGroup
	mu    sync.Mutex
	order []string
	begun map[string]time.Duration
	zero  time.Time
	errs  map[string]int
}

func newBench(t *testing.T, o Options) *bench {
	return &bench{t: t, g: New(o), begun: map[string]time.Duration{}, errs: map[string]int{}, zero: time.Now()}
}

// job asks for one run of caller that takes d.
func (b *bench) job(ctx context.Context, caller string, d time.Duration) {
	b.wg.Go(func() { b.do(ctx, caller, d) })
	synctest.Wait() // it runs, or waits
}

func (b *bench) do(ctx context.Context, caller string, d time.Duration) {
	release, err := b.g.Enter(ctx, caller)
	b.mu.Lock()
	if err != nil {
		var r *job.Refusal
		if errors.As(err, &r) {
			b.errs[r.Code]++
		} else {
			b.errs[err.Error()]++
		}
		b.mu.Unlock()
		return
	}
	b.order = append(b.order, caller)
	if _, ok := b.begun[caller]; !ok {
		b.begun[caller] = time.Since(b.zero)
	}
	b.mu.Unlock()
	time.Sleep(d) // the bubble's clock
	release()
	release()
}

func (b *bench) end() {
	b.wg.Wait()
	if b.g.Depth() != 0 || b.g.Running() != 0 {
		b.t.Errorf("%d wait and %d run when all is over", b.g.Depth(), b.g.Running())
	}
}

// A caller with a thousand runs in the queue delays another's single run by one end.
func TestOneRunIsNotStarvedByAThousand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Running: 2, PerCaller: 2, Queue: 2000})
		for range 1000 {
			b.job(t.Context(), "many", time.Second)
		}
		b.job(t.Context(), "one", time.Second)
		b.end()
		if got := b.begun["one"]; got != time.Second {
			t.Errorf("the single run began after %v, not with the first end", got)
		}
		if len(b.order) != 1001 {
			t.Errorf("%d runs of 1001", len(b.order))
		}
	})
}

// Callers that always have another run waiting get the same number of starts, however long their queues are, and so
// does one that asks for the next run only when the last has ended.
func TestRoundsAreEqual(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Running: 1, Queue: 5000})
		for i := range 100 {
			b.job(t.Context(), "a", time.Second)
			if i < 50 {
				b.job(t.Context(), "b", time.Second)
			}
		}
		for _, loop := range []string{"c", "d"} {
			b.wg.Go(func() {
				for range 50 {
					b.do(t.Context(), loop, time.Second)
				}
			})
			synctest.Wait()
		}
		b.end()
		count := map[string]int{}
		for _, c := range b.order[:160] {
			count[c]++
		}
		for _, c := range []string{"a", "b", "c", "d"} {
			if count[c] < 38 || count[c] > 42 {
				t.Errorf("of the first 160 starts %s had %d: %v", c, count[c], count)
			}
		}
	})
}

// Long runs of one caller never hold all the places that another waits for.
func TestFewestRunningFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Running: 4, PerCaller: 4, Queue: 100})
		for range 8 {
			b.job(t.Context(), "short", time.Second)
		}
		for range 8 {
			b.job(t.Context(), "long", time.Hour)
		}
		for range 40 {
			b.job(t.Context(), "short", time.Second)
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		b.mu.Lock()
		if n := b.g.Running(); n != 4 {
			t.Errorf("%d run", n)
		}
		if got := slices.Index(b.order, "long"); got > 5 {
			t.Errorf("the long runs' first start is number %d", got)
		}
		shorts := strings.Count(strings.Join(b.order, " "), "short")
		if shorts < 48 {
			t.Errorf("%d of 48 short runs in 30 s beside long ones: two places should have been theirs", shorts)
		}
		b.mu.Unlock()
		b.end()
	})
}

func TestPerCallerBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Running: 8, PerCaller: 2, Queue: 10})
		for range 4 {
			b.job(t.Context(), "a", time.Second)
		}
		if b.g.Running() != 2 || b.g.Depth() != 2 {
			t.Errorf("%d run and %d wait, with a bound of 2", b.g.Running(), b.g.Depth())
		}
		b.job(t.Context(), "b", time.Second)
		if b.begun["b"] != 0 {
			t.Error("b waits though there are places")
		}
		b.end()
	})
}

func TestFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Running: 1, Queue: 5, QueuePerCaller: 4})
		for range 7 { // one runs, four wait, two are over the caller's own bound
			b.job(t.Context(), "a", time.Second)
		}
		if b.errs[codeQueueFull] != 2 {
			t.Errorf("refused %v", b.errs)
		}
		for range 3 { // the queue has room for one; then the longest queue gives way until both are alike
			b.job(t.Context(), "b", time.Second)
		}
		if b.errs[codeQueueFull] != 4 || b.g.Depth() != 5 {
			t.Errorf("refused %v, %d wait", b.errs, b.g.Depth())
		}
		b.end()
		if n := strings.Count(strings.Join(b.order, ""), "b"); n < 2 || len(b.order) != 6 {
			t.Errorf("%v ran", b.order)
		}
	})
}

func TestNoQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Running: 1})
		b.job(t.Context(), "a", time.Second)
		b.job(t.Context(), "b", time.Second)
		if b.errs[codeQueueFull] != 1 {
			t.Errorf("refused %v", b.errs)
		}
		b.end()
	})
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{Running: 100, Rate: 0.5, Burst: 2})
		try := func(caller string) *Rejected {
			err := g.Ask(caller)
			if err == nil {
				return nil
			}
			var no *Rejected
			if !errors.As(err, &no) {
				t.Fatal(err)
			}
			return no
		}
		for range 2 {
			if try("a") != nil {
				t.Fatal("the burst is refused")
			}
		}
		no := try("a")
		if no == nil || no.Refusal.Code != codeRateLimited || no.RetrySeconds() != 2 || no.Refusal.Layer != "queue" {
			t.Fatalf("the third: %+v", no)
		}
		if try("b") != nil {
			t.Error("one caller's rate is another's")
		}
		time.Sleep(no.RetryAfter)
		if no := try("a"); no != nil {
			t.Errorf("refused after the time that it was told: %+v", no)
		}
	})
}

// A run whose context ends leaves the queue at once, and frees the place that it may have got at that moment.
func TestCancelLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Running: 1, Queue: 10})
		b.job(t.Context(), "a", time.Hour)
		ctx, cancel := context.WithCancelCause(t.Context())
		for range 5 {
			b.job(ctx, "a", time.Second)
		}
		b.job(t.Context(), "a", time.Second)
		cancel(errors.New("gone away"))
		synctest.Wait()
		if b.errs["gone away"] != 5 || b.g.Depth() != 1 {
			t.Errorf("%v, %d wait", b.errs, b.g.Depth())
		}
		if _, err := b.g.Enter(ctx, "a"); err == nil || err.Error() != "gone away" {
			t.Errorf("a dead context: %v", err)
		}
		b.end()
	})
}

func TestCancelAtTheMomentOfAdmission(t *testing.T) {
	g := New(Options{Running: 1, Queue: 100})
	var wg sync.WaitGroup
	for range 300 {
		release := must.Get(g.Enter(t.Context(), "a"))(t)
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() {
			if release, err := g.Enter(ctx, "b"); err == nil {
				release()
			}
		})
		wg.Go(cancel)
		wg.Go(release)
		wg.Wait()
	}
	if g.Running() != 0 || g.Depth() != 0 || len(g.callers) != 2 {
		t.Errorf("%d run, %d wait, %d callers known", g.Running(), g.Depth(), len(g.callers))
	}
}

func TestIdleCallersAreForgotten(t *testing.T) {
	g := New(Options{Running: 1, Rate: 1})
	for i := range maxIdle + 1000 {
		name := fmt.Sprint("caller ", i)
		must.Do(t, g.Ask(name))
		release := must.Get(g.Enter(t.Context(), name))(t)
		release()
	}
	if len(g.callers) != maxIdle || len(g.idle) != maxIdle {
		t.Errorf("%d callers are remembered, %d as idle", len(g.callers), len(g.idle))
	}
	if err := g.Ask(fmt.Sprint("caller ", maxIdle+999)); err == nil {
		t.Error("the last one's rate is forgotten")
	}
}
