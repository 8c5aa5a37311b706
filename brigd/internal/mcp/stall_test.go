package mcp

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"brig/internal/test/must"
)

// raw sends bytes to a server, and returns the status of the first answer and whether the server closes the connection
// within a time that is far above the time that a client has.
func raw(t *testing.T, url, text string) (status int, closed bool) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Error(err)
		return 0, false
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(12 * time.Second)); err != nil {
		t.Error(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		t.Error(err)
	}
	in := bufio.NewReader(c)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return 0, false
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return resp.StatusCode, false
	}
	_, err = in.ReadByte()
	return resp.StatusCode, err == io.EOF
}

// TestStalledBodies: who does not send the body that it announces is answered, and its connection closed.
func TestStalledBodies(t *testing.T) {
	const stalled = "Content-Length: 9\r\n\r\n"
	ann := "Authorization: Bearer ann\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	s, url := listen(t, Options{Engine: newFake(), Authenticate: byToken, BodyTime: 300 * time.Millisecond, MaxBody: 1000})
	other := serveHTTP(t, s.Elsewhere())
	var all sync.WaitGroup
	for name, c := range map[string]struct {
		url, text string
		status    int
	}{
		"nobody":           {url, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + stalled, 401},
		"nobody in chunks": {url, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", 401},
		"nobody, half":     {url, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + stalled + "1234", 401},
		"get":              {url, "GET /mcp HTTP/1.1\r\nHost: localhost\r\n" + stalled, 401},
		"options":          {url, "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\n" + stalled, 204},
		"another host":     {url, "POST /mcp HTTP/1.1\r\nHost: evil.example\r\n" + stalled, 421},
		"another origin":   {url, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n" + stalled, 403},
		"ann":              {url, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + ann + stalled, 408},
		"ann, half":        {url, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + ann + stalled + "{", 408},
		"ann in chunks": {url, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + ann +
			"Transfer-Encoding: chunked\r\n\r\n5\r\nab", 408},
		"ann gets":          {url, "GET /mcp HTTP/1.1\r\nHost: localhost\r\n" + ann + stalled, 400},
		"ann's is too long": {url, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + ann + "Content-Length: 1001\r\n\r\n", 413},
		"too many chunks": {url, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + ann +
			"Transfer-Encoding: chunked\r\n\r\n3e9\r\n" + strings.Repeat("x", 1001), 413},
		"broken chunks": {url, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + ann +
			"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
		"elsewhere":         {other, "POST /nope HTTP/1.1\r\nHost: localhost\r\n" + stalled, 401},
		"ann elsewhere":     {other, "POST //mcp HTTP/1.1\r\nHost: localhost\r\n" + ann + stalled, 404},
		"options elsewhere": {other, "OPTIONS /nope HTTP/1.1\r\nHost: localhost\r\n" + stalled, 401},
	} {
		all.Go(func() {
			if status, closed := raw(t, c.url, c.text); status != c.status || !closed {
				t.Errorf("%s: %d, closed: %v; want %d", name, status, closed, c.status)
			}
		})
	}
	all.Wait()
	if s.Sessions() != 0 {
		t.Error(s.Sessions(), "sessions")
	}
}

func serveHTTP(t *testing.T, h http.Handler) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + l.Addr().String()
}

// TestStreamStaysOpen: the time for a body and for a piece of an answer does not end a stream, nor a call that takes
// longer.
func TestStreamStaysOpen(t *testing.T) {
	f := newFake()
	started, ended := waiting(f)
	s, url := listen(t, Options{Engine: f, BodyTime: 100 * time.Millisecond, WriteTime: 100 * time.Millisecond})
	send(t, http.MethodPost, url, initialize, "Authorization", "Bearer x")
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
	r.Header = http.Header{"Accept": {"text/event-stream"}, sessionHeader: {only(s)}, "Authorization": {"Bearer x"}}
	resp, err := http.DefaultClient.Do(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	defer resp.Body.Close()
	cut := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, resp.Body)
		cut <- err
	}()
	client := dial(t, url, "x")
	go func() { _, _ = client.CallTool(t.Context(), sleeping()) }()
	<-started
	select {
	case err := <-cut:
		t.Error("the stream has ended:", err)
	case <-ended:
		t.Error("the call has ended")
	case <-time.After(600 * time.Millisecond):
	}
	if a := call1(t, client, "list_files", nil); a.isError {
		t.Error(a.raw)
	}
}

// only is the id of the one session.
func only(s *Server) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id = range s.sessions {
	}
	return id
}

// logs collects what is logged.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestRequestsAreLogged, also those that are refused; on a line each, and without secrets.
func TestRequestsAreLogged(t *testing.T) {
	var l logs
	s, url := listen(t, Options{Engine: newFake(), Authenticate: byToken, Logger: slog.New(slog.NewTextHandler(&l, nil))})
	other := serveHTTP(t, s.Elsewhere())
	send(t, "POST", url, initialize, "Authorization", "Bearer ann:secret", "X-Request-Id", "mine")
	send(t, "POST", url, initialize+" secret", "Authorization", "Bearer a\tb level=ERROR:secret", "X-Request-Id",
		"a level=ERROR")
	send(t, "POST", url, initialize, "Authorization", "Bearer bad")
	send(t, "POST", url, initialize, "Host", "evil.example")
	send(t, "GET", other, "", "Authorization", "Bearer ann:secret")
	want := []string{`level=INFO msg=request request=mine method=POST route=mcp status=200 took=`, ` agent=ann`,
		` agent="a\tb level=ERROR"`,
		`status=401`, `code=unauthenticated`, `status=421`, `code=host_not_allowed`, `method=GET route="" status=404`,
		`code=route_not_found`}
	done := func() bool { return strings.Count(l.String(), "msg=request") == 5 }
	for range 1000 {
		if done() {
			break
		}
		time.Sleep(5 * time.Millisecond) // a line is written after the answer
	}
	for _, w := range want {
		if !strings.Contains(l.String(), w) {
			t.Errorf("%q is not in the log", w)
		}
	}
	if !done() || strings.Contains(l.String(), "secret") || strings.Contains(l.String(), " level=ERROR ") ||
		strings.Contains(l.String(), "initialize") {
		t.Error(l.String())
	}
}

// TestMaxRequests: streams count, and who is refused may come again.
func TestMaxRequests(t *testing.T) {
	f := newFake()
	started, ended := waiting(f)
	s, url := listen(t, Options{Engine: f, Authenticate: byToken, MaxRequests: 1})
	status, text := send(t, "POST", url, initialize, "Authorization", "Bearer x")
	if status != 200 || s.Sessions() != 1 {
		t.Fatal(status, text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	run := `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"run_command","arguments":{"cmd":["sleep"]}}}`
	r := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(run)))(t)
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		sessionHeader: {only(s)}, "Authorization": {"Bearer x"}}
	go func() {
		if resp, err := http.DefaultClient.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}()
	<-started
	if status, text := send(t, "POST", url, initialize, "Authorization", "Bearer x"); status != 503 ||
		!strings.Contains(text, "too_many_requests") {
		t.Error(status, text)
	}
	if status, text := send(t, "POST", url, initialize, "Authorization", "Bearer bad"); status != 401 {
		t.Error(status, text)
	}
	cancel()
	<-ended
	for range 1000 {
		if status, _ = send(t, "POST", url, initialize, "Authorization", "Bearer x"); status != 503 {
			break
		}
		time.Sleep(5 * time.Millisecond) // the first's place is given back after its run's end
	}
	if status != 200 {
		t.Error(status)
	}
}
