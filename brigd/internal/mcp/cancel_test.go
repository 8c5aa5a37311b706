package mcp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/brigd/engine"
)

// sleeping is a tool call that runs until it is cancelled. It returns new parameters each time, since the client
// modifies them.
func sleeping() *sdk.CallToolParams {
	return &sdk.CallToolParams{Name: "run_command", Arguments: map[string]any{"cmd": []string{"sleep"}, "timeout": 7}}
}

// withToken is a call that asks for its progress.
func withToken(p *sdk.CallToolParams, token any) *sdk.CallToolParams {
	p.SetProgressToken(token)
	return p
}

func TestCancelEndsTheRun(t *testing.T) {
	f := newFake()
	started, ended := waiting(f)
	client, _ := connect(t, service1(t, Options{Engine: f}, "", ordinary), nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	if _, err := client.CallTool(ctx, sleeping()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-ended
}

func TestProgress(t *testing.T) {
	f := newFake()
	_, ended := waiting(f)
	told := make(chan *sdk.ProgressNotificationParams, 100)
	client, _ := connect(t, service1(t, Options{Engine: f}, "", ordinary), &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { told <- r.Params },
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = client.CallTool(ctx, withToken(sleeping(), "tok")) }()
	p := <-told
	for last := 0.0; !strings.Contains(p.Message, "2 lines, 12 bytes so far; last: two[2J"); p = <-told {
		if p.Progress <= last {
			t.Errorf("%+v after %v", p, last)
		}
		last = p.Progress
	}
	if p.ProgressToken != "tok" || p.Total != 7 || strings.ContainsRune(p.Message, '\x1b') {
		t.Errorf("%+v", p)
	}
	cancel()
	<-ended
}

// TestPanic: a mistake of ours is one call's, and not the server's end.
func TestPanic(t *testing.T) {
	f := newFake()
	f.Do = func(context.Context, *engine.Request, func(engine.Event)) *engine.Response { panic("no") }
	var log strings.Builder
	client, _ := connect(t, service1(t, Options{Engine: f, Logger: slog.New(slog.NewTextHandler(&log, nil))}, "", ordinary), nil)
	if a := call1(t, client, "run_command", map[string]any{"cmd": []string{"x"}}); !a.isError ||
		a.Error.Code != "internal" || !strings.Contains(log.String(), "panicked") {
		t.Error(a.raw, log.String())
	}
}

func TestLastLine(t *testing.T) {
	for _, c := range []struct{ known, data, want string }{
		{"", "a", "a"}, {"a", "b", "ab"}, {"a", "b\n", "ab\n"}, {"ab\n", "c", "c"}, {"ab\n", "\n\n", "ab\n"},
		{"a", "\n", "a\n"},
		{"", "x\ny\rz", "z"}, {"x", "y\r\n", "xy\n"}, {"", "", ""},
		{strings.Repeat("é", 99), strings.Repeat("é", 99), strings.Repeat("é", 100)},
	} {
		if got := lastLine(c.known, c.data); got != c.want {
			t.Errorf("%q %q: %q", c.known, c.data, got)
		}
	}
}

func TestTooManyCalls(t *testing.T) {
	f := newFake()
	started, ended := waiting(f)
	client, x := connect(t, service1(t, Options{Engine: f}, "", bounds{calls: 2}), nil)
	for range 2 {
		go func() { _, _ = client.CallTool(t.Context(), sleeping()) }()
		<-started
	}
	if a := call1(t, client, "list_files", nil); !a.isError || a.Error.Code != "too_many_calls" {
		t.Error(a.raw)
	}
	x.end() // the session's end is the runs' end
	<-ended
	<-ended
}

// stdio is a client of ServeStdio over pipes.
type stdio struct {
	client *sdk.ClientSession
	out    *io.PipeReader // what the server writes, after the client has stopped to read it
	in     *io.PipeWriter
	served chan error
}

func serve(t *testing.T, ctx context.Context, o Options) *stdio {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := &stdio{in: inW, out: outR, served: make(chan error, 1)}
	go func() {
		err := service1(t, o, "", ordinary).ServeStdio(ctx, engine.Caller{}, inR, outW)
		_ = outW.Close()
		s.served <- err
	}()
	var err error
	s.client, err = sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&sdk.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.client.Close() })
	return s
}

// TestStdioEnds: the client's end of file, or the server's context, end the run and remove the sandbox.
func TestStdioEnds(t *testing.T) {
	for _, way := range []string{"eof", "context"} {
		f := newFake()
		started, ended := waiting(f)
		ctx, cancel := context.WithCancel(t.Context())
		s := serve(t, ctx, Options{Engine: f})
		go func() { _, _ = s.client.CallTool(t.Context(), sleeping()) }()
		<-started
		if way == "eof" {
			_ = s.in.Close()
		} else {
			cancel()
		}
		if err := <-s.served; err != nil {
			t.Error(way, err)
		}
		<-ended
		if len(f.Boxes) != 0 {
			t.Error(way, "the sandbox is left")
		}
		cancel()
	}
}

// TestStdioMessages sends what is no request: there is an answer, or an end, and no run.
func TestStdioMessages(t *testing.T) {
	for name, text := range map[string]string{
		"nonsense":   "hello\n",
		"deep":       strings.Repeat("[", 1<<20) + "\n",
		"endless":    `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 1<<20),
		"no session": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_command","arguments":{"cmd":["id"]}}}` + "\n",
		"half":       `{"jsonrpc":"2.0","id":1,`,
		"bytes":      "\xff\xfe\x00\n",
	} {
		f := newFake()
		var out strings.Builder
		s := service1(t, Options{Engine: f, MaxBody: 1 << 19}, "", ordinary)
		err := s.ServeStdio(t.Context(), engine.Caller{}, io.NopCloser(strings.NewReader(text)), &out)
		if f.Last != nil {
			t.Errorf("%s: something ran", name)
		}
		if len(out.String()) > 2000 || out.Len() > 0 && out.String()[0] != '{' {
			t.Errorf("%s: %.300q (%v)", name, out.String(), err)
		}
	}
}
