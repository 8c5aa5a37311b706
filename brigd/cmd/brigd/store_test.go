package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/must"
)

// A sandbox outlives brigd, even after SIGKILL, with the files of its last save.
func TestSandboxStore(t *testing.T) {
	d := dir(t)
	args := []string{"serve", "--listen", "unix:" + d + "/s", "--sandbox-store", d + "/store", "--sandbox-save", "100ms"}
	p := begin(t, nil, args...)
	at, box := p.sandbox(map[string]any{"agent_id": "bot", "ttl": "20m"})
	if box["save_every"] != "100ms" {
		t.Errorf("%v", box)
	}
	put := func(name string) {
		t.Helper()
		if w, body := p.send("PUT", at+"/files/work/"+name, name); w.StatusCode != 200 {
			t.Fatalf("%d %s", w.StatusCode, body)
		}
	}
	var after time.Time
	for saved := false; !saved; time.Sleep(10 * time.Millisecond) {
		if time.Since(after) > 2*time.Second { // a save may have come between the file and its time
			put("first")
			after = time.Now()
		}
		_, now := p.do("GET", at, nil)
		text, _ := now["saved"].(string)
		when, err := time.Parse(time.RFC3339Nano, text)
		saved = err == nil && when.After(after)
	}
	status, snapshot := p.do("POST", at+"/snapshot", nil)
	if status != 201 || snapshot["state"] != "idle" {
		t.Fatalf("%d %v", status, snapshot)
	}
	if status, body := p.do("POST", "/v1/sandboxes", map[string]any{"agent_id": "other", "from": snapshot["id"]}); status != 404 {
		t.Errorf("another agent's: %d %v", status, body)
	}
	for _, end := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		if end == syscall.SIGTERM {
			put("second") // the save is that of the end
		}
		must.Do(t, p.cmd.Process.Signal(end))
		_ = p.cmd.Wait()
		p = begin(t, nil, args...)
		if w, body := p.send("GET", at+"/files/work/first", ""); w.StatusCode != 200 || body != "first" {
			t.Errorf("after %s: %d %s", end, w.StatusCode, body)
		}
	}
	if w, body := p.send("GET", at+"/files/work/second", ""); w.StatusCode != 200 || body != "second" {
		t.Errorf("%d %s", w.StatusCode, body)
	}
	last, n := 0, 0
	for round := range 6 { // killed at any moment of a save of a base or of changes, nothing older comes back
		for end := time.Now().Add(time.Duration(150+11*round) * time.Millisecond); time.Now().Before(end); {
			n++
			if w, body := p.send("PUT", at+"/files/work/n", fmt.Sprint(n, strings.Repeat(" x", n*50%9000))); w.StatusCode != 200 {
				t.Fatalf("%d %s", w.StatusCode, body)
			}
		}
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p = begin(t, nil, args...)
		w, body := p.send("GET", at+"/files/work/n", "")
		now := 0
		if _, err := fmt.Sscan(body, &now); w.StatusCode == 200 && (err != nil || now < last || strings.Count(body, " x") != now*50%9000) {
			t.Errorf("%d after %d: %.20q, %v", now, last, body, err)
		}
		last = now
	}
	if last == 0 {
		t.Error("nothing was ever saved")
	}
	fork, _ := p.sandbox(map[string]any{"agent_id": "bot", "from": snapshot["id"]})
	if w, body := p.send("GET", fork+"/files/work/first", ""); body != "first" {
		t.Errorf("%d %s", w.StatusCode, body)
	}
	if w, body := p.send("DELETE", "/v1/snapshots/"+snapshot["id"].(string), "", "X-Agent-Id", "bot"); w.StatusCode != http.StatusNoContent {
		t.Errorf("%d %s", w.StatusCode, body)
	}
	names, err := filepath.Glob(d + "/store/*")
	ofFork := func(name string) bool { return strings.Contains(name, filepath.Base(fork)) } // it may be saved meanwhile
	if names = slices.DeleteFunc(names, ofFork); len(names) > 2 || err != nil {
		t.Errorf("%q %v", names, err)
	}
	refuses(t, nil, []string{"serve", "--listen", "unix:" + d + "/t", "--sandbox-store", d + "/store"}, "--sandbox-store", "another brigd")
	open := filepath.Join(d, "open")
	must.Do(t, os.Mkdir(open, 0o700))
	must.Do(t, os.Chmod(open, 0o777))
	refuses(t, nil, []string{"serve", "--listen", "unix:" + d + "/t", "--sandbox-store", open}, "--sandbox-store", "other users")
	refuses(t, nil, []string{"serve", "--sandbox-save", "1s"}, "--sandbox-save", "--sandbox-store DIR")
	if log := p.logged(); strings.Contains(log, "level=ERROR") {
		t.Error(log)
	}
}

// What a killed brigd has left on disk of the changes of a share is removed by the next one.
func TestStoresOfAKilledBrigd(t *testing.T) {
	d := dir(t)
	for _, name := range []string{"/repo", "/up"} {
		must.Do(t, os.Mkdir(d+name, 0o755))
	}
	args := []string{"serve", "--listen", "unix:" + d + "/s", "--share", "repo=" + d + "/repo:cow,store=disk", "--share",
		"up=" + d + "/up:rw"}
	env := []string{"XDG_STATE_HOME=" + d + "/state"}
	must.Do(t, os.Mkdir(d+"/state", 0o700))
	p := begin(t, env, args...)
	why := make(chan string, 1)
	go func() {
		body := `{"cmd": ["sh", "-c", "echo >/data/new; echo >/mnt/up; sleep 1000"], "mounts": [{"share": "repo",
			"target": "/data"}, {"share": "up", "target": "/mnt"}]}`
		r, err := p.client.Post(p.url+"/v1/run", "application/json", strings.NewReader(body))
		if err != nil {
			return // brigd was killed
		}
		text, _ := io.ReadAll(r.Body)
		r.Body.Close()
		why <- string(text)
	}()
	for up := false; !up; time.Sleep(10 * time.Millisecond) {
		select {
		case no := <-why:
			t.Skip("no changes are kept on disk here: " + no)
		default:
		}
		_, err := os.Stat(d + "/up/up")
		up = err == nil
	}
	removed := false
	for range 20 { // what ran in the jail may hold its directory until it has ended, too
		must.Do(t, p.cmd.Process.Kill())
		_ = p.cmd.Wait() // it was killed
		p = begin(t, env, args...)
		if removed = strings.Contains(p.logged(), "changes of shares of earlier runs are removed"); removed {
			break
		}
	}
	if !removed {
		t.Errorf("nothing was removed: %s", p.logged())
	}
}
