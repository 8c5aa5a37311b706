package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brig/internal/test/long"
)

// size returns how many runs a test takes: BRIG_QUEUE_RUNS, or a few.
func size(few int) int {
	if n, err := strconv.Atoi(os.Getenv("BRIG_QUEUE_RUNS")); err == nil {
		return n
	}
	return few
}

// leastKills is how many kills there must be; more runs are asked for until then.
const leastKills = 4

// Nothing is lost: servers and workers are killed while callers wait for answers, and each run that was asked for has
// its own answer. Duplicates are counted. The whole proof is
//
//	BRIG_QUEUE_RUNS=50000 go -C brigd test ./cmd/brigd -run TestQueueSurvivesKills -v -timeout 1h
func TestQueueSurvivesKills(t *testing.T) {
	long.Test(t)
	once(t)
	runs := size(80)
	nodes := cluster(t, 3)
	at := urls(nodes)
	p := begin(t, nil, "serve", "--listen", "unix:"+dir(t)+"/s", "--jetstream", at, "--replicas", "3", "--ack-wait", "2s",
		"--queue", "100000", "--queue-per-caller", "100000", "--max-deliver", "50")
	workers := make([]*proc, 3)
	args := []string{"--max-deliver", "50", "--slots", "4", "--running", "4"}
	for i := range workers {
		workers[i] = startWorker(t, at, args...)
	}
	stop := make(chan struct{})
	var killer sync.WaitGroup
	var kills atomic.Int64
	killer.Go(func() {
		for down := (*node)(nil); ; kills.Add(1) {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
			}
			if down != nil { // one server at a time: two of three are a majority
				down.start()
				down = nil
			}
			if i := rand.IntN(len(workers) + 1); i < len(workers) {
				_ = workers[i].cmd.Process.Kill()
				_ = workers[i].cmd.Wait()
				workers[i] = startWorker(t, at, args...)
			} else {
				down = nodes[leader(p, len(nodes))]
				down.kill()
			}
		}
	})
	var answered, again, wrong atomic.Int64
	asked := make(chan int)
	var callers sync.WaitGroup
	begun := time.Now()
	for range 24 {
		callers.Go(func() {
			for n := range asked {
				want := fmt.Sprintf("%d\n", n)
				for { // a refusal by the queue is asked again, with the same key: that is what a client does
					status, a := p.run("echo "+strconv.Itoa(n), "Idempotency-Key", "run-"+strconv.Itoa(n))
					if status == 503 || status == 429 {
						time.Sleep(100 * time.Millisecond)
						continue
					}
					answered.Add(1)
					if a["stdout"] != want || status != 200 {
						wrong.Add(1)
						t.Errorf("run %d: %d %v", n, status, a)
					}
					if q, _ := a["queue"].(map[string]any); q != nil && q["attempt"] != 1.0 {
						again.Add(1)
					}
					break
				}
			}
		})
	}
	n := 0
	for ; n < runs || kills.Load() < leastKills; n++ {
		asked <- n
	}
	close(asked)
	callers.Wait()
	took := time.Since(begun)
	close(stop)
	killer.Wait()
	t.Logf("%d runs asked for, %d answered, %d of them by another attempt than the first, %d wrong; %d kills in %s: %.0f runs a second",
		n, answered.Load(), again.Load(), wrong.Load(), kills.Load(), took.Round(time.Second), float64(n)/took.Seconds())
	if answered.Load() != int64(n) {
		t.Errorf("%d of %d are answered\n%s", answered.Load(), n, p.logged())
	}
}

// leader returns the number of the server that leads, or of another if that is not known now.
func leader(p *proc, count int) int {
	_, q := p.do("GET", "/v1/queue", nil)
	name, _ := q["leader"].(string)
	if i, err := strconv.Atoi(strings.TrimPrefix(name, "n")); err == nil && i < count {
		return i
	}
	return rand.IntN(count)
}
