package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// Neither the results of one caller nor his requests, taken or refused, fill the queue's disk: his oldest results go,
// and the others are served.
func TestQueueBytesOfOneCaller(t *testing.T) {
	rooted(t)
	d := dir(t)
	must.Do(t, os.Mkdir(d+"/q", 0o700))
	port := freePort(t)
	conf := file(t, d+"/conf", fmt.Sprintf("listen: 127.0.0.1:%d\nauthorization {users: [{user: brig, password: secret}]}\n", port))
	p := beginCmd(t, exec.Command("unshare", "-m", "sh", "-c", `mount -t tmpfs -o size=192m,mode=700 none "$0" && exec "$@"`, d+"/q",
		brigd(t), "serve", "--listen", "unix:"+d+"/s", "--jetstream", d+"/q", "--jetstream-config", conf, "--running", "4"), nil)
	var ids []string
	for range 60 {
		ids = append(ids, p.later("head -c 900000 /dev/zero | tr '\\0' x", "X-Agent-Id", "alice"))
	}
	last := p.ended(ids[len(ids)-1], "X-Agent-Id", "alice")
	if n := len(last["stdout"].(string)); n != 900_000 {
		t.Errorf("her last result has %d bytes: %v", n, last["error"])
	}
	if no, _ := p.ended(ids[0], "X-Agent-Id", "alice")["error"].(map[string]any); no["code"] != "result_gone" {
		t.Errorf("her first result: %v", no)
	}
	body := map[string]any{"cmd": []string{"true"}, "stdin": strings.Repeat("x", 4<<20)}
	p.later("sleep 3600", "X-Agent-Id", "alice")
	away := begin(t, nil, "serve", "--listen", "unix:"+d+"/s2", "--jetstream", fmt.Sprintf("nats://brig:secret@127.0.0.1:%d", port))
	refused := 0
	for i := range 12 {
		body["timeout"], body["cmd"] = 3600, []string{"sleep", "3600"}
		status, a := []*proc{p, away}[i%2].do("POST", "/v1/run", body, "X-Agent-Id", "alice", "Prefer", "respond-async")
		if status == 429 && a["code"] == "queue_full" {
			refused++
		} else if status != 202 {
			t.Fatalf("%d %v", status, a)
		}
	}
	if refused < 9 { // one of her runs has 4 MiB, and she a quarter of a quarter of three quarters
		t.Errorf("%d of 12 large requests were refused", refused)
	}
	p.prints("served\n", "echo served", "X-Agent-Id", "bob")
	if strings.Contains(p.logged(), "is started again") {
		t.Error("the server has ended")
	}
}
