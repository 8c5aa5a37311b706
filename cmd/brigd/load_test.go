package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"brig/nsjail/audit"
)

// daemon is a brigd that a test has started.
type daemon struct {
	cmd    *exec.Cmd
	socket string
	log    *bytes.Buffer
	client *http.Client
}

// startDaemon starts brigd with a socket in dir and waits until it answers.
func startDaemon(t *testing.T, dir string, flags ...string) *daemon {
	t.Helper()
	d := &daemon{socket: filepath.Join(dir, "s"), log: &bytes.Buffer{}}
	d.cmd = exec.Command(brigd(t), append([]string{"serve", "--listen", "unix:" + d.socket}, flags...)...)
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.cmd.Process.Kill(); _ = d.cmd.Wait() })
	d.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", d.socket)
		}}}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if r, err := d.client.Get("http://brigd/healthz"); err == nil {
			r.Body.Close()
			return d
		}
		if time.Now().After(end) {
			t.Fatalf("brigd does not answer:\n%s", d.log)
		}
	}
}

// answered is what a client of the load has seen.
type answered struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Stdout  string `json:"stdout"`
	Message string `json:"error"` // of a refusal
}

// ask sends one run, again after each 429, and gives the answer.
func (d *daemon) ask(agent, script string) (a answered, err error) {
	body, err := json.Marshal(map[string]any{"cmd": []string{"/bin/sh", "-c", script}, "agent_id": agent})
	if err != nil {
		return a, err
	}
	for {
		r, err := d.client.Post("http://brigd/v1/run", "application/json", bytes.NewReader(body))
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

// 200 clients run many jails each through one brigd: no answer is lost, doubled or another's, nobody waits for ever while
// others are served, memory stays bounded, and the audit log has an event before and after each.
func TestLoad(t *testing.T) {
	clients, each := 200, 5
	if os.Getenv("BRIG_TEST_FULL") != "" {
		each = 50
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "audit.jsonl")
	d := startDaemon(t, dir, "--audit", log, "--pool", "16", "--queue", "512", "--rate", "0")
	var mu sync.Mutex
	seen := map[string]bool{}
	waits := make([][]time.Duration, clients)
	var wg sync.WaitGroup
	begin := time.Now()
	for c := range clients {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range each {
				want := fmt.Sprintf("client %d run %d\n", c, i)
				start := time.Now()
				a, err := d.ask(fmt.Sprint("agent-", c), "printf 'client %d run %d\\n' "+fmt.Sprint(c, " ", i))
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
		}()
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
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("brigd ended with %v:\n%s", err, d.log)
	}
	before, after := events(t, log)
	for id := range seen {
		if !before[id] || !after[id] {
			t.Fatalf("the run %s lacks an event: before %v, after %v", id, before[id], after[id])
		}
	}
}

// fair compares the clients' slowest runs: with a queue that is fair, nobody's is far from the others'.
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
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(kb, " kB")), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

// events are the runs with an event before and after, of a log that verifies.
func events(t *testing.T, log string) (before, after map[string]bool) {
	t.Helper()
	if _, err := audit.Verify(log); err != nil {
		t.Errorf("the audit log: %v", err)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
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
