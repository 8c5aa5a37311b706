package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
)

// event is an engine.Event with an outcome.
type event struct {
	Type, ID, Data string
	Result         *outcome
}

// open starts a streamed run and returns its events as they come.
func (g *rig) open(ctx context.Context, path, body, kind string) (*http.Response, func() event) {
	g.Helper()
	resp := must.Get(g.client.Do(g.request("POST", path, body, "Accept", kind).WithContext(ctx)))(g)
	g.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != 200 {
		text, _ := io.ReadAll(resp.Body)
		g.Fatalf("%s: %s", resp.Status, text)
	}
	lines := bufio.NewReader(resp.Body)
	return resp, func() (e event) {
		g.Helper()
		line, err := lines.ReadString('\n')
		for err == nil && kind == sseType && !strings.HasPrefix(line, "data: ") {
			line, err = lines.ReadString('\n')
		}
		if err != nil {
			g.Fatalf("%q: %v", line, err)
		}
		must.Do(g, json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &e))
		return e
	}
}

func TestStream(t *testing.T) {
	g := newRig(t, Options{Engine: newFake()})
	for _, kind := range []string{ndjsonType, sseType} {
		r := g.do(200, "POST", "/v1/run", `{"code":"say a\nb"}`, "Accept", kind)
		if r.Header.Get("Content-Type") != kind {
			t.Errorf("%v", r.Header)
		}
		text := string(r.text)
		if kind == sseType {
			var lines []string
			for _, message := range strings.Split(strings.TrimSuffix(text, "\n\n"), "\n\n") {
				name, data, ok := strings.Cut(message, "\n")
				data, also := strings.CutPrefix(data, "data: ")
				if !ok || !also || !strings.Contains(data, `"type":"`+strings.TrimPrefix(name, "event: ")+`"`) {
					t.Errorf("%q", message)
				}
				lines = append(lines, data)
			}
			text = strings.Join(lines, "\n")
		}
		var got []string
		for _, e := range g.events([]byte(text)) {
			got = append(got, fmt.Sprint(e["type"], e["data"]))
		}
		if fmt.Sprintf("%q", got) != `["start<nil>" "stdouta\nb" "stderré\n" "end<nil>"]` {
			t.Errorf("%q", got)
		}
	}
	g.refused(406, "not_acceptable", "POST", "/v1/run", `{"code":"say"}`, "Accept", "text/html")
}

func TestStdinStreamed(t *testing.T) {
	g := newRig(t, Options{Engine: newFake()})
	g.refused(400, "stdin_needs_stream", "POST", "/v1/run?stdin=stream", `{"code":"cat"}`)
	resp, next := g.open(t.Context(), "/v1/run?stdin=stream", `{"code":"cat","stdin":"first "}`, ndjsonType)
	start := next()
	if start.Type != "start" || start.ID == "" || resp.Header.Get("X-Run-Id") != start.ID {
		t.Fatalf("%+v", start)
	}
	if e := next(); e.Data != "first " {
		t.Errorf("%+v", e)
	}
	at := "/v1/runs/" + start.ID + "/stdin"
	raw := []string{"Content-Type", binary}
	var taken StdinTaken
	g.do(200, "POST", at, "second", raw...).into(t, &taken)
	if e := next(); e.Data != "second" || taken.Bytes != 6 {
		t.Errorf("%+v %+v", e, taken)
	}
	g.refused(415, "unsupported_media_type", "POST", at, "x", "Content-Type", "application/x-www-form-urlencoded")
	g.refused(404, "run_unknown", "POST", at, "x", "Content-Type", binary, "X-Agent-Id", "other")
	g.refused(404, "run_unknown", "DELETE", "/v1/runs/"+start.ID, "", "X-Agent-Id", "other")
	g.do(200, "POST", at+"?eof=1", "", raw...)
	if e := next(); e.Type != "end" || e.Result == nil || e.Result.Status != "ok" {
		t.Errorf("%+v", e)
	}
	g.refused(404, "run_unknown", "POST", at, "x", raw...)
}

func TestStdinOfARunThatEnds(t *testing.T) {
	f := newFake()
	g := newRig(t, Options{Engine: f})
	_, next := g.open(t.Context(), "/v1/run?stdin=stream", `{"code":"wait"}`, ndjsonType)
	id := next().ID
	body, feed := io.Pipe() // a body that goes on: the answer comes because the run ends, not the body
	defer feed.Close()
	r := must.Get(http.NewRequest("POST", "http://localhost/v1/runs/"+id+"/stdin", body))(t)
	r.Header.Set("Content-Type", binary)
	answered := make(chan int)
	go func() {
		defer close(answered)
		if resp, err := g.client.Do(r); err == nil {
			resp.Body.Close()
			answered <- resp.StatusCode
		}
	}()
	g.do(204, "DELETE", "/v1/runs/"+id, "")
	if e := next(); e.Type != "end" || e.Result.Status != "cancelled" {
		t.Errorf("%+v", e)
	}
	if status, ok := <-answered; ok && status != 409 && status != 404 {
		t.Errorf("stdin: %d", status)
	}
	_, next = g.open(t.Context(), "/v1/run", `{"code":"wait"}`, ndjsonType)
	id = next().ID
	g.refused(409, "stdin_not_streamed", "POST", "/v1/runs/"+id+"/stdin", "x", "Content-Type", binary)
	g.do(204, "DELETE", "/v1/runs/"+id, "")
	g.refused(404, "run_unknown", "DELETE", "/v1/runs/"+id, "")
}

// A client that goes away cancels its run, whether or not it streams, and its place is free.
func TestDisconnectCancels(t *testing.T) {
	f := newFake()
	one := &gate{places: make(chan struct{}, 1), no: later(no("queue", "queue_full", "queue", "full", "wait"))}
	g := newRig(t, Options{Engine: f, Gate: one})
	for _, kind := range []string{ndjsonType, jsonType} {
		ctx, cancel := context.WithCancel(t.Context())
		if kind == ndjsonType {
			_, next := g.open(ctx, "/v1/run", `{"code":"wait"}`, kind)
			next()
			cancel()
		} else {
			go func() {
				for len(one.places) == 0 {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
			if resp, err := g.client.Do(g.request("POST", "/v1/run", `{"code":"wait"}`).WithContext(ctx)); err == nil {
				resp.Body.Close()
				t.Error("answered")
			}
		}
		if why := <-f.ended; why != "wait" {
			t.Error(why)
		}
		one.places <- struct{}{} // waits for the place
		<-one.places
	}
}

// A client that does not read loses its run.
func TestSlowReaderLosesItsRun(t *testing.T) {
	f := newFake()
	g := newRig(t, Options{Engine: f, WriteTime: 100 * time.Millisecond})
	_, next := g.open(t.Context(), "/v1/run", `{"code":"flood"}`, ndjsonType)
	next()
	if why := <-f.ended; why != "flood" {
		t.Error(why)
	}
}
