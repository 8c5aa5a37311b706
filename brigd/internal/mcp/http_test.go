package mcp

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/brigd/engine"
	"brig/brigd/job"
	"brig/internal/test/must"
)

// byToken is an authenticator for which the token is the agent's name. It refuses "bad" and requests without a token.
func byToken(r *http.Request) (engine.Caller, *job.Refusal) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	agent, _, _ := strings.Cut(token, ":")
	if token == "Bearer" || agent == "" || agent == "bad" {
		return engine.Caller{}, &job.Refusal{Message: "no token", Code: "unauthenticated", Layer: "auth"}
	}
	return engine.Caller{Agent: agent}, nil
}

// bearer adds a token to each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// listen serves, and closes all at the test's end.
func listen(t *testing.T, o Options) (*Server, string) {
	t.Helper()
	return listenWithin(t, o, ordinary)
}

func listenWithin(t *testing.T, o Options, b bounds) (*Server, string) {
	t.Helper()
	s := service1(t, o, "", b)
	l := httptest.NewServer(s)
	t.Cleanup(func() {
		_ = s.Close()
		l.CloseClientConnections()
		l.Close()
	})
	return s, l.URL
}

func dial(t *testing.T, url, token string) *sdk.ClientSession {
	t.Helper()
	client := must.Get(sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}, MaxRetries: -1},
		nil))(t)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// send is a bare request.
func send(t *testing.T, method, url, body string, header ...string) (int, string) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))(t)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	resp := must.Get(http.DefaultClient.Do(r))(t)
	defer resp.Body.Close()
	text := must.Get(io.ReadAll(io.LimitReader(resp.Body, 1<<20)))(t)
	return resp.StatusCode, string(text)
}

const listing = `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}`

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// TestHTTP: a session's files stay from call to call, and are gone when it is deleted.
func TestHTTP(t *testing.T) {
	f := newFake()
	s, url := listen(t, Options{Engine: f, Authenticate: byToken})
	client := dial(t, url, "ann:1")
	call1(t, client, "write_file", map[string]any{"path": "/work/a", "content": "x"})
	if a := call1(t, client, "read_file", map[string]any{"path": "/work/a"}); a.isError {
		t.Error(a.raw)
	}
	if f.Boxes["box_1"].Info.Agent != "ann" || s.Sessions() != 1 {
		t.Error(f.Boxes, s.Sessions())
	}
	if err := client.Close(); err != nil { // DELETE
		t.Error(err)
	}
	if id := <-f.Deleted; id != "box_1" || s.Sessions() != 0 {
		t.Error(id, s.Sessions())
	}
}

// TestSessionOfAnotherCaller does not exist, whatever one does with its id.
func TestSessionOfAnotherCaller(t *testing.T) {
	f := newFake()
	_, url := listen(t, Options{Engine: f, Authenticate: byToken})
	ann := dial(t, url, "ann:1")
	call1(t, ann, "write_file", map[string]any{"path": "/work/secret", "content": "x"})
	for _, token := range []string{"bob:1", "ann:2", "ANN:1"} { // another agent; the same with another token
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			status, text := send(t, method, url, listing, "Authorization", "Bearer "+token, sessionHeader, ann.ID())
			other, unknown := send(t, method, url, listing, "Authorization", "Bearer "+token, sessionHeader, "none")
			if status != http.StatusNotFound || other != status || text != unknown {
				t.Errorf("%s %s: %d %s; an unknown one %d %s", token, method, status, text, other, unknown)
			}
		}
	}
	for _, token := range []string{"bad", ""} {
		if status, _ := send(t, http.MethodPost, url, listing, "Authorization", "Bearer "+token, sessionHeader,
			ann.ID()); status != http.StatusUnauthorized {
			t.Error(token, status)
		}
	}
	if a := call1(t, ann, "read_file", map[string]any{"path": "/work/secret"}); a.isError {
		t.Error("the session has suffered:", a.raw)
	}
}

