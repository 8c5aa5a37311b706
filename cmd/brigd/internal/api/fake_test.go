package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"sort"
	"strings"
	"sync"
	"time"

	"brig/agent/engine"
	"brig/cmd/brigd/internal/fakes"
	"brig/nsjail"
)

// fake is an Engine whose programs are words: Code names what the run does.
type fake struct {
	fakes.Constant
	mu     sync.Mutex
	n      int
	boxes  map[string]*fakeBox
	last   engine.Request // that Run was called with
	caller engine.Caller
	ended  chan string // why a run that waits has ended
}

type fakeBox struct {
	info  engine.SandboxInfo
	files map[string][]byte
}

func newFake() *fake { return &fake{boxes: map[string]*fakeBox{}, ended: make(chan string, 100)} }

func (f *fake) id(kind string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	return fmt.Sprintf("%s_%d", kind, f.n)
}

func unknown(code, what string) *nsjail.Refusal {
	return &nsjail.Refusal{Message: "there is no such " + what, Code: code, Layer: "sandbox",
		NextSteps: []string{"list them"}}
}

func (f *fake) Run(ctx context.Context, c engine.Caller, r *engine.Request,
	stream func(engine.Event)) *engine.Response {
	f.mu.Lock()
	f.last, f.caller = *r, c
	f.mu.Unlock()
	resp := &engine.Response{ID: f.id("run"), Status: "ok", Usage: &nsjail.Usage{}}
	if r.Sandbox != "" {
		if _, err := f.Sandbox(c, r.Sandbox); err != nil {
			resp.Status, resp.ExitCode, resp.Error = "refused", -1, unknown("sandbox_unknown", "sandbox")
			return resp
		}
	}
	if code, ok := strings.CutPrefix(r.Code, "refuse "); ok {
		code, layer, _ := strings.Cut(code, " ")
		resp.Status, resp.ExitCode, resp.Error = "refused", -1,
			&nsjail.Refusal{Message: "no", Code: code, Layer: layer, Rule: "r", NextSteps: []string{"do else"}}
		return resp
	}
	say := func(kind, data string) {
		switch {
		case stream != nil:
			stream(engine.Event{Type: kind, Data: data})
		case kind == "stdout":
			resp.Stdout += data
		default:
			resp.Stderr += data
		}
	}
	if stream != nil {
		stream(engine.Event{Type: "start", ID: resp.ID})
	}
	var in io.Reader = strings.NewReader(r.Stdin)
	if r.StdinReader != nil {
		in = r.StdinReader
	}
	switch word, rest, _ := strings.Cut(r.Code, " "); word {
	case "say":
		say("stdout", rest)
		say("stderr", "é\n")
	case "fail":
		resp.Status, resp.ExitCode = "failed", 3
	case "cat":
		buf := make([]byte, 4096)
		for {
			n, err := in.Read(buf)
			if n > 0 {
				say("stdout", string(buf[:n]))
			}
			if err != nil {
				break
			}
		}
	case "flood":
		for ctx.Err() == nil {
			say("stdout", strings.Repeat("x", 64<<10))
		}
		f.ended <- "flood"
		resp.Status, resp.ExitCode = "cancelled", -1
	case "wait":
		<-ctx.Done()
		f.ended <- "wait"
		resp.Status, resp.ExitCode = "cancelled", -1
	case "panic":
		panic("fake")
	}
	return resp
}

func (f *fake) Languages() []engine.Language {
	return []engine.Language{{Name: "python", Version: "3.11", Path: "/usr/bin/python3"}}
}

func (f *fake) CreateSandbox(_ context.Context, c engine.Caller, r *engine.SandboxRequest) (*engine.SandboxInfo,
	error) {
	id := f.id("sb")
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Unix(1e9, 0).UTC()
	b := &fakeBox{engine.SandboxInfo{ID: id, Agent: c.Name(), Created: now, Expires: now.Add(time.Hour),
		Disk: int64(r.Disk)}, map[string][]byte{}}
	for name, file := range r.Files {
		b.files["/input/"+name] = file.Data
	}
	f.boxes[id] = b
	return &b.info, nil
}

