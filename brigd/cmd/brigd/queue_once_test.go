package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"brig/internal/test/must"
)

// forgetful makes the server forget at once what it would recognize for two minutes: messages that come twice. It
// speaks NATS by hand, since only package queue may import the client.
func (n *node) forgetful() {
	n.t.Helper()
	c := must.Get(net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", n.client)))(n.t)
	defer c.Close()
	in := bufio.NewReader(c)
	ask := func(subject, body string) (answer map[string]any) {
		must.Get(fmt.Fprintf(c, "PUB $JS.API.STREAM.%s.BRIG_RUNS r %d\r\n%s\r\n", subject, len(body), body))(n.t)
		for {
			line := must.Get(in.ReadString('\n'))(n.t)
			if strings.HasPrefix(line, "MSG r ") {
				must.Do(n.t, json.NewDecoder(strings.NewReader(must.Get(in.ReadString('\n'))(n.t))).Decode(&answer))
				return answer
			}
		}
	}
	must.Get(io.WriteString(c, `CONNECT {"user":"brig","pass":"secret","verbose":false}`+"\r\nSUB r 1\r\n"))(n.t)
	config := ask("INFO", "")["config"].(map[string]any)
	config["duplicate_window"] = 100 * time.Millisecond // the server takes no less
	if a := ask("UPDATE", string(must.Get(json.Marshal(config))(n.t))); a["error"] != nil {
		n.t.Fatal(a)
	}
}

// starts returns how often an audit log has the start of a run.
func starts(t *testing.T, log, id string) int {
	t.Helper()
	return strings.Count(string(must.Get(os.ReadFile(log))(t)), `"event":"run.start","run":"`+id+`"`)
}

// A run with an Idempotency-Key starts once, however often and late it is asked for, and is counted once: by its
// record, and not while the server remembers its message.
func TestQueueStartsOnce(t *testing.T) {
	once(t)
	d := dir(t)
	call(t, "", "token", "keygen", "--out", d+"/key")
	nodes := cluster(t, 1)
	at := urls(nodes)
	token := []string{"--token-key", d + "/key.pub", "--state-dir"}
	front := begin(t, nil, append(append([]string{"serve", "--listen", "unix:" + d + "/s", "--jetstream", at}, token...), d+"/front")...)
	log := d + "/audit"
	startWorker(t, at, append(append([]string{"--audit", log, "--running", "1", "--slots", "1"}, token...), d+"/worker")...)
	nodes[0].forgetful()
	mint := func() string {
		return strings.TrimSpace(call(t, "", "token", "mint", "--key", d+"/key.key", "--agent", "bot", "--runs", "1"))
	}

	front.key = mint()
	going := front.later("sleep 3600", "Idempotency-Key", "going")
	front.state(going, "running")
	front.key = mint()
	waiting := front.later("echo waited", "Idempotency-Key", "waiting")
	time.Sleep(150 * time.Millisecond) // the server has forgotten both
	for range 3 {
		if again := front.later("echo waited", "Idempotency-Key", "waiting"); again != waiting {
			t.Errorf("the run that waits: %s, not %s", again, waiting)
		}
	}
	front.key = ""
	front.want(204, "DELETE", "/v1/runs/"+going, nil, "X-Agent-Id", "bot")
	if a := front.ended(waiting, "X-Agent-Id", "bot"); a["stdout"] != "waited\n" {
		t.Errorf("%v", a)
	}

	front.key = mint()
	answers, sixty := make([]string, 60), ""
	var callers sync.WaitGroup
	for i := range answers {
		callers.Go(func() {
			status, a := front.run("sleep 0.3; echo $$ $(cat /proc/uptime)", "Idempotency-Key", "sixty")
			answers[i] = fmt.Sprint(status, a["id"], a["stdout"], a["code"])
		})
	}
	callers.Wait()
	sixty = front.later("sleep 0.3; echo $$ $(cat /proc/uptime)", "Idempotency-Key", "sixty")
	for _, a := range answers {
		if a != answers[0] || !strings.HasPrefix(a, "200") {
			t.Errorf("equal requests at once: %q", answers)
			break
		}
	}
	if status, a := front.run("true"); status != 403 || a["code"] != "token_spent" {
		t.Errorf("another run with the token: %d %v", status, a)
	}
	for _, id := range []string{going, waiting, sixty} {
		if n := starts(t, log, id); n != 1 {
			t.Errorf("%s was started %d times", id, n)
		}
	}
}
