package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// logged is a line of an audit log.
type logged struct {
	Event, Run, Agent, Token, Sandbox, Status, Note string
	Argc                                            int
	Verdict                                         struct{ Code string }
}

// eventsOf returns what an audit log has of one kind.
func eventsOf(t *testing.T, log, kind string) (list []logged) {
	t.Helper()
	for line := range strings.Lines(string(must.Get(os.ReadFile(log))(t))) {
		v := logged{}
		must.Do(t, json.Unmarshal([]byte(line), &v))
		if v.Event == kind {
			list = append(list, v)
		}
	}
	return list
}

// refusals returns the codes of the refused runs in an audit log.
func refusals(t *testing.T, log string) (codes []string) {
	t.Helper()
	for _, v := range eventsOf(t, log, "run.refused") {
		codes = append(codes, v.Verdict.Code)
	}
	return codes
}

// What is refused by a queue, at either end, is in an audit log, as are the runs that a brigd sends to workers, with
// their ends.
func TestQueueIsAudited(t *testing.T) {
	once(t)
	d := dir(t)
	call(t, "", "token", "keygen", "--out", d+"/key")
	at := urls(cluster(t, 1))
	keys := []string{"--token-key", d + "/key.pub", "--state-dir"}
	audit := func(name string) []string {
		return append([]string{"--audit", d + "/" + name}, append(keys, d+"/state-"+name)...)
	}
	front := begin(t, nil, append([]string{"serve"}, append(audit("front"), "--listen", "unix:"+d+"/s", "--jetstream", at, "--queue", "2")...)...)
	startWorker(t, at, append(audit("worker"), "--running", "1", "--slots", "1", "--max-deliver", "1")...)
	mint := func(args ...string) string {
		return strings.TrimSpace(call(t, "", append([]string{"token", "mint", "--key", d + "/key.key", "--agent", "bot"}, args...)...))
	}

	front.key = mint("--runs", "1")
	_, a := front.run("echo one")
	ran := a["id"]
	for range 2 {
		if status, a := front.run("echo two"); status != 403 || a["code"] != "token_spent" {
			t.Errorf("%d %v", status, a)
		}
	}
	front.key = ""
	box, _ := front.sandbox(map[string]any{})
	_, a = front.do("POST", box+"/exec", map[string]any{"cmd": []string{"echo", "three"}})
	inBox := a["id"]
	sent, ends := eventsOf(t, d+"/front", "run.sent"), eventsOf(t, d+"/front", "run.end")
	if len(sent) != 2 || len(ends) != 2 {
		t.Fatalf("sent %+v, ended %+v", sent, ends)
	}
	for i, id := range []any{ran, inBox} {
		if sent[i].Run != id || ends[i].Run != id || ends[i].Status != "ok" || ends[i].Note == "" || sent[i].Argc == 0 {
			t.Errorf("%v: sent %+v, ended %+v", id, sent[i], ends[i])
		}
	}
	if sent[0].Agent != "bot" || sent[0].Token == "" || sent[1].Sandbox == "" {
		t.Errorf("by whom and where: %+v", sent)
	}
	if n := len(eventsOf(t, d+"/worker", "run.start")); n != 2 {
		t.Errorf("the worker has started %d", n)
	}

	going := front.later("sleep 3600")
	front.state(going, "running")
	front.key = mint()
	waiting := front.later("echo never")
	call(t, "", "token", "revoke", "--state-dir", d+"/state-worker", "--token", file(t, d+"/token", front.key))
	front.key = ""
	if status, a := front.run("true"); status != 429 || a["code"] != "queue_full" {
		t.Errorf("%d %v", status, a)
	}
	front.want(204, "DELETE", "/v1/runs/"+going, nil)
	front.ended(waiting, "X-Agent-Id", "bot")
	if got, want := fmt.Sprint(refusals(t, d+"/front")), "[token_spent token_spent queue_full]"; got != want {
		t.Errorf("the front has refused %s, not %s", got, want)
	}
	if got := fmt.Sprint(refusals(t, d+"/worker")); got != "[token_revoked]" {
		t.Errorf("the worker has refused %s", got)
	}
}

// Without a queue, a run that gets no place or is no request that can be run is in the audit log as well.
func TestRefusalsAreAudited(t *testing.T) {
	d := dir(t)
	p := begin(t, nil, "serve", "--listen", "unix:"+d+"/s", "--audit", d+"/audit", "--running", "1", "--queue", "0")
	w := p.stream("a", map[string]any{"cmd": []string{"sh", "-c", "echo; sleep 3600"}})
	defer w.Body.Close()
	must.Get(w.Body.Read(make([]byte, 1)))(t)
	if status, a := p.run("true"); status != 429 {
		t.Errorf("%d %v", status, a)
	}
	p.do("POST", "/v1/run", map[string]any{"cmd": []string{"true"}, "image": "none"})
	p.do("DELETE", "/v1/runs/"+eventsOf(t, d+"/audit", "run.start")[0].Run, nil, "X-Agent-Id", "a")
	p.do("POST", "/v1/run", map[string]any{"cmd": []string{"true"}, "image": "none"})
	if got := refusals(t, d+"/audit"); len(got) != 3 || got[2] != "image_not_allowed" {
		t.Errorf("%v", got)
	}
}
