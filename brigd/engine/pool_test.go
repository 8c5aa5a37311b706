package engine

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"brig/brigd/token"
	"brig/brigd/workspace"
	"brig/internal/test/must"
)

// pool is a Pool in memory.
type pool struct {
	mu      sync.Mutex
	headers map[string][]byte
	files   map[string][]byte
	gets    int
}

func (p *pool) Put(id string, header []byte, file *io.SectionReader) error {
	text, err := io.ReadAll(file)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.files == nil {
		p.headers, p.files = map[string][]byte{}, map[string][]byte{}
	}
	p.headers[id], p.files[id] = header, text
	return err
}

func (p *pool) Get(id string) (io.ReadCloser, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gets++
	return io.NopCloser(bytes.NewReader(p.files[id])), nil
}

func (p *pool) Header(id string) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.headers[id], nil
}

func (p *pool) Headers() (list [][]byte, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.headers {
		list = append(list, h)
	}
	return list, nil
}

func (p *pool) Remove(id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.headers, id)
	delete(p.files, id)
	return nil
}

// A snapshot of the pool is used by another engine, which reads it once for many sandboxes. It counts for its account
// wherever it was made, is not for others, and is gone for all once it is deleted.
func TestPool(t *testing.T) {
	p := &pool{}
	o := Options{Pool: p, Sandboxes: workspace.StoreOptions{MaxPerAgent: 9, MaxBytesPerAgent: 96 << 20, DefaultSize: 8 << 20}}
	a, b := newEngine(t, o), newEngine(t, o)
	me, other := Caller{Agent: "me"}, Caller{Agent: "other"}
	box := newSandbox(t, a, me, SandboxRequest{})
	inSandbox(t, a, me, box.ID, "echo kept >/work/f")
	s, err := a.Snapshot(me, box.ID)
	if err != nil {
		t.Fatal(err)
	}
	var forks sync.WaitGroup
	for range 3 {
		forks.Go(func() {
			fork, err := b.CreateSandbox(context.Background(), me, &SandboxRequest{From: s.ID})
			if err != nil {
				t.Error(err)
				return
			}
			if got := inSandbox(t, b, me, fork.ID, "cat /work/f"); got != "kept\n" {
				t.Errorf("%q", got)
			}
		})
	}
	forks.Wait()
	newSandbox(t, a, me, SandboxRequest{From: s.ID})
	if p.gets != 1 {
		t.Errorf("the file was read %d times", p.gets)
	}
	if _, err := b.CreateSandbox(context.Background(), other, &SandboxRequest{From: s.ID}); codeOf(err) != "not_found" {
		t.Errorf("another's: %v", err)
	}
	must.Do(t, b.DeleteSnapshot(me, s.ID))
	for _, e := range []*Engine{a, b} { // the copies that they have do not count
		if _, err := e.CreateSandbox(context.Background(), me, &SandboxRequest{From: s.ID}); codeOf(err) != "not_found" {
			t.Errorf("once it is deleted: %v", err)
		}
	}
	if len(p.files) > 0 {
		t.Errorf("%d files are left", len(p.files))
	}
	inSandbox(t, a, me, box.ID, "head -c 7000000 /dev/urandom >/work/f")
	c := newEngine(t, o)
	theirs := newSandbox(t, c, other, SandboxRequest{})
	for n := 0; err == nil; n++ {
		if s, err = a.Snapshot(me, box.ID); n > 20 {
			t.Fatal("the pool has no bounds")
		}
		for _, s := range copies(a).known { // as after some time: what counts is what the pool has
			copies(a).dropCopy(s)
		}
	}
	if codeOf(err) != workspace.CodeTooMany || len(p.files) != 9 {
		t.Errorf("%d snapshots: %v", len(p.files), err)
	}
	if _, err := c.Snapshot(other, theirs.ID); err != nil {
		t.Errorf("another's account: %v", err)
	}
}

// A damaged file of the pool is an error, and so is one whose header names another owner.
func TestPoolDamaged(t *testing.T) {
	p := &pool{}
	a, b := newEngine(t, Options{Pool: p}), newEngine(t, Options{Pool: p})
	me, other := Caller{Agent: "me"}, Caller{Agent: "other"}
	mine := must.Get(a.Snapshot(me, newSandbox(t, a, me, SandboxRequest{}).ID))(t)
	good := p.files[mine.ID]
	for what, change := range map[string]func(){
		"damaged":   func() { p.files[mine.ID] = append([]byte{}, good[:len(good)-9]...) },
		"another's": func() { p.headers[mine.ID] = bytes.ReplaceAll(p.headers[mine.ID], []byte(`"me"`), []byte(`"other"`)) },
	} {
		p.files[mine.ID] = good
		change()
		for _, c := range []Caller{me, other} {
			if _, err := b.CreateSandbox(context.Background(), c, &SandboxRequest{From: mine.ID}); err == nil {
				t.Errorf("%s: it is used by %s", what, c.Agent)
			}
		}
	}
	if n := b.SandboxCount(); n != 0 || len(copies(b).known) > 0 {
		t.Errorf("%d sandboxes and %d copies are left", n, len(copies(b).known))
	}
}

// Snapshots that were kept in a directory move to the pool, and those of a token end with it.
func TestPoolTakesTheStore(t *testing.T) {
	g := newGuardedWith(t, Options{Store: filepath.Join(t.TempDir(), "store"), SaveEvery: time.Hour})
	tok := g.mint(token.Block{Agent: "bot"})
	c := g.caller(tok)
	box := g.sandbox(c)
	must.Get(g.PutFile(c, box, "f", strings.NewReader("x"), 0))(t)
	s := must.Get(g.Snapshot(c, box))(t)
	p := &pool{}
	o := g.opts
	o.Pool = p
	e := restart(t, g.Engine, o, true)
	if names, err := e.shelf.dir.Names(); err != nil || slices.Contains(names, s.ID) || p.headers[s.ID] == nil {
		t.Errorf("%q, %v; the pool has %d", names, err, len(p.headers))
	}
	if got := inSandbox(t, e, c, newSandbox(t, e, c, SandboxRequest{From: s.ID}).ID, "cat /work/f"); got != "x" {
		t.Errorf("%q", got)
	}
	without := newEngine(t, Options{Pool: p})
	if list := listSnapshots(without, Caller{}); len(list) > 0 {
		t.Errorf("nothing says whether its token is revoked: %+v", list)
	}
	if list := listSnapshots(e, Caller{}); len(list) != 1 {
		t.Errorf("the operator sees %+v", list)
	}
	must.Do(t, token.Revoke(g.state, tok.ID(), "", time.Time{}))
	if list := listSnapshots(e, Caller{}); len(list) > 0 || len(p.files) > 0 {
		t.Errorf("after its revocation: %+v", list)
	}
}

// copies returns the snapshots of the pool that an engine has a copy of.
func copies(e *Engine) *pooled { return e.snapshots.catalog.(*pooled) }
