package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"brig/internal/test/asuser"
)

// made returns a request: good ones of every kind, and bad ones.
func made(r *rand.Rand) map[string]any {
	word := fmt.Sprint(r.IntN(1000))
	q := map[string]any{}
	switch r.IntN(9) {
	case 0:
		q["language"], q["code"], q["args"] = "sh", "echo $1; exit "+fmt.Sprint(r.IntN(4)), []string{word}
	case 1:
		q["cmd"], q["stdin"] = []string{"cat"}, strings.Repeat(word, r.IntN(2000))
	case 2:
		q["cmd"], q["files"] = []string{"sha256sum", "/input/d/f"}, map[string]any{"d/f": word}
	case 3:
		q["cmd"], q["secrets"] = []string{"sh", "-c", "echo $S; echo $E"}, map[string]any{"S": "hidden-" + word}
		q["env"] = map[string]any{"E": word}
	case 4:
		q["cmd"], q["timeout"] = []string{"sleep", "60"}, 0.05
	case 5:
		q["cmd"] = []string{"sh", "-c", "kill -" + fmt.Sprint(1+r.IntN(15)) + " $$"}
	case 6:
		q["cmd"], q["max_output"] = []string{"seq", "5000"}, 100+r.IntN(1000)
	case 7:
		q["cmd"] = []string{"no-such-" + word}
	default:
		q["cmd"], q["memory"] = []string{"true"}, -5
	}
	return q
}

// compared returns what must be the same in an answer: not the id, the time that it took and how it came.
func compared(a map[string]any) map[string]any {
	for _, k := range []string{"id", "usage", "queue"} {
		delete(a, k)
	}
	if e, ok := a["enforced"].(map[string]any); ok {
		delete(e, "user") // has a number of the process
	}
	return a
}

// The same request has the same answer by HTTP and by the queue.
func TestQueueAnswersAsHTTP(t *testing.T) {
	d := dir(t)
	direct := begin(t, nil, "serve", "--listen", "unix:"+d+"/direct")
	queued := begin(t, nil, "serve", "--listen", "unix:"+d+"/queued", "--jetstream", d+"/q")
	r := rand.New(rand.NewPCG(1, 2))
	n := size(200)
	if asuser.Second() {
		n /= 8
	}
	for i := range n {
		q := made(r)
		header := []string{}
		if i%3 == 0 {
			header = []string{"Accept", "application/x-ndjson"}
		}
		s1, a := direct.do("POST", "/v1/run", q, header...)
		s2, b := queued.do("POST", "/v1/run", q, header...)
		if len(header) > 0 {
			a, b = joined(t, a), joined(t, b)
		}
		if s1 != s2 || !reflect.DeepEqual(compared(a), compared(b)) {
			t.Errorf("%v:\nby HTTP %d %v\nby the queue %d %v", q, s1, a, s2, b)
		}
	}
}

// joined returns the answer that a stream of events makes.
func joined(t *testing.T, a map[string]any) map[string]any {
	t.Helper()
	text, ok := a["text"].(string)
	if !ok {
		return a // a refusal
	}
	var out [2]string
	for in := json.NewDecoder(strings.NewReader(text)); ; {
		var e map[string]any
		if err := in.Decode(&e); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		switch e["type"] {
		case "stdout":
			out[0] += e["data"].(string)
		case "stderr":
			out[1] += e["data"].(string)
		case "end":
			a = e["result"].(map[string]any)
			a["stdout"], a["stderr"] = out[0], out[1]
			return a
		}
	}
}

// What is larger than a message goes through the object store, both ways and as a stream.
func TestQueueLarge(t *testing.T) {
	d := dir(t)
	p := begin(t, nil, "serve", "--listen", "unix:"+d+"/s", "--jetstream", d+"/q", "--max-output", "8m")
	in := strings.Repeat("0123456789abcdef", 3<<16) // 3 MiB
	status, a := p.do("POST", "/v1/run", map[string]any{"cmd": []string{"cat"}, "stdin": in})
	if status != 200 || a["stdout"] != in {
		t.Errorf("%d, %d bytes of %d: %.300v", status, len(fmt.Sprint(a["stdout"])), len(in), a["error"])
	}
	// its object goes with its record, and not with those of given up runs, which are kept longer
	meta, err := os.ReadFile(d + "/q/store/jetstream/$G/streams/OBJ_BRIG_LARGE/meta.inf")
	if day := fmt.Sprintf(`"max_age":%d,`, 24*time.Hour); err != nil || !strings.Contains(string(meta), day) {
		t.Errorf("%v: large results are not kept for %s: %s", err, day, meta)
	}
	// it was delivered, and is removed
	for end := time.Now().Add(20 * time.Second); status != 404 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		status, _ = p.do("GET", "/v1/runs/"+a["id"].(string), nil)
	}
	if status != 404 {
		t.Errorf("a result that was delivered is still there: %d", status)
	}
	got := 0
	if err := p.events(t.Context(), "head -c 20000000 /dev/zero | tr '\\0' x", func(e map[string]any) {
		if e["type"] == "stdout" {
			got += len(e["data"].(string))
		}
	}); err != nil || got != 20_000_000 {
		t.Errorf("a stream of %d bytes: %v", got, err)
	}
}

// A token is verified again when its run starts: a run does not start whose token was revoked meanwhile, at another
// brigd, and one that goes on ends. Runs are counted once, where they are asked for.
func TestQueueTokens(t *testing.T) {
	once(t)
	d := dir(t)
	tool := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(brigd(t), append([]string{"token"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	tool("keygen", "--out", d+"/key")
	front := begin(t, nil, "serve", "--listen", "unix:"+d+"/s", "--jetstream", d+"/q", "--state-dir", d+"/front",
		"--token-key", d+"/key.pub", "--running", "1")
	token := tool("mint", "--key", d+"/key.key", "--agent", "bot", "--runs", "3")
	front.key = token
	if status, a := front.run("echo hello"); status != 200 || a["stdout"] != "hello\n" {
		t.Fatalf("%d %v\n%s", status, a, front.logged())
	}
	going := front.later("sleep 3600")
	front.state(going, "running") // in the only slot
	waiting := front.later("echo never")
	if status, a := front.run("echo fourth"); status != 403 {
		t.Errorf("a fourth run of three: %d %v", status, a)
	}
	begin(t, nil, "serve", "--listen", "unix:"+d+"/s2", "--jetstream", "unix:"+d+"/q", "--state-dir", d+"/elsewhere",
		"--token-key", d+"/key.pub")
	if err := os.MkdirAll(d+"/elsewhere/revoked", 0o700); err != nil {
		t.Fatal(err)
	}
	file(t, d+"/elsewhere/revoked/! a file that is no revocation", "") // must not keep the others
	tool("revoke", "--state-dir", d+"/elsewhere", "--token", file(t, d+"/token", token))
	front.key = "" // the operator looks
	for _, id := range []string{going, waiting} {
		a := front.ended(id, "X-Agent-Id", "bot")
		no, _ := a["error"].(map[string]any)
		if a["stdout"] != "" || id == waiting && no["code"] != "token_revoked" {
			t.Errorf("%v", a)
		}
	}
}