func TestHostileHTTP(t *testing.T) {
	f := newFake()
	s, url := listen(t, Options{Engine: f, MaxBody: 1 << 16, Hosts: []string{"brig.example"},
		Origins: []string{"https://good.example"}})
	host := strings.TrimPrefix(url, "http://")
	for name, c := range map[string]struct {
		status int
		method string
		body   string
		header []string
	}{
		"cross origin":     {403, "POST", initialize, []string{"Origin", "http://evil.example"}},
		"origin null":      {403, "POST", initialize, []string{"Origin", "null"}},
		"other local port": {403, "POST", initialize, []string{"Origin", "http://127.0.0.1:1"}},
		"fetch metadata":   {403, "POST", initialize, []string{"Sec-Fetch-Site", "cross-site"}},
		"rebinding":        {421, "POST", initialize, []string{"Host", "evil.example", "Origin", "http://evil.example"}},
		"two origins":      {403, "POST", initialize, []string{"Origin", "https://good.example, http://evil.example"}},
		"other name":       {421, "POST", initialize, []string{"Host", "evil.example"}},
		"other address":    {421, "POST", initialize, []string{"Host", "127.0.0.2"}},
		"no page's origin": {403, "POST", initialize, []string{"Origin", "http://" + host}},
		"preflight":        {204, "OPTIONS", "", []string{"Origin", "https://good.example"}},
		"bad preflight":    {403, "OPTIONS", "", []string{"Origin", "https://evil.example"}},
		"allowed name":     {200, "POST", initialize, []string{"Origin", "https://good.example", "Host", "brig.example:80"}},
		"too large":        {413, "POST", `{"x":"` + strings.Repeat("x", 1<<17) + `"}`, nil},
		"no JSON":          {400, "POST", "hello", nil},
		"empty":            {400, "POST", "", nil},
		"no type":          {415, "POST", initialize, []string{"Content-Type", "text/plain"}},
		"no session":       {400, "GET", "", nil},
		"delete nothing":   {400, "DELETE", "", nil},
		"put":              {400, "PUT", "", nil},
		"unknown session":  {404, "POST", listing, []string{sessionHeader, "x"}},
		"odd version":      {400, "POST", listing, []string{"MCP-Protocol-Version", "1999-01-01"}},
		"before its time":  {200, "POST", listing, []string{callHeader, "x"}}, // an error of the protocol, in the body
	} {
		status, text := send(t, c.method, url, c.body, c.header...)
		if status != c.status || strings.Contains(text, "run_code") {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if s.Sessions() != 1 { // that of "allowed name"
		t.Error(s.Sessions(), "sessions")
	}
}

func TestMaxSessions(t *testing.T) {
	s, url := listenWithin(t, Options{Engine: newFake(), Authenticate: byToken}, bounds{idle: time.Minute, sessions: 3, perCaller: 2, calls: 1})
	dial(t, url, "ann")
	second := dial(t, url, "ann")
	if status, _ := send(t, "POST", url, initialize, "Authorization", "Bearer ann"); status != http.StatusTooManyRequests {
		t.Error("a third of one caller:", status)
	}
	dial(t, url, "bob")
	if status, text := send(t, "POST", url, initialize, "Authorization",
		"Bearer eve"); status != http.StatusTooManyRequests || !strings.Contains(text, "next_steps") {
		t.Error("a fourth:", status, text)
	}
	_ = second.Close()
	dial(t, url, "eve")
	if s.Sessions() != 3 {
		t.Error(s.Sessions())
	}
}

// TestIdleSession ends by itself, and takes its sandbox along.
func TestIdleSession(t *testing.T) {
	f := newFake()
	_, url := listenWithin(t, Options{Engine: f}, bounds{idle: 300 * time.Millisecond, sessions: 1, perCaller: 1, calls: 1})
	client := dial(t, url, "")
	call1(t, client, "write_file", map[string]any{"path": "a", "content": "x"})
	if id := <-f.Deleted; id != "box_1" {
		t.Error(id)
	}
}

// TestHTTPEnds: a cancelled call, a client that goes away, a DELETE and the server's end each end the run.
func TestHTTPEnds(t *testing.T) {
	for _, way := range []string{"cancel", "gone", "delete", "close"} {
		f := newFake()
		started, ended := waiting(f)
		s, url := listen(t, Options{Engine: f})
		client := dial(t, url, "x")
		ctx, cancel := context.WithCancel(t.Context())
		if way == "gone" {
			run := `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"run_command","arguments":{"cmd":["sleep"]}}}`
			r := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(run)))(t)
			r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
				sessionHeader: {client.ID()}, "Authorization": {"Bearer x"}}
			go func() {
				resp, err := http.DefaultClient.Do(r)
				if err == nil { // it was answered before it went
					defer resp.Body.Close()
					text, _ := io.ReadAll(resp.Body)
					if ctx.Err() == nil {
						t.Error(resp.StatusCode, string(text))
					}
				} else if ctx.Err() == nil {
					t.Error(err)
				}
			}()
		} else {
			go func() { _, _ = client.CallTool(ctx, sleeping()) }()
		}
		<-started
		switch way {
		case "cancel", "gone":
			cancel()
		case "delete":
			if status, text := send(t, http.MethodDelete, url, "", sessionHeader, client.ID(), "Authorization",
				"Bearer x"); status >= 300 {
				t.Error(status, text)
			}
		case "close":
			_ = s.Close()
		}
		<-ended
		cancel()
		_ = s.Close()
		if s.Sessions() != 0 || len(f.Boxes) != 0 {
			t.Error(way, s.Sessions(), f.Boxes)
		}
		if status, _ := send(t, http.MethodPost, url, initialize); status != http.StatusServiceUnavailable {
			t.Error(way, status)
		}
	}
}
