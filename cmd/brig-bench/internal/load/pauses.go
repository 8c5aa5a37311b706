package load

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"time"
)

// Pauses is how long the garbage collector has stopped the process, each time.
type Pauses struct {
	Buckets []Bucket `json:"buckets"` // in ascending order
	Spawned int      `json:"spawned"` // processes or jails started meanwhile
}

// Bucket counts pauses of about the same length: Nanos, nanoseconds, is the upper end. The runtime's buckets lie less
// than a tenth apart.
type Bucket struct {
	Nanos int64  `json:"ns"`
	Count uint64 `json:"count"`
}

// pauseMetric counts each stop of a collection, from the wish to stop to the start again.
const pauseMetric = "/sched/pauses/total/gc:seconds"

// spawners is how many goroutines start processes at once.
const spawners = 4

// pauses forces collections for N ms while goroutines start processes in the way that Arg names, or do nothing ("").
func (w *worker) pauses(r Request) (Reply, error) {
	before, err := readPauses()
	if err != nil {
		return Reply{}, err
	}
	end, wait, err := w.startMany(r)
	if err != nil {
		return Reply{}, err
	}
	collect(end)
	spawned, failed := wait()
	after, err := readPauses()
	if err = errors.Join(err, failed); err != nil {
		return Reply{}, err
	}
	return Reply{Pauses: &Pauses{between(before, after), spawned}}, nil
}

// busy is pauses without the collections: for the figures of another process.
func (w *worker) busy(r Request) (Reply, error) {
	_, wait, err := w.startMany(r)
	if err != nil {
		return Reply{}, err
	}
	spawned, err := wait()
	return Reply{Pauses: &Pauses{Spawned: spawned}}, err
}

// startMany has goroutines start and await payloads until end, N ms from now; wait waits for the last and counts them.
func (w *worker) startMany(r Request) (end time.Time, wait func() (int, error), err error) {
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	spawned := 0
	wait = func() (int, error) {
		all.Wait()
		return spawned, failed
	}
	var once func() error
	if r.Arg != "" {
		if once, err = w.spawn.way(w.ctx, r.Arg); err != nil {
			return end, nil, err
		}
	}
	end = time.Now().Add(time.Duration(r.N) * time.Millisecond)
	if once == nil {
		return end, wait, nil
	}
	for range spawners {
		all.Go(func() {
			for stop := false; !stop && time.Now().Before(end); {
				err := once()
				mu.Lock()
				spawned++
				failed = errors.Join(failed, err)
				stop = failed != nil
				mu.Unlock()
			}
		})
	}
	return end, wait, nil
}

// garbage keeps the allocations from being left out.
var garbage []*[256]byte

// collect makes garbage and forces a collection, again and again, with 5 ms in between for the others.
func collect(end time.Time) {
	for time.Now().Before(end) {
		garbage = garbage[:0]
		for range 4096 {
			garbage = append(garbage, new([256]byte))
		}
		runtime.GC()
		time.Sleep(5 * time.Millisecond)
	}
}

func readPauses() (*metrics.Float64Histogram, error) {
	sample := []metrics.Sample{{Name: pauseMetric}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return nil, fmt.Errorf("this Go has no metric %s", pauseMetric)
	}
	return sample[0].Value.Float64Histogram(), nil
}

// between gives what after counts and before does not. The two have the same buckets.
func between(before, after *metrics.Float64Histogram) (list []Bucket) {
	for i, n := range after.Counts {
		if n -= before.Counts[i]; n == 0 {
			continue
		}
		edge := after.Buckets[i+1]
		if math.IsInf(edge, 1) {
			edge = after.Buckets[i]
		}
		list = append(list, Bucket{int64(math.Round(edge * 1e9)), n})
	}
	return list
}

// Merge adds up histograms of the same runtime.
func Merge(all ...[]Bucket) (list []Bucket) {
	counts := map[int64]uint64{}
	for _, h := range all {
		for _, b := range h {
			counts[b.Nanos] += b.Count
		}
	}
	for ns, n := range counts {
		list = append(list, Bucket{ns, n})
	}
	slices.SortFunc(list, func(a, b Bucket) int { return cmp.Compare(a.Nanos, b.Nanos) })
	return list
}

// Count is how many pauses a histogram holds.
func Count(h []Bucket) (n uint64) {
	for _, b := range h {
		n += b.Count
	}
	return n
}

// Quantile is the q-th quantile (0 to 1) in nanoseconds, rounded up to the end of a bucket; 0 for no pause.
func Quantile(h []Bucket, q float64) int64 {
	rank := max(1, uint64(math.Ceil(q*float64(Count(h)))))
	for _, b := range h {
		if b.Count >= rank {
			return b.Nanos
		}
		rank -= b.Count
	}
	return 0
}
