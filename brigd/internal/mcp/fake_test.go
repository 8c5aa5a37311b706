package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/brigd/engine"
	"brig/brigd/internal/fakes"
	"brig/brigd/internal/front"
	"brig/brigd/internal/schema"
	"brig/internal/test/must"
	"brig/nsjail"
)

// newFake returns an engine whose runs print what they were asked for.
func newFake() *fakes.Engine {
	return fakes.New(func(_ context.Context, r *engine.Request, _ func(engine.Event)) *engine.Response {
		return &engine.Response{ID: "run_1", Status: "ok", Usage: &nsjail.Usage{},
			Stdout: strings.Join(append(r.Cmd, r.Code, r.Stdin), "|")}
	})
}

// waiting makes runs last until they are cancelled, and reports their starts and ends.
func waiting(f *fakes.Engine) (started, ended chan struct{}) {
	started, ended = make(chan struct{}, 100), make(chan struct{}, 100)
	f.Do = func(ctx context.Context, r *engine.Request, _ func(engine.Event)) *engine.Response {
		if r.Watch != nil {
			r.Watch(engine.Event{Type: "start"})
			r.Watch(engine.Event{Type: "stdout", Data: "one\ntw"})
			r.Watch(engine.Event{Type: "stdout", Data: "o\x1b[2J\n"})
		}
		started <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return &engine.Response{Status: "cancelled", ExitCode: -1}
	}
	return started, ended
}

// connect is a client of a session of its own, in memory.
func connect(t *testing.T, s *Server, o *sdk.ClientOptions) (*sdk.ClientSession, *session) {
	t.Helper()
	x := s.open(engine.Caller{}, "")
	here, there := sdk.NewInMemoryTransports()
	must.Get(x.server.Connect(t.Context(), there, nil))(t)
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		x.end()
	})
	return client, x
}

// Options are the server's; service fills in what a test leaves out.
type Options = front.Options

var ordinary = bounds{idle: 30 * time.Minute, stop: 100 * time.Millisecond, sessions: 128, perCaller: 32, calls: 16}

func service1(t *testing.T, o Options, toolsFile string, b bounds) *Server {
	t.Helper()
	o.MaxBody = cmp.Or(o.MaxBody, 8<<20)
	options := fakes.Options(o)
	options.OutputSchemas = true // call1 checks with them
	return must.Get(newServer(options, toolsFile, b))(t)
}

// Sessions is how many sessions there are.
func (s *Server) Sessions() (all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.sessions {
		if !x.probe {
			all++
		}
	}
	return all
}

// answer is a result, taken apart.
type answer struct {
	engine.Response
	isError bool
	text    string // all blocks
	blocks  []string
	raw     string // the structured content
}

// call calls a tool and checks the structured content against the tool's schema.
func call1(t *testing.T, client *sdk.ClientSession, name string, args any) answer {
	t.Helper()
	r, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	a := answer{isError: r.IsError}
	for _, c := range r.Content {
		a.blocks = append(a.blocks, c.(*sdk.TextContent).Text)
	}
	a.text = strings.Join(a.blocks, "\n")
	raw := must.Get(json.Marshal(r.StructuredContent))(t)
	a.raw = string(raw)
	if err := json.Unmarshal(raw, &a.Response); err != nil {
		t.Fatalf("%s: %v in %s", name, err, raw)
	}
	list := must.Get(client.ListTools(t.Context(), nil))(t)
	i := slices.IndexFunc(list.Tools, func(t *sdk.Tool) bool { return t.Name == name })
	text := must.Get(json.Marshal(list.Tools[i].OutputSchema))(t)
	var s schema.Schema
	must.Do(t, json.Unmarshal(text, &s))
	check := must.Get(s.Resolve(nil))(t)
	var value any
	must.Do(t, json.Unmarshal(raw, &value))
	if err := check.Validate(value); err != nil {
		t.Errorf("%s: the structured content is not as the schema says: %v\n%s", name, err, raw)
	}
	return a
}
