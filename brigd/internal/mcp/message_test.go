package mcp

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"brig/brigd/engine"
	"brig/internal/test/must"
)

// A second request with an id that is being answered is refused, and the id can be used again afterwards.
func TestIDInFlight(t *testing.T) {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	f := newFake()
	served := make(chan error, 1)
	go func() {
		served <- service1(t, Options{Engine: f}, "", ordinary).ServeStdio(t.Context(), engine.Caller{}, in, out)
		_ = out.Close()
	}()
	answers := json.NewDecoder(fromServer)
	next := func() string {
		var a struct {
			ID    any
			Error struct{ Message string }
		}
		must.Do(t, answers.Decode(&a))
		text, _ := a.ID.(string)
		return text + a.Error.Message
	}
	write := func(text string) {
		if _, err := io.WriteString(toServer, text+"\n"); err != nil {
			t.Error(err)
		}
	}
	go write(initialize)
	next()
	two := `{"jsonrpc":"2.0","id":"a","method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":"\u0061","method":"ping"}`
	for range 20 { // the first may have been answered when the second is read: then both are
		go write(two)
		got := []string{next(), next()}
		if got[0] != "a" && got[1] != "a" || !strings.Contains(strings.Join(got, ""), "still being answered") &&
			(got[0] != "a" || got[1] != "a") {
			t.Fatalf("%q", got)
		}
	}
	_ = toServer.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestFlight(t *testing.T) {
	f := &flight{ids: map[string]bool{}}
	call := func(id string) bool {
		e, wrong := parseEnvelope([]byte(`{"jsonrpc":"2.0","method":"ping","id":` + id + `}`))
		if wrong != "" {
			t.Fatal(wrong)
		}
		return f.begin(e)
	}
	if !call(`1`) || !call(`"1"`) || call(`1`) || call(`"\u0031"`) {
		t.Error("ids are confused")
	}
	f.end([]byte(`{"jsonrpc":"2.0","id":1,"method":"sampling"}`)) // a request of ours
	f.end([]byte(`{"jsonrpc":"2.0","method":"x","id":1,"result":{}}`))
	if call(`1`) {
		t.Error("what was no answer ended a request")
	}
	f.end([]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`))
	f.end([]byte(`{"jsonrpc":"2.0","id":"\u0031","error":{}}`))
	if !call(`1`) || !call(`"1"`) {
		t.Error("an answered id is kept")
	}
}

// Over HTTP, a message that parsers could interpret differently is refused.
func TestOddMessagesOverHTTP(t *testing.T) {
	_, url := listen(t, Options{Engine: newFake(), Authenticate: byToken})
	for _, body := range []string{"[" + ping + "]", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":9,"METHOD":"ping"}`, `{"jsonrpc":"2.0","id":9,"method":"ping","method":"x"}`} {
		if status, text := send(t, "POST", url, body, "Authorization", "Bearer a"); status != 400 ||
			!strings.Contains(text, "invalid_message") {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
}

// FuzzOpen: what is taken is what package encoding/json takes it for, read without regard to case.
func FuzzOpen(f *testing.F) {
	for _, s := range []string{ping, initialize, `{"id":1,"ID":2}`, `{"id":-0,"method":""}`, `{"id":"\ud800"}`, `[]`,
		`{"a":{"id":1}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, wrong := parseEnvelope([]byte(text))
		if !json.Valid([]byte(text)) || wrong != "" {
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method *string         `json:"method"`
		}
		if json.Unmarshal([]byte(text), &m) != nil {
			return // a method that is no text
		}
		if e.call && (canonical(m.ID) != e.id || m.Method == nil && !strings.Contains(text, "null")) {
			t.Errorf("%q: %+v, and encoding/json has %s", text, e, m.ID)
		}
		if !e.call && m.Method != nil && len(m.ID) > 0 {
			t.Errorf("%q: a call that is none", text)
		}
	})
}
