package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestRequestTiming prints, with -v, how long a run takes by HTTP and how many there are in a second, with so many
// clients at once: brigd with default settings, each client an agent of its own.
func TestRequestTiming(t *testing.T) {
	if !testing.Verbose() {
		t.Skip("prints with -v")
	}
	d := begin(t, nil, "serve", "--listen", "unix:"+filepath.Join(dir(t), "s"))
	for name, body := range map[string]map[string]any{
		"/bin/true": {"cmd": []string{"/bin/true"}},
		"python":    {"language": "python", "code": "print(6*7)"},
	} {
		for _, n := range []int{1, 8, 64} {
			var mu sync.Mutex
			var clients sync.WaitGroup
			var took []time.Duration
			start := time.Now()
			for i := range n {
				clients.Go(func() {
					for time.Since(start) < time.Second {
						begun := time.Now()
						status, answer := d.do("POST", "/v1/run", body, "X-Agent-Id", fmt.Sprint("client-", i))
						mu.Lock()
						if took = append(took, time.Since(begun)); answer["status"] != "ok" {
							t.Errorf("%s: %d %v", name, status, answer)
						}
						mu.Unlock()
					}
				})
			}
			clients.Wait()
			rate := float64(len(took)) / time.Since(start).Seconds()
			slices.Sort(took)
			at := func(q int) time.Duration { return took[len(took)*q/100].Round(10 * time.Microsecond) }
			t.Logf("%-10s %2d clients: p50 %v, p90 %v, p99 %v, %.0f a second", name, n, at(50), at(90), at(99), rate)
		}
	}
}
