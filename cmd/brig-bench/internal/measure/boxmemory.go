package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"brig/cmd/brig-bench/internal/boxes"
	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/stats"
)

// runMemory makes many boxes of each maker, and measures what the machine has left.
func runMemory(ctx context.Context, e *Env, t *result.Table) error {
	n := 1000
	if e.Quick {
		n = 100
	}
	return with(e, t, func(makers []*boxes.Maker) error {
		for _, m := range makers {
			var samples []float64
			var failed error
			for range e.count(3, 1) {
				e.Progress(m.Name)
				each, err := memoryOf(ctx, m, n)
				if failed = err; err != nil {
					break
				}
				samples = append(samples, each)
			}
			row := stats.Row(m.Name, samples)
			if failed != nil {
				row = result.Row{Tool: m.Name, Error: failed.Error()}
			}
			row.X = float64(n)
			t.Rows = append(t.Rows, row)
		}
		return ctx.Err()
	})
}

// memoryOf makes n boxes, in each of which a command has run, and returns what each takes, in KiB.
func memoryOf(ctx context.Context, m *boxes.Maker, n int) (each float64, err error) {
	before, err := available()
	if err != nil {
		return 0, err
	}
	var all []*boxes.Box
	for len(all) < n && err == nil {
		var b *boxes.Box
		if b, err = m.New(); err == nil {
			all = append(all, b)
			err = errors.Join(b.Exec("/bin/true"), ctx.Err())
		}
	}
	after, aerr := available()
	for _, b := range all {
		err = errors.Join(err, b.Close())
	}
	return float64(before-after) / float64(n), errors.Join(err, aerr)
}

// available returns how many KiB of memory the machine can still use, with none that this process does not need.
func available() (int64, error) {
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "\nMemAvailable:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0, fmt.Errorf("/proc/meminfo has no MemAvailable")
	}
	return strconv.ParseInt(fields[0], 10, 64)
}
