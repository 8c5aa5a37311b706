package measure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/stats"
)

func throughput() Dimension {
	return Dimension{run: runThroughput, Table: result.Table{ID: "throughput", Title: "Jails a second", Unit: "1/s",
		Higher: true, X: "clients",
		Question: "How many jails that run /bin/true can be made in a second, by so many clients at once?"}}
}

func runThroughput(ctx context.Context, e *Env, t *result.Table) (err error) {
	readies, closeAll := e.prepare(ctx, e.Tools, t, peers.Job{Args: []string{"/bin/true"}})
	defer func() { err = errors.Join(err, closeAll()) }()
	return rates(ctx, e, t, []int{1, 4, 8}, baseTool, readies)
}

// rates measures each contender in several short turns for each number of clients. A turn is a sample, and the
// contenders' turns interleave.
func rates(ctx context.Context, e *Env, t *result.Table, clients []int, base string, readies []*peers.Ready) error {
	turn := 200 * time.Millisecond
	if e.Quick {
		clients, turn = []int{1, 8}, 40*time.Millisecond
	}
	for _, n := range clients {
		var all []contender
		var mu sync.Mutex
		waits := map[string][]float64{}
		for _, r := range readies {
			if e.Quick && r.Tool.Slow || r.Tool.Box {
				continue
			}
			all = append(all, contender{r.Tool.Info.Name, func(ctx context.Context) (float64, error) {
				return rate(ctx, r, n, turn, func(took time.Duration) {
					mu.Lock()
					defer mu.Unlock()
					waits[r.Tool.Info.Name] = append(waits[r.Tool.Info.Name], float64(took.Microseconds())/1e3)
				})
			}})
		}
		p := plan{Rounds: e.count(8, 5), Base: base, Budget: e.budget(30, 1)}
		s, err := interleave(ctx, e, p, all)
		if err != nil {
			return err
		}
		for _, row := range s.rows(words(t)) {
			row.X = float64(n)
			t.Rows = append(t.Rows, row)
		}
		for _, c := range all { // with brigd, a request's wait has a row of its own
			if row := stats.Row(c.Name+": ms each", waits[c.Name]); base == itself && row.Error == "" {
				row.X = float64(n)
				t.Rows = append(t.Rows, row)
			}
		}
		for _, note := range s.notes() {
			t.Notes = append(t.Notes, fmt.Sprintf("clients: %d; %s", n, note))
		}
	}
	return nil
}

// rate returns the number of jails a second that n clients make in a turn. Time counts until the last client is done,
// so that a jail that is slower than the turn counts, too. each is called with the duration of each jail.
func rate(ctx context.Context, ready *peers.Ready, n int, turn time.Duration,
	each func(time.Duration)) (float64, error) {
	var wg sync.WaitGroup
	var made atomic.Int64
	failed := make(chan error, n)
	start := time.Now()
	for range n {
		wg.Go(func() {
			for ctx.Err() == nil && time.Since(start) < turn {
				begun := time.Now()
				if err := ready.Run(); err != nil {
					failed <- err
					return
				}
				each(time.Since(begun))
				made.Add(1)
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	close(failed)
	if err := <-failed; err != nil {
		return 0, err
	}
	return float64(made.Load()) / took.Seconds(), ctx.Err()
}
