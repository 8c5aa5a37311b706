package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"brig/brigd/audit"
	"brig/internal/test/long"
	"brig/internal/test/must"
)

// answered is what a client of the load has seen.
type answered struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Stdout  string `json:"stdout"`
	Message string `json:"error"` // of a refusal
}

// ask sends one run, again after each 429, and returns the answer.
func ask(c *http.Client, agent, script string) (a answered, err error) {
	body, err := json.Marshal(map[string]any{"cmd": []string{"/bin/sh", "-c", script}, "agent_id": agent})
	if err != nil {
		return a, err
	}
	for {
		r, err := c.Post("http://brigd/v1/run", "application/json", bytes.NewReader(body))
		if err != nil {
			return a, err
		}
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			return a, err
		}
		if r.StatusCode == http.StatusTooManyRequests {
			if _, err := strconv.Atoi(r.Header.Get("Retry-After")); err != nil {
				return a, fmt.Errorf("429 with Retry-After %q", r.Header.Get("Retry-After"))
			}
			time.Sleep(50 * time.Millisecond) // sooner than it says: the load is the point
			continue
		}
		if r.StatusCode != http.StatusOK {
			return a, fmt.Errorf("%d: %s", r.StatusCode, text)
		}
		return a, json.Unmarshal(text, &a)
	}
}

// loadFlags are brigd's for a load, with an audit log.
func loadFlags(t *testing.T) (log string, flags []string) {
	d := dir(t)
	log = filepath.Join(d, "audit.jsonl")
	return log, []string{"serve", "--listen", "unix:" + filepath.Join(d, "s"), "--audit", log, "--pool", "16", "--queue", "512", "--rate", "0"}
}

// manyConnections is brigd's client for many goroutines.
func manyConnections(d *proc) *http.Client {
	d.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 256
	return d.client
}

// 200 clients run many jails each through one brigd: no answer is lost, doubled or another's, nobody waits for ever
// while others are served, memory stays bounded, and the audit log has an event before and after each.
func TestLoad(t *testing.T) {
	long.Test(t)
	clients, each := 200, 5
	if os.Getenv("BRIG_TEST_FULL") != "" {
		each = 50
	}
	log, flags := loadFlags(t)
	d := begin(t, nil, flags...)
	client := manyConnections(d)
	var mu sync.Mutex
	seen := map[string]bool{}
	waits := make([][]time.Duration, clients)
	var wg sync.WaitGroup
	begin := time.Now()
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				want := fmt.Sprintf("client %d run %d\n", c, i)
				start := time.Now()
				a, err := ask(client, fmt.Sprint("agent-", c), "printf 'client %d run %d\\n' "+fmt.Sprint(c, " ", i))
				if err != nil || a.Status != "ok" || a.Stdout != want {
					t.Errorf("client %d run %d: %+v %v", c, i, a, err)
					return
				}
				waits[c] = append(waits[c], time.Since(start))
				mu.Lock()
				if seen[a.ID] {
					t.Errorf("the run %s was answered twice", a.ID)
				}
				seen[a.ID] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != clients*each {
		t.Errorf("%d runs, %d answers", clients*each, len(seen))
	}
	took := time.Since(begin)
	fair(t, waits)
	rss := peakRSS(t, d.cmd.Process.Pid)
	t.Logf("%d runs in %.1f s, %.0f a second; peak RSS %d MiB", len(seen), took.Seconds(), float64(len(seen))/took.Seconds(), rss>>20)
	if rss > 512<<20 {
		t.Errorf("brigd held %d MiB", rss>>20)
	}
	d.signal(os.Interrupt)
	d.end()
	before, after := events(t, log)
	for id := range seen {
		if !before[id] || !after[id] {
			t.Fatalf("the run %s lacks an event: before %v, after %v", id, before[id], after[id])
		}
	}
}

// fair compares the clients' slowest runs: in a fair queue, no client's slowest run takes much longer than the others'.
func fair(t *testing.T, waits [][]time.Duration) {
	t.Helper()
	var worst, all []time.Duration
	for _, w := range waits {
		if len(w) == 0 {
			return
		}
		worst = append(worst, slices.Max(w))
		all = append(all, w...)
	}
	slices.Sort(worst)
	slices.Sort(all)
	t.Logf("waits: median %v, p99 %v; the clients' slowest: median %v, largest %v", all[len(all)/2], all[len(all)*99/100], worst[len(worst)/2], worst[len(worst)-1])
	if worst[len(worst)-1] > 8*worst[len(worst)/2] {
		t.Errorf("one client waited %v where the median client's longest wait was %v", worst[len(worst)-1], worst[len(worst)/2])
	}
}

func peakRSS(t *testing.T, pid int) int64 {
	t.Helper()
	text := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))(t)
	for _, line := range strings.Split(string(text), "\n") {
		if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n := must.Get(strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(kb, " kB")), 10, 64))(t)
			return n << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

// events are the runs with an event before and after, of a log that verifies.
func events(t *testing.T, log string) (before, after map[string]bool) {
	t.Helper()
	if _, err := (audit.VerifyOptions{}).Verify(log); err != nil {
		t.Errorf("the audit log: %v", err)
	}
	text := must.Get(os.ReadFile(log))(t)
	before, after = map[string]bool{}, map[string]bool{}
	for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		var e struct{ Event, Run string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		switch e.Event {
		case "run.start":
			before[e.Run] = true
		case "run.end":
			after[e.Run] = true
		}
	}
	return before, after
}

// brigd is killed in the middle of a load: what it has answered is in the log, every run that began has an event before
// it, nothing of a payload is left, and the next brigd takes over the socket and the log.
func TestKilledUnderLoad(t *testing.T) {
	long.Test(t)
	log, flags := loadFlags(t)
	d := begin(t, nil, flags...)
	client := manyConnections(d)
	_, box := d.do("POST", "/v1/sandboxes", map[string]any{})
	nap := fmt.Sprint(1e8 + float64(os.Getpid())) // seconds, and a mark in the process table
	var mu sync.Mutex
	seen := map[string]bool{}
	enough := make(chan struct{})
	var wg sync.WaitGroup
	for c := range 32 {
		wg.Go(func() {
			for c < 4 {
				if _, err := ask(client, "sleeper", "exec sleep "+nap); err != nil {
					return
				}
			}
			for i := 0; ; i++ {
				a, err := ask(client, fmt.Sprint("agent-", c), fmt.Sprint("echo ", c, " ", i))
				if err != nil {
					return // it was killed
				}
				mu.Lock()
				seen[a.ID] = true
				if len(seen) == 300 {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	<-enough
	if processes(t, nap) == 0 {
		t.Error("no sleeper runs")
	}
	d.signal(os.Kill)
	wg.Wait()
	soon(t, "no payload outlives brigd", func() bool { return processes(t, nap) == 0 }) // the kernel ends the jails
	next := begin(t, nil, flags...)
	next.prints("back\n", "echo back")
	if code, _ := next.do("GET", "/v1/sandboxes/"+fmt.Sprint(box["id"]), nil); code != http.StatusNotFound {
		t.Errorf("a sandbox of the killed brigd: %d", code)
	}
	next.signal(os.Interrupt)
	next.end()
	before, after := events(t, log)
	for id := range seen {
		if !before[id] || !after[id] {
			t.Errorf("the run %s was answered and lacks an event: before %v, after %v", id, before[id], after[id])
		}
	}
	for id := range after {
		if !before[id] {
			t.Errorf("the run %s ended and never began", id)
		}
	}
	t.Logf("%d answered, %d begun, %d ended", len(seen), len(before), len(after))
}
