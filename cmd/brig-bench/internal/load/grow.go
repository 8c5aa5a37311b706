package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"brig/cmd/brig-bench/internal/procfs"
	"brig/nsjail"
)

// Usage is what a keeper of running jails holds.
type Usage struct {
	Jails      int   `json:"jails"`
	RSS        int64 `json:"rss_bytes"`   // after a collection, with everything given back to the kernel
	Heap       int64 `json:"heap_bytes"`  // of it live objects
	Stacks     int64 `json:"stack_bytes"` // of it goroutines' stacks
	FDs        int   `json:"fds"`
	Threads    int   `json:"threads"`
	Goroutines int   `json:"goroutines"`
}

// growth is a Runner whose jails all read one pipe, whose end is theirs.
type growth struct {
	runner  *nsjail.Runner
	in, out *os.File
	waits   sync.WaitGroup
	mu      sync.Mutex
	err     error // of a jail that ended badly
	jails   int
}

// grow starts jails until n run, each awaited by a goroutine, and gives how long each of the new took to start.
func (w *worker) grow(n int) (reply Reply, err error) {
	if w.grown == nil {
		if w.grown, err = newGrowth(); err != nil {
			return reply, err
		}
		w.closes = append(w.closes, w.grown.close)
	}
	for w.grown.jails < n {
		start := time.Now()
		if err := w.grown.add(w.ctx); err != nil {
			return reply, fmt.Errorf("jail %d: %w", w.grown.jails+1, err)
		}
		reply.Nanos = append(reply.Nanos, time.Since(start).Nanoseconds())
	}
	reply.Usage, err = usage(w.grown.jails)
	return reply, err
}

// grownStarts starts and awaits N payloads beside those that run.
func (w *worker) grownStarts(n int) (reply Reply, err error) {
	if w.grown == nil {
		return reply, errors.New("nothing runs yet")
	}
	for range n {
		start := time.Now()
		r, err := w.grown.runner.CommandContext(w.ctx, payload).Run()
		if err != nil {
			return reply, err
		}
		if r.Status != nsjail.StatusOK {
			return reply, fmt.Errorf("a payload ended with %s", r.Status)
		}
		reply.Nanos = append(reply.Nanos, time.Since(start).Nanoseconds())
	}
	return reply, nil
}

func newGrowth() (*growth, error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	r, err := nsjail.NewRunner()
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	return &growth{runner: r, in: in, out: out}, nil
}

func (g *growth) add(ctx context.Context) error {
	c := g.runner.CommandContext(ctx, "/bin/cat")
	c.Stdin = g.in
	if err := c.Start(); err != nil {
		return err
	}
	g.jails++
	g.waits.Go(func() {
		r, err := c.Wait()
		if err == nil && r.Status != nsjail.StatusOK {
			err = fmt.Errorf("a waiting payload ended with %s", r.Status)
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.err = errors.Join(g.err, err)
	})
	return nil
}

func (g *growth) close() error {
	err := errors.Join(g.out.Close(), g.in.Close())
	g.waits.Wait()
	return errors.Join(err, g.err, g.runner.Close())
}

func usage(jails int) (*Usage, error) {
	runtime.GC() // twice: what has a finalizer goes in the second
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s, err := procfs.ReadSize(os.Getpid())
	if err != nil {
		return nil, err
	}
	status, err := procfs.Read("/proc/self/status", "Threads")
	if err != nil {
		return nil, err
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil, err
	}
	return &Usage{Jails: jails, RSS: s.Resident, Heap: int64(m.HeapAlloc), Stacks: int64(m.StackInuse),
		FDs: len(fds) - 1, Threads: int(status["Threads"]), Goroutines: runtime.NumGoroutine()}, nil // one is ReadDir's
}
