package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// brigd map runs every job once, although it is killed and brigd is, too; submit and queue speak to the same queue.
func TestQueueBatch(t *testing.T) {
	once(t)
	d := dir(t)
	args := []string{"serve", "--listen", "unix:" + d + "/s", "--jetstream", d + "/q", "--ack-wait", "1s"}
	var jobs strings.Builder
	for i := range 40 {
		fmt.Fprintf(&jobs, `{"cmd":["sh","-c","sleep 0.1; echo %d"]}`+"\n", i)
	}
	jobs.WriteString(`{"cmd":"no list"}` + "\n")
	in, out, plot := file(t, d+"/jobs", jobs.String()), d+"/out", d+"/plot.html"
	tool := func(args ...string) (string, int) {
		t.Helper()
		cmd := exec.Command(brigd(t), args...)
		text, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(text), cmd.ProcessState.ExitCode()
	}
	mapping := []string{"map", "--socket", d + "/s", "--jobs", in, "--out", out, "--parallel", "4", "--plot", plot}
	if text, code := tool(mapping...); code != 125 || !strings.Contains(text, "start it, or name its socket") {
		t.Errorf("without a brigd: %d %s", code, text)
	}
	p := begin(t, nil, args...)
	cut := exec.Command(brigd(t), mapping...)
	must.Do(t, cut.Start())
	for range 3000 { // until there are some results
		if text, _ := os.ReadFile(out); bytes.Count(text, []byte{'\n'}) > 5 {
			break
		}
		if status, _ := p.do("GET", "/healthz", nil); status == 0 {
			t.Fatal(p.logged())
		}
	}
	_ = cut.Process.Kill()
	_ = cut.Wait()
	f := must.Get(os.OpenFile(out, os.O_APPEND|os.O_WRONLY, 0))(t)
	if _, err := f.WriteString(`{"job":7,"resu`); err != nil || f.Close() != nil { // a line that a crash has cut off
		t.Fatal(err)
	}
	if text, code := tool(mapping...); code != 1 || !strings.Contains(text, "41 of 41 jobs, 1 refused") {
		t.Errorf("%d %s", code, text)
	}
	text := must.Get(os.ReadFile(out))(t)
	for i := range 40 {
		if n := strings.Count(string(text), fmt.Sprintf(`"stdout":"%d\n"`, i)); n != 1 {
			t.Errorf("job %d has %d results", i, n)
		}
	}
	if page, err := os.ReadFile(plot); err != nil || !bytes.Contains(page, []byte("<h1>41 jobs")) {
		t.Errorf("the page: %v", err)
	}
	id, code := tool("submit", "--socket", d+"/s", "--", "echo", "hello")
	if code != 0 || p.ended(strings.TrimSpace(id))["stdout"] != "hello\n" {
		t.Errorf("%d %s", code, id)
	}
	if text, code := tool("submit", "--wait", "--socket", d+"/s", "--", "sh", "-c", "echo out; exit 7"); code != 7 || text != "out\n" {
		t.Errorf("%d %q", code, text)
	}
	if text, code := tool("queue", "--socket", d+"/s"); code != 0 || !strings.Contains(text, "slots") {
		t.Errorf("%d %s", code, text)
	}
	if text, code := tool("queue", "--socket", d+"/s", "requeue", "run_none"); code != 125 || !strings.Contains(text, "given up") {
		t.Errorf("%d %s", code, text)
	}
}