func (f *fake) Sandboxes(c engine.Caller) (list []engine.SandboxInfo, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.boxes {
		if b.info.Agent == c.Name() {
			list = append(list, b.info)
		}
	}
	return list, nil
}

func (f *fake) box(c engine.Caller, id string) (*fakeBox, error) {
	if b := f.boxes[id]; b != nil && b.info.Agent == c.Name() {
		return b, nil
	}
	return nil, unknown("not_found", "sandbox")
}

func (f *fake) Sandbox(c engine.Caller, id string) (*engine.SandboxInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, err := f.box(c, id)
	if err != nil {
		return nil, err
	}
	return &b.info, nil
}

func (f *fake) DeleteSandbox(c engine.Caller, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.box(c, id); err != nil {
		return err
	}
	delete(f.boxes, id)
	return nil
}

func (f *fake) Snapshot(c engine.Caller, id string) (*engine.SnapshotInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, err := f.box(c, id)
	if err != nil {
		return nil, err
	}
	return &engine.SnapshotInfo{ID: "sn_of_" + id, Agent: b.info.Agent, Sandbox: id, State: "idle"}, nil
}

func (f *fake) Snapshots(c engine.Caller) ([]engine.SnapshotInfo, error) { return nil, nil }

func (f *fake) DeleteSnapshot(c engine.Caller, id string) error {
	if id, ok := strings.CutPrefix(id, "sn_of_"); ok {
		_, err := f.Sandbox(c, id)
		return err
	}
	return unknown("not_found", "snapshot")
}

func (f *fake) PutFile(c engine.Caller, id, path string, r io.Reader, _ fs.FileMode) (*engine.FileInfo, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	b, err := f.box(c, id)
	if err != nil {
		return nil, err
	}
	if path == "/work/full" {
		return nil, unknown("disk_full", "space")
	}
	b.files[path] = data
	return f.entry(path, data), nil
}

func (f *fake) entry(path string, data []byte) *engine.FileInfo {
	return &engine.FileInfo{Path: path, Type: "file", Size: int64(len(data)), Mode: "0644",
		ModTime: time.Unix(1e9, 0).UTC()}
}

func (f *fake) GetFile(c engine.Caller, id, path string) (io.ReadCloser, *engine.FileInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, err := f.box(c, id)
	if err != nil {
		return nil, nil, err
	}
	data, ok := b.files[path]
	if !ok {
		return nil, nil, unknown("not_found", "file")
	}
	e := f.entry(path, data)
	switch path {
	case "/work/sparse":
		e.Size = 1 << 60
	case "/work/shrinks":
		e.Size += 10
	}
	return io.NopCloser(bytes.NewReader(data)), e, nil
}

func (f *fake) ListFiles(c engine.Caller, id, path string, _ bool, _ string) (list []engine.FileInfo, more bool,
	err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, err := f.box(c, id)
	if err != nil {
		return nil, false, err
	}
	for name, data := range b.files {
		if strings.HasPrefix(name, path+"/") {
			list = append(list, *f.entry(name, data))
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Path < list[j].Path })
	return list, false, nil
}

func (f *fake) Allowed(c engine.Caller, id, path string, write bool) (bool, error) {
	if _, err := f.box(c, id); err != nil {
		return false, err
	}
	return strings.HasPrefix(path, "/work/") || strings.HasPrefix(path, "/input/") && !write, nil
}

func (f *fake) DeleteFile(c engine.Caller, id, path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, err := f.box(c, id)
	if err != nil {
		return err
	}
	if _, ok := b.files[path]; !ok {
		return unknown("not_found", "file")
	}
	delete(b.files, path)
	return nil
}
