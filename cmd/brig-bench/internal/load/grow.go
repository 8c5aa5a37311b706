package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"brig/nsjail"
)

// Usage is what a keeper of running jails holds: after a collection, with everything given back to the kernel.
type Usage struct {
	Jails                    int
	RSS, Heap, Stacks        int64 // bytes; heap and stacks are of it
	FDs, Threads, Goroutines int64
}

// growth is a Runner whose jails all read one pipe, at whose end they end.
type growth struct {
	runner  *nsjail.Runner
	in, out *os.File
	waits   sync.WaitGroup
	mu      sync.Mutex
	err     error // of a jail that ended badly
	jails   int
}

// grow starts jails until n run, each awaited by a goroutine.
func (w *worker) grow(n int) (_ *Usage, err error) {
	if w.grown == nil {
		if w.grown, err = newGrowth(); err != nil {
			return nil, err
		}
		w.closes = append(w.closes, w.grown.close)
	}
	for w.grown.jails < n {
		if err := w.grown.add(w.ctx); err != nil {
			return nil, fmt.Errorf("jail %d: %w", w.grown.jails+1, err)
		}
	}
	return usage(w.grown.jails)
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

// usage reads what this process holds.
func usage(jails int) (*Usage, error) {
	runtime.GC()
	debug.FreeOSMemory() // collects again: objects with a finalizer go in the second collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	rss, err := field("/proc/self/smaps_rollup", "Rss")
	threads, terr := field("/proc/self/status", "Threads")
	fds, ferr := os.ReadDir("/proc/self/fd")
	if err := errors.Join(err, terr, ferr); err != nil {
		return nil, err
	}
	return &Usage{Jails: jails, RSS: rss << 10, Heap: int64(m.HeapAlloc), Stacks: int64(m.StackInuse),
		FDs: int64(len(fds) - 1), Threads: threads, Goroutines: int64(runtime.NumGoroutine())}, nil // one is ReadDir's
}

// field reads the number of a line "Name:   123 kB" of a file of /proc: proc_pid_smaps(5), proc_pid_status(5).
func field(file, name string) (int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strconv.ParseInt(strings.Fields(value)[0], 10, 64)
		}
	}
	return 0, fmt.Errorf("%s has no field %s; this kernel is too old, or /proc is masked", file, name)
}
