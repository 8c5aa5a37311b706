package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"brig/internal/test/asuser"
	"brig/internal/test/long"
	"brig/internal/test/must"
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
	long.Again(t)
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
	long.Again(t)
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
	soon(t, "a result that was delivered is gone", func() bool {
		status, _ = p.do("GET", "/v1/runs/"+a["id"].(string), nil)
		return status == 404
	})
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
	must.Do(t, os.MkdirAll(d+"/elsewhere/revoked", 0o700))
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

// ids and times differ between two brigds; what was used is measured.
var differing = regexp.MustCompile(`(sb|sn|run)_[a-z0-9]+(-a)?|"[0-9-]+T[0-9:.]+Z"|,"(usage|queue)":{[^{}]*({[^{}]*}[^{}]*)*}|,"user":"[^"]*"|[0-7]{11}\x00[0-7]{6}\x00 `)

// step is a request about sandboxes, whose id and that of a snapshot stand for %s.
type step struct {
	method, path, body string
	header             []string
}

// stepped returns a request about sandboxes: good ones of every kind, and bad ones.
func stepped(r *rand.Rand) step {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	json := []string{"Content-Type", "application/json"}
	name := pick("work/a", "work/d/b", "output/c", "input/d", "work/a/x", "etc/passwd", "work/..", "work/link", "work/%20%3f%25", "work/d/")
	dir := pick("/work", "/work/d", "/input", "nowhere", "/", "d", "./d", "/work/a", "")
	box := "/v1/sandboxes/BOX"
	s := [...]step{
		{"POST", "/v1/sandboxes", pick(`{}`, `{"files":{"x":"<hello> & \u2028"}}`, `{"disk":"1m","inodes":64}`, `{"ttl":-1}`, `{"disk":"9t"}`, `{"files":{"../x":"y"}}`), json},
		{"POST", "/v1/sandboxes", `{"from":"SNAP"}`, json},
		{"POST", "/v1/sandboxes", `{"from":"sn_no"}`, json},
		{"POST", box + "/exec", `{"cmd":["sh","-c","` + pick("ls -R /work /input /output; exit 3", "echo $$ > /work/a; mkdir -p /work/d; ln -s /etc/passwd /work/link", "seq 9", "kill -9 $$", "echo <&> 1>&2", "mkfifo /work/fifo") + `"]}`, json},
		{"POST", box + "/exec", `{"language":"python","code":"print(open('/input/x').read())","files":{"x":"inline"},"max_output":` + pick("3", "1000") + `}`, json},
		{"POST", box + "/exec", pick(`{"cmd":[]}`, `{"cmd":["no-such"]}`, `{"cmd":["true"],"sandbox":"other"}`, `{`, `{"cmd":["true"],"memory":-1}`, `{"cmd":["sleep","9"],"timeout":0.05}`), json},
		{"POST", "/v1/run", `{"cmd":["cat","/work/a"],"sandbox":"` + pick("BOX", "sb_no", "sb_x-no.>", "../x") + `"}`, json},
		{"PUT", box + "/files/" + name + pick("", "?mode=755", "?mode=9"), pick("", "text", strings.Repeat("large", 300_000)), nil},
		{"GET", box + "/files/" + name, "", nil},
		{"DELETE", box + "/files/" + name, "", nil},
		{"GET", box + "/files?path=" + dir + pick("", "&recursive=1", "&after=/work/a", "&recursive=1&after=x", "&wrong=1"), "", nil},
		{"GET", box + "/allowed?path=" + dir + pick("", "&write=1"), "", nil},
		{"GET", box + "/tree?path=" + dir, "", nil},
		{"PUT", box + "/tree?path=" + dir, pick("", "no archive", string(make([]byte, 1024))), nil},
		{"POST", box + "/snapshot", "", nil},
		{"GET", pick("/v1/snapshots", "/v1/sandboxes", box, box+"/runs", "/v1/sandboxes/sb_no"), "", nil},
		{"DELETE", pick("/v1/snapshots/SNAP", box, "/v1/snapshots/sn_no", "/v1/sandboxes/sb_no", "/v1/snapshots/sn_no", "/v1/sandboxes/sb_no"), "", nil},
	}[r.IntN(17)]
	if r.IntN(8) == 0 {
		s.header = append(s.header, "X-Agent-Id", pick("mallory", "default"))
	}
	if strings.HasSuffix(s.path, "/exec") && r.IntN(2) == 0 {
		s.header = append(s.header, "Accept", "application/x-ndjson")
	}
	return s
}

// The same requests about sandboxes have the same answers by a brigd alone and by a worker of the queue.
func TestQueueSandboxesAnswerAsHTTP(t *testing.T) {
	long.Again(t)
	args := []string{"--sandboxes-per-agent", "1000", "--sandboxes", "1000", "--sandbox-size", "8m", "--optional", "memory,memory_swap"}
	direct := begin(t, nil, append([]string{"serve", "--listen", "unix:" + dir(t) + "/s"}, args...)...)
	at := urls(cluster(t, 1))
	startWorker(t, at, append(args, "--worker-name", "a")...)
	queued := begin(t, nil, append([]string{"serve", "--listen", "unix:" + dir(t) + "/s", "--jetstream", at}, args...)...)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 3))
	t.Logf("seed %d", seed)
	var ids [2]struct{ boxes, snaps []string }
	n := size(200)
	if asuser.Second() {
		n /= 4
	}
	kinds := map[int]int{}
	for i := range n {
		s, which := stepped(r), r.IntN(1<<20)
		if i == 0 { // most of the others need a sandbox
			s = step{"POST", "/v1/sandboxes", "{}", []string{"Content-Type", "application/json"}}
		}
		var got [2]string
		for k, p := range []*proc{direct, queued} {
			known := &ids[k]
			box, snap := "sb_none", "sn_none"
			if n := len(known.boxes); n > 0 { // of the last three: earlier ones may be deleted
				box = known.boxes[n-1-which%min(n, 3)]
			}
			if n := len(known.snaps); n > 0 {
				snap = known.snaps[n-1-which%min(n, 3)]
			}
			put := strings.NewReplacer("BOX", box, "SNAP", snap)
			w, text := p.send(s.method, put.Replace(s.path), put.Replace(s.body), s.header...)
			var made struct{ ID string }
			if w.StatusCode == 201 && json.Unmarshal([]byte(text), &made) == nil {
				if strings.HasPrefix(made.ID, "sb_") {
					known.boxes = append(known.boxes, made.ID)
				} else {
					known.snaps = append(known.snaps, made.ID)
				}
			}
			if strings.Contains(w.Header.Get("Content-Type"), "ndjson") {
				text = pieces.ReplaceAllString(text, "")
			}
			kinds[w.StatusCode]++
			got[k] = fmt.Sprintf("%d %s %s", w.StatusCode, w.Header.Get("Content-Type"), differing.ReplaceAllString(text, "$1"))
		}
		if got[0] != got[1] {
			t.Errorf("%s %s %.200s %v:\nby HTTP      %.2000s\nby the queue %.2000s", s.method, s.path, s.body, s.header, got[0], got[1])
		}
	}
	t.Logf("answers by status: %v", kinds)
}

// pieces are how a stream of output is cut, which is by chance.
var pieces = regexp.MustCompile(`"}\n{"type":"std(out|err)","data":"`)
