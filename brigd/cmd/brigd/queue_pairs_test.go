package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/long"
	"brig/internal/test/must"
)

// The throughput of runs through the queue of one machine is compared with that of HTTP alone, in pairs of random order:
//
//	BRIG_QUEUE_PAIRS=30 go -C brigd test ./cmd/brigd -run TestQueueThroughput -v
//
// Without that it is one short pair, which shows that each run is answered. On a machine that others use, the processor
// time is the better measure.
func TestQueueThroughput(t *testing.T) {
	long.Test(t)
	pairs, err := strconv.Atoi(os.Getenv("BRIG_QUEUE_PAIRS"))
	runs := 400
	if err != nil {
		pairs, runs = 1, 64
	}
	d := dir(t)
	serve := []string{"serve", "--running", "2", "--per-caller", "2", "--listen"} // one caller may have all
	load := func(p *proc, request map[string]any, runs int) time.Duration {
		var callers sync.WaitGroup
		begun := time.Now()
		for range 8 {
			callers.Go(func() {
				for range runs / 8 {
					if status, a := p.do("POST", "/v1/run", request); status != 200 || a["exit_code"] != 0.0 {
						t.Errorf("%d %v", status, a)
					}
				}
			})
		}
		callers.Wait()
		return time.Since(begun)
	}
	for _, c := range []struct {
		runs    int
		request map[string]any
	}{{runs, map[string]any{"cmd": []string{"/bin/true"}}},
		{runs / 4, map[string]any{"language": "python", "code": "print(6*7)"}}} {
		peers := []*proc{begin(t, nil, append(serve, "unix:"+d+"/a")...),
			begin(t, nil, append(serve, "unix:"+d+"/b", "--jetstream", d+"/q")...)}
		var used [2]float64
		for i, p := range peers {
			load(p, c.request, c.runs/2)
			used[i] = -spent(t, p)
		}
		var ratios []float64
		for range pairs {
			var took [2]time.Duration
			first := rand.IntN(2)
			for _, i := range []int{first, 1 - first} {
				took[i] = load(peers[i], c.request, c.runs)
			}
			ratios = append(ratios, took[0].Seconds()/took[1].Seconds())
		}
		slices.Sort(ratios)
		for i, p := range peers {
			used[i] += spent(t, p)
			p.signal(syscall.SIGTERM)
			p.end()
		}
		t.Logf("%v: by the queue %.2f of the throughput by HTTP: median of %d pairs of %d runs, half of them in %.2f to %.2f; "+
			"HTTP needs %.2f of the processor time", c.request, ratios[pairs/2], pairs, c.runs, ratios[pairs/4], ratios[pairs*3/4],
			used[0]/used[1])
	}
}

// spent returns the processor time of a brigd, its jails that have ended, and its server, in clock ticks.
func spent(t *testing.T, p *proc) (sum float64) {
	t.Helper()
	pid := strconv.Itoa(p.cmd.Process.Pid)
	server, _ := exec.Command("pgrep", "-P", pid, "brigd-queue").Output() // fails if there is none
	for _, pid := range append(strings.Fields(string(server)), pid) {
		text := must.Get(os.ReadFile("/proc/" + pid + "/stat"))(t) // proc_pid_stat(5)
		for _, ticks := range strings.Fields(string(text[bytes.LastIndexByte(text, ')'):]))[12:16] {
			n := must.Get(strconv.ParseFloat(ticks, 64))(t)
			sum += n
		}
	}
	return sum
}
