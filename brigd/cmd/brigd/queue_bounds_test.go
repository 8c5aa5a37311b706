package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
)

// kinds are a brigd alone, one with a queue of its own, and one whose runs go to a worker: what bounds one caller
// (docs/agents.md) does so in each. The settings are those of both brigds of the third.
func kinds(t *testing.T, args []string, each func(t *testing.T, p *proc, queued bool)) {
	for _, kind := range []string{"alone", "own", "front"} {
		t.Run(kind, func(t *testing.T) {
			mine := append([]string{"serve", "--listen", "unix:" + dir(t) + "/s"}, args...)
			switch kind {
			case "own":
				mine = append(mine, "--jetstream", dir(t)+"/q")
			case "front":
				at := urls(cluster(t, 1))
				startWorker(t, at, args...)
				mine = append(mine[:3], "--jetstream", at, "--queue", "12", "--queue-per-caller", "6")
			}
			each(t, begin(t, nil, mine...), kind != "alone")
		})
	}
}

// asks sends requests of an agent at once, and returns the channel of their status codes.
func (p *proc) asks(count int, path, agent string, body map[string]any, header ...string) chan int {
	answers := make(chan int, count)
	for range count {
		go func() {
			status, _ := p.do("POST", path, body, append(header, "X-Agent-Id", agent)...)
			answers <- status
		}()
	}
	return answers
}

// One caller has his places, in runs and in sandboxes, and leaves the others theirs.
func TestPlacesOfOneCaller(t *testing.T) {
	once(t)
	log := dir(t) + "/audit"
	args := []string{"--running", "4", "--per-caller", "2", "--drain-timeout", "0s", "--audit", log}
	kinds(t, args, func(t *testing.T, p *proc, _ bool) {
		started := func() int { // since the log is the same, of all kinds so far
			return strings.Count(string(must.Get(os.ReadFile(log))(t)), `"event":"run.start"`)
		}
		p.client.Timeout = 30 * time.Second // where he has no place
		box, _ := p.sandbox(map[string]any{"disk": "1m"}, "X-Agent-Id", "alice")
		for _, path := range []string{box + "/exec", "/v1/run"} {
			before := started()
			p.asks(6, path, "alice", map[string]any{"cmd": []string{"sleep", "3600"}, "timeout": 3600})
			soon(t, "alice's runs go on", func() bool { return started() >= before+2 })
			for range 3 {
				p.ran(200, "true", "X-Agent-Id", "bob")
			}
			if n := started() - before; n != 2+3 {
				t.Errorf("%s: %d runs were started, and not two of alice's and three of bob's", path, n)
			}
			if path != "/v1/run" {
				p.want(204, "DELETE", box, nil, "X-Agent-Id", "alice")
			}
		}
		p.client.Timeout = 0
	})
}

// Those of one caller that wait are bounded in all classes together.
func TestWaitingOfOneCaller(t *testing.T) {
	once(t)
	kinds(t, []string{"--running", "1", "--queue", "12", "--queue-per-caller", "6"}, func(t *testing.T, p *proc, queued bool) {
		long := map[string]any{"cmd": []string{"sleep", "3600"}}
		refused := make(chan int, 15)
		for i := range 15 {
			go func() {
				status, _ := p.do("POST", "/v1/run", long, "X-Agent-Id", "alice", "Priority", fmt.Sprint("u=", i%3*3))
				refused <- status
			}()
		}
		want := 15 - 7 // one goes on, and six wait
		if queued {
			want = 15 - 6 // all that are in the queue count
		}
		for i := range want {
			if status := <-refused; status != 429 {
				t.Errorf("answer %d: %d", i, status)
			}
		}
		bob := p.asks(1, "/v1/run", "bob", long)
		if queued {
			soon(t, "bob's run is there", func() bool {
				_, q := p.do("GET", "/v1/queue", nil)
				return q["length"] == 7.0
			})
		} else {
			p.until("waiting", "7")
		}
		select {
		case status := <-refused:
			t.Errorf("one more of alice's is answered: %d", status)
		case status := <-bob:
			t.Errorf("bob's run: %d", status)
		default:
		}
	})
}
