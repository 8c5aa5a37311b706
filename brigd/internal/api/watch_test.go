package api

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"brig/brigd/engine"
	"brig/internal/test/must"
)

// open begins a watch, and returns a reader of its lines.
func (g *rig) watch(query string, headers ...string) (*http.Response, *bufio.Scanner) {
	g.Helper()
	r := must.Get(g.client.Do(g.request("GET", query, "", headers...)))(g)
	g.Cleanup(func() { r.Body.Close() })
	return r, bufio.NewScanner(r.Body)
}

func TestWatch(t *testing.T) {
	g := newRig(t, Options{Engine: newFake()})
	at := g.newBox()
	for accept, want := range map[string]string{"*/*": `{"type":"watching","path":"/work/d"}`,
		jsonType: `{"type":"watching","path":"/work/d"}`, ndjsonType: `{"type":"watching","path":"/work/d"}`,
		sseType: "event: watching"} {
		r, lines := g.watch(at+"/watch?path=/work/d&recursive=1", "Accept", accept)
		if lines.Scan(); lines.Text() != want || r.StatusCode != 200 {
			t.Errorf("%s: %s %q", accept, r.Status, lines.Text())
		}
		if kind := r.Header.Get("Content-Type"); kind != ndjsonType && (accept != sseType || kind != sseType) {
			t.Errorf("%s: %s", accept, kind)
		}
		if lines.Scan(); accept != sseType && lines.Text() != `{"type":"create","path":"/work/a"}` {
			t.Errorf("%s: %q", accept, lines.Text())
		}
	}
	r := g.do(200, "GET", at+"/watch?path=/work/ends", "", "Accept", ndjsonType)
	if !strings.HasSuffix(string(r.text), `{"type":"end","note":"it ends"}`+"\n") {
		t.Errorf("%s", r.text)
	}
	g.do(200, "HEAD", at+"/watch", "")
	g.refused(406, "not_acceptable", "GET", at+"/watch", "", "Accept", "text/html")
	g.refused(404, "not_found", "GET", at+"/watch", "", "X-Agent-Id", "bob")
	g.refused(404, "not_found", "GET", "/v1/sandboxes/none/watch", "")
}

// A watch ends with its client, and leaves its place to others.
func TestWatchOfAClientThatGoes(t *testing.T) {
	f := newFake()
	left := make(chan error, 1)
	g := newRig(t, Options{Engine: leaving{f, left}})
	at := g.newBox()
	r, lines := g.watch(at + "/watch")
	lines.Scan()
	r.Body.Close()
	select {
	case <-left:
	case <-time.After(10 * time.Second):
		t.Fatal("the watch goes on")
	}
}

// leaving tells when a watch has ended.
type leaving struct {
	*fake
	left chan error
}

func (l leaving) WatchFiles(ctx context.Context, c engine.Caller, id, path string, recursive bool,
	tell func([]engine.Notice) error) error {
	err := l.fake.WatchFiles(ctx, c, id, path, recursive, tell)
	l.left <- err
	return err
}

// A server that shuts down waits for no watch, and tells its clients.
func TestWatchOfAServerThatEnds(t *testing.T) {
	o := filled(Options{Engine: newFake()})
	srv := HTTPServer(newServer(o), o.Logger)
	l := must.Get(net.Listen("unix", t.TempDir()+"/s"))(t)
	go srv.Serve(l)
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", l.Addr().String())
	}}}
	defer client.CloseIdleConnections()
	r := must.Get(client.Post("http://localhost/v1/sandboxes", jsonType, strings.NewReader("{}")))(t)
	var box engine.SandboxInfo
	must.Do(t, json.NewDecoder(r.Body).Decode(&box))
	r.Body.Close()
	r = must.Get(client.Get("http://localhost/v1/sandboxes/" + box.ID + "/watch"))(t)
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	lines.Scan()
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	if took := time.Since(begin); took > 5*time.Second || last != `{"type":"end","note":"brigd shuts down"}` {
		t.Errorf("%v, %q", took, last)
	}
}

// One caller leaves watches to others, and one that has ended is free again.
func TestWatchesAreShared(t *testing.T) {
	g := newRig(t, Options{Engine: newFake()})
	alice, bob := []string{"X-Agent-Id", "alice"}, []string{"X-Agent-Id", "bob"}
	at := g.newBox(alice...)
	var all []*http.Response
	for range maxWatches / 4 {
		r, lines := g.watch(at+"/watch", alice...)
		if lines.Scan(); r.StatusCode != 200 {
			t.Fatal(r.Status, lines.Text())
		}
		all = append(all, r)
	}
	g.refused(429, "too_many_watches", "GET", at+"/watch", "", alice...)
	if r, _ := g.watch(g.newBox(bob...)+"/watch", bob...); r.StatusCode != 200 {
		t.Error(r.Status)
	}
	all[0].Body.Close() // of what bob leaves, a quarter is one less
	all[1].Body.Close()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		r, _ := g.watch(at+"/watch", alice...)
		if r.StatusCode == 200 {
			break
		}
		if time.Now().After(end) {
			t.Fatal(r.Status)
		}
	}
}
