package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/agent/engine"
	"brig/cmd/brigd/internal/fakes"
	"brig/cmd/brigd/internal/front"
	"brig/cmd/brigd/internal/schema"
	"brig/internal/test/must"
	"brig/nsjail"
)

// fake is an engine without jails: files in memory, and runs that a test invents.
type fake struct {
	fakes.Constant
	mu      sync.Mutex
	boxes   map[string]map[string]string // files, by sandbox
	owners  map[string]string
	snaps   map[string]map[string]string
	made    int
	last    *engine.Request
	run     func(ctx context.Context, r *engine.Request, stream func(engine.Event)) *engine.Response
	deleted chan string
}

func newFake() *fake {
	return &fake{boxes: map[string]map[string]string{}, owners: map[string]string{}, snaps: map[string]map[string]string{},
		deleted: make(chan string, 100)}
}

func gone() *nsjail.Refusal {
	return &nsjail.Refusal{Message: "The sandbox is gone.", Code: "not_found", Layer: "sandbox",
		NextSteps: []string{"make one"}}
}

func (f *fake) Run(ctx context.Context, c engine.Caller, r *engine.Request,
	stream func(engine.Event)) *engine.Response {
	f.mu.Lock()
	f.last = r
	run, owner := f.run, f.owners[r.Sandbox]
	f.mu.Unlock()
	if r.Sandbox != "" && owner != "of "+c.Agent {
		return &engine.Response{Status: "refused", ExitCode: -1, Error: gone()}
	}
	if run == nil {
		a := &engine.Response{ID: "run_1", Status: "ok", Usage: &nsjail.Usage{}}
		a.Stdout = strings.Join(append(r.Cmd, r.Code, r.Stdin), "|")
		return a
	}
	return run(ctx, r, r.Watch)
}

func (f *fake) Languages() []engine.Language {
	return []engine.Language{{Name: "python", Version: "3", Path: "/usr/bin/python3"}}
}

func (f *fake) CreateSandbox(_ context.Context, c engine.Caller, r *engine.SandboxRequest) (*engine.SandboxInfo,
	error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.From != "" && f.snaps[r.From] == nil {
		return nil, gone()
	}
	f.made++
	id := fmt.Sprint("box_", f.made)
	f.boxes[id], f.owners[id] = map[string]string{}, "of "+c.Agent
	maps.Copy(f.boxes[id], f.snaps[r.From])
	return &engine.SandboxInfo{ID: id}, nil
}

func (f *fake) Snapshot(c engine.Caller, id string) (*engine.SnapshotInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	box, err := f.get(c, id)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprint("sn_", len(f.snaps)+1)
	f.snaps[name] = maps.Clone(box)
	return &engine.SnapshotInfo{ID: name, Files: int64(len(box))}, nil
}

func (f *fake) Snapshots(engine.Caller) (list []engine.SnapshotInfo, err error) {
	for id := range f.snaps {
		list = append(list, engine.SnapshotInfo{ID: id})
	}
	return list, nil
}

func (f *fake) DeleteSnapshot(_ engine.Caller, id string) error {
	delete(f.snaps, id)
	return nil
}

func (f *fake) get(c engine.Caller, id string) (map[string]string, error) {
	if f.boxes[id] == nil || f.owners[id] != "of "+c.Agent {
		return nil, gone()
	}
	return f.boxes[id], nil
}

func (f *fake) Sandbox(c engine.Caller, id string) (*engine.SandboxInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.get(c, id)
	return &engine.SandboxInfo{ID: id}, err
}

func (f *fake) DeleteSandbox(c engine.Caller, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.get(c, id); err != nil {
		return err
	}
	delete(f.boxes, id)
	f.deleted <- id
	return nil
}

func (f *fake) PutFile(c engine.Caller, id, path string, r io.Reader, _ fs.FileMode) (*engine.FileInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	box, err := f.get(c, id)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	box[path] = string(data)
	return &engine.FileInfo{Path: path, Type: "file", Size: int64(len(data)), Mode: "0644"}, err
}

func (f *fake) GetFile(c engine.Caller, id, path string) (io.ReadCloser, *engine.FileInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	box, err := f.get(c, id)
	if err != nil {
		return nil, nil, err
	}
	text, ok := box[path]
	if !ok {
		return nil, nil, &nsjail.Refusal{Message: "There is no such file.", Code: "not_found", Layer: "sandbox",
			NextSteps: []string{"list them"}}
	}
	return io.NopCloser(bytes.NewBufferString(text)),
		&engine.FileInfo{Path: path, Type: "file", Size: int64(len(text)), Mode: "0644"}, nil
}

func (f *fake) ListFiles(c engine.Caller, id, path string, _ bool, _ string) (list []engine.FileInfo, more bool,
	err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	box, err := f.get(c, id)
	for name, text := range box {
		if strings.HasPrefix(name, path) {
			list = append(list, engine.FileInfo{Path: name, Type: "file", Size: int64(len(text))})
		}
	}
	return list, false, err
}

func (f *fake) DeleteFile(c engine.Caller, id, path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	box, err := f.get(c, id)
	delete(box, path)
	return err
}

// waiting is a run that goes on until it is cancelled; started and ended tell when.
func (f *fake) waiting() (started, ended chan struct{}) {
	started, ended = make(chan struct{}, 100), make(chan struct{}, 100)
	f.run = func(ctx context.Context, _ *engine.Request, stream func(engine.Event)) *engine.Response {
		if stream != nil {
			stream(engine.Event{Type: "start"})
			stream(engine.Event{Type: "stdout", Data: "one\ntw"})
			stream(engine.Event{Type: "stdout", Data: "o\x1b[2J\n"})
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

// openGate lets everybody in.
type openGate struct{}

func (openGate) Ask(string) error { return nil }

func (openGate) Enter(context.Context, string) (func(), error) { return func() {}, nil }

var ordinary = bounds{idle: 30 * time.Minute, sessions: 128, perCaller: 32, calls: 16}

func service1(t *testing.T, o Options, toolsFile string, b bounds) *Server {
	t.Helper()
	if o.Gate == nil {
		o.Gate = openGate{}
	}
	o.Trace = func(r *http.Request) (*http.Request, func(int)) { return r, func(int) {} }
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Authenticate == nil {
		o.Authenticate = func(*http.Request) (engine.Caller, *nsjail.Refusal) { return engine.Caller{}, nil }
	}
	o.MaxRequests, o.MaxBody = cmp.Or(o.MaxRequests, 1024), cmp.Or(o.MaxBody, 8<<20)
	s := must.Get(newServer(o, toolsFile, b))(t)
	return s
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
