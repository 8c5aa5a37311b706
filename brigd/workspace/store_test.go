package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"brig/brigd/job"
	"brig/internal/test/must"
)

// world is a Store on directories.
type world struct {
	*Store
	open    atomic.Int64 // volumes
	removed chan string  // "id by"
}

type counted struct {
	*dirVolume
	open *atomic.Int64
}

func (c counted) Close() error {
	c.open.Add(-1)
	return c.dirVolume.Close()
}

func newWorld(t *testing.T, o StoreOptions) *world {
	t.Helper()
	w := &world{removed: make(chan string, 1000)}
	at := inMemory(t)
	var n atomic.Int64
	o.Make = func(size, inodes int64) (Volume, error) {
		dir := fmt.Sprintf("%s/%d", at, n.Add(1))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, err
		}
		w.open.Add(1)
		return counted{openVolume(t, dir), &w.open}, nil
	}
	o.Removed = func(s *Sandbox, by string, err error) {
		if err != nil {
			t.Errorf("%s %s: %v", s.ID, by, err)
		}
		w.removed <- s.ID + " " + by
	}
	w.Store = NewStore(o)
	t.Cleanup(func() {
		must.Do(t, w.Close())
		if n, bytes := usage(w.Store); n != 0 || bytes != 0 || w.open.Load() != 0 {
			t.Errorf("%d sandboxes, %d bytes, %d volumes are left", n, bytes, w.open.Load())
		}
	})
	return w
}

// usage returns how many sandboxes there are, and the sum of their quotas.
func usage(s *Store) (count int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all account
	for b := range s.all {
		all.add(b)
	}
	return all.count, all.bytes
}

func (w *world) create(t *testing.T, agent string) *Sandbox {
	t.Helper()
	b, err := w.Create(agent, CreateOptions{})
	must.Do(t, err)
	return b
}

func TestStore(t *testing.T) {
	w := newWorld(t, StoreOptions{})
	a, b, other := w.create(t, "ann"), w.create(t, "ann"), w.create(t, "bob")
	if !regexp.MustCompile(`^sb_[a-z2-7]{26,}$`).MatchString(a.ID) || a.ID == b.ID || a.Size != 256<<20 ||
		a.TTL != time.Hour || a.Inodes != 16<<10 {
		t.Errorf("%+v", a)
	}
	if got, err := w.Get("ann", a.ID); got != a || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	ids := func(agent string) (ids []string) {
		for _, s := range w.List(agent) {
			ids = append(ids, s.ID)
		}
		slices.Sort(ids)
		return ids
	}
	want := []string{a.ID, b.ID}
	slices.Sort(want)
	if !slices.Equal(ids("ann"), want) || !slices.Equal(ids("bob"), []string{other.ID}) || ids("eve") != nil ||
		ids("") != nil || len(ids(Any)) != 3 {
		t.Errorf("%q %q", ids("ann"), ids("bob"))
	}
	put(t, a.Tree, "f", "ann's")
	put(t, other.Tree, "f", "bob's")
	if read(t, a.Tree, "f") != "ann's" {
		t.Error("another's file")
	}
	must.Do(t, w.Delete("ann", a.ID))
	if got := <-w.removed; got != a.ID+" deleted" {
		t.Error(got)
	}
	_, err := stat(a.Tree, "f")
	wantCode(t, "the tree of one that is deleted", err, CodeNotFound)
	_, _, err = a.Acquire(context.Background())
	wantCode(t, "acquire", err, CodeNotFound)
	if n, bytes := usage(w.Store); n != 2 || bytes != 2*(256<<20+16384<<10) {
		t.Errorf("%d, %d", n, bytes)
	}
}

// The error for another agent's sandbox is the same as for an id that never existed.
func TestAnotherAgents(t *testing.T) {
	w := newWorld(t, StoreOptions{})
	b := w.create(t, "ann")
	ask := func(agent string) string {
		_, err := w.Get(agent, b.ID)
		wantCode(t, "get", err, CodeNotFound)
		derr := w.Delete(agent, b.ID)
		if derr == nil || derr.Error() != err.Error() {
			t.Errorf("get says %v, delete %v", err, derr)
		}
		return fmt.Sprintf("%+v", err)
	}
	theirs := ask("bob")
	for _, agent := range []string{"", "Ann", "ann ", "ann\x00"} {
		if got := ask(agent); got != theirs {
			t.Errorf("%q hears %s", agent, got)
		}
	}
	must.Do(t, w.Delete("ann", b.ID))
	if got := ask("ann"); got != theirs {
		t.Errorf("of a deleted one: %s, of another's: %s", got, theirs)
	}
	_, err := w.Get("ann", strings.Repeat("\n", 1e6))
	if wantCode(t, "a hostile id", err, CodeNotFound); len(err.Error()) > 1200 || strings.Contains(err.Error(), "\n") {
		t.Error("the message repeats it")
	}
}

func TestStoreBounds(t *testing.T) { synctest.Test(t, testStoreBounds) }

func testStoreBounds(t *testing.T) {
	w := newWorld(t, StoreOptions{Max: 4, MaxPerAgent: 2, MaxBytes: 1000 << 20, DefaultSize: 100 << 20, MaxSize: 700 << 20,
		DefaultInodes: 100, MaxInodes: 1000, MaxTTL: time.Hour})
	for _, c := range []struct {
		agent string
		o     CreateOptions
		code  string
	}{
		{"a b", CreateOptions{}, CodeBadAgent},
		{"ann", CreateOptions{Size: -1}, CodeBadOption},
		{"ann", CreateOptions{Size: 700<<20 + 1}, CodeBadOption},
		{"ann", CreateOptions{Inodes: 5}, CodeBadOption},
		{"ann", CreateOptions{Inodes: 1001}, CodeBadOption},
		{"ann", CreateOptions{TTL: -1}, CodeBadOption},
		{"ann", CreateOptions{TTL: time.Hour + 1}, CodeBadOption},
		{"ann", CreateOptions{Size: 700 << 20, TTL: time.Hour, Inodes: 1000}, ""},
		{"bob", CreateOptions{Size: 301 << 20}, CodeTooBig},
		{"ann", CreateOptions{}, ""},
		{"ann", CreateOptions{}, CodeTooMany},
		{"bob", CreateOptions{Size: 1}, ""},
		{"bob", CreateOptions{Size: 1}, ""},
		{"carl", CreateOptions{Size: 1}, CodeTooMany},
	} {
		_, err := w.Create(c.agent, c.o)
		wantCode(t, fmt.Sprintf("%s %+v", c.agent, c.o), err, c.code)
		time.Sleep(time.Second) // the oldest is first in a list
	}
	must.Do(t, w.Delete("ann", w.List("ann")[0].ID))
	if _, err := w.Create("carl", CreateOptions{Size: 300 << 20}); err != nil {
		t.Error(err)
	}
}

// One agent's sandboxes have a share of all bytes, and what counts is the account, not the name that a caller chose.
func TestBytesOfOneAgent(t *testing.T) {
	w := newWorld(t, StoreOptions{MaxPerAgent: 3, MaxBytes: 400 << 20, MaxBytesPerAgent: 200 << 20, DefaultInodes: 16})
	for _, c := range []struct {
		agent, account string
		mib            int64
		code           string
	}{
		{"ann", "", 201, CodeBadOption},
		{"ann", "", 150, ""},
		{"ann", "", 60, CodeTooBig},
		{"ann", "", 40, ""},
		{"n0", "token 1", 100, ""},
		{"n1", "token 1", 100, CodeTooBig},
		{"n1", "token 1", 10, ""},
		{"n2", "token 1", 10, ""},
		{"n3", "token 1", 1, CodeTooMany},
		{"bob", "", 60, ""},
	} {
		_, err := w.Create(c.agent, CreateOptions{Size: c.mib << 20, Account: c.account})
		wantCode(t, fmt.Sprintf("%+v", c), err, c.code)
	}
	must.Do(t, w.Delete("n0", w.List("n0")[0].ID))
	if _, err := w.Create("n4", CreateOptions{Size: 100 << 20, Account: "token 1"}); err != nil {
		t.Errorf("what was freed: %v", err)
	}
}

// Files cost memory that no quota of bytes counts: they are charged, too.
func TestInodesAreCharged(t *testing.T) {
	w := newWorld(t, StoreOptions{MaxBytes: 1 << 20})
	_, err := w.Create("ann", CreateOptions{Size: 1, Inodes: 1024})
	wantCode(t, "a mebibyte of inodes and a byte", err, CodeTooBig)
	if _, err := w.Create("ann", CreateOptions{Size: 1024, Inodes: 1023}); err != nil {
		t.Error(err)
	}
	if _, bytes := usage(w.Store); bytes != 1<<20 {
		t.Errorf("%d bytes are counted", bytes)
	}
}

// A volume that cannot be made, or is none, is not counted.
func TestMakeFails(t *testing.T) {
	bad := errors.New("no memory")
	s := NewStore(StoreOptions{Make: func(int64, int64) (Volume, error) { return nil, bad }})
	if _, err := s.Create("ann", CreateOptions{}); !errors.Is(err, bad) {
		t.Error(err)
	}
	var v *dirVolume
	s.o.Make = func(int64, int64) (Volume, error) {
		d, around := newDir(t)
		v = d
		return d, os.Remove(around + "/volume/output")
	}
	if _, err := s.Create("ann", CreateOptions{}); err == nil || !strings.Contains(err.Error(), "output") {
		t.Error(err)
	}
	if _, err := v.root.Stat(); err == nil {
		t.Error("the volume is open")
	}
	if n, bytes := usage(s); n != 0 || bytes != 0 {
		t.Errorf("%d, %d", n, bytes)
	}
	must.Do(t, s.Close())
	must.Do(t, s.Close())
	_, err := s.Create("ann", CreateOptions{})
	wantCode(t, "create after Close", err, CodeBusy)
}

func TestExpiry(t *testing.T) { synctest.Test(t, testExpiry) }

func testExpiry(t *testing.T) {
	w := newWorld(t, StoreOptions{DefaultTTL: time.Minute})
	idle, used, running := w.create(t, "ann"), w.create(t, "ann"), w.create(t, "ann")
	ctx, release, err := running.Acquire(context.Background())
	must.Do(t, err)
	time.Sleep(59 * time.Second)
	put(t, used.Tree, "f", "")
	if _, _, err := idle.Tree.Usage(); err != nil { // is no use of it
		t.Error(err)
	}
	if got := time.Until(idle.Expires()); got != time.Second {
		t.Errorf("idle has %v", got)
	}
	time.Sleep(time.Second)
	if got := <-w.removed; got != idle.ID+" expired" {
		t.Error(got)
	}
	time.Sleep(58 * time.Second)
	if got := time.Until(used.Expires()); got != time.Second ||
		time.Until(running.Expires()) != time.Minute {
		t.Errorf("used has %v", got)
	}
	time.Sleep(time.Hour)
	if got := <-w.removed; got != used.ID+" expired" {
		t.Error(got)
	}
	if ctx.Err() != nil || running.Running() != 1 {
		t.Error("the run was ended by the clock")
	}
	release()
	release()
	if running.Running() != 0 || time.Until(running.Expires()) != time.Minute || ctx.Err() == nil {
		t.Errorf("%d runs after release", running.Running())
	}
	time.Sleep(time.Minute)
	if got := <-w.removed; got != running.ID+" expired" {
		t.Error(got)
	}
}

// What has expired is gone at that moment, whether or not its timer has fired, and cannot be kept by using it.
func TestExpiredIsGone(t *testing.T) {
	w := newWorld(t, StoreOptions{DefaultTTL: time.Minute})
	b := w.create(t, "ann")
	w.mu.Lock()
	b.used = b.used.Add(-time.Minute) // and no timer fires
	w.mu.Unlock()
	_, err := stat(b.Tree, "/")
	wantCode(t, "stat", err, CodeNotFound)
	_, _, err = b.Acquire(context.Background())
	wantCode(t, "acquire", err, CodeNotFound)
	if _, err = w.Get("ann", b.ID); err == nil || len(w.List("ann")) != 0 {
		t.Error("it is found")
	}
	b.expire()
	<-w.removed
}

// Delete ends the runs and waits for their release. Meanwhile the sandbox is not found, and its quota still counts.
func TestDeleteWhileRunning(t *testing.T) {
	w := newWorld(t, StoreOptions{})
	b := w.create(t, "ann")
	var ctxs [2]context.Context
	var releases [2]func()
	for i := range ctxs {
		var err error
		ctxs[i], releases[i], err = b.Acquire(context.Background())
		must.Do(t, err)
	}
	deleted := make(chan error, 1)
	go func() { deleted <- w.Delete("ann", b.ID) }()
	for _, ctx := range ctxs {
		<-ctx.Done()
		var r *job.Refusal
		if !errors.As(context.Cause(ctx), &r) || r.Code != CodeNotFound {
			t.Errorf("the cause is %v", context.Cause(ctx))
		}
	}
	wantCode(t, "a second delete", w.Delete("ann", b.ID), CodeNotFound)
	releases[0]()
	select {
	case err := <-deleted:
		t.Fatal("it has ended with a run in it", err)
	default:
	}
	if n, _ := usage(w.Store); n != 1 || w.open.Load() != 1 {
		t.Errorf("%d sandboxes, %d volumes while one is running", n, w.open.Load())
	}
	releases[1]()
	must.Do(t, <-deleted)
	if w.open.Load() != 0 {
		t.Error("the volume is open")
	}
}

// Everything at once: agents make, use and delete, the clock runs, and the Store is closed in the middle.
func TestStoreConcurrently(t *testing.T) { synctest.Test(t, testStoreConcurrently) }

func testStoreConcurrently(t *testing.T) {
	w := newWorld(t, StoreOptions{Max: 50, MaxPerAgent: 3, DefaultTTL: time.Minute})
	var wg sync.WaitGroup
	var rounds atomic.Int64
	for i := range 8 {
		agent := fmt.Sprint("agent", i%4)
		wg.Go(func() {
			for range 60 {
				if rounds.Add(1) == 300 {
					must.Do(t, w.Close())
				}
				b, err := w.Create(agent, CreateOptions{})
				if err == nil {
					if _, release, err := b.Acquire(context.Background()); err == nil {
						_, err = b.Tree.Put("f", strings.NewReader(agent), 0o644, 0)
						count(t, map[string]int{}, "put", err)
						release()
					}
				}
				for _, b := range w.List(agent) {
					if got, err := tryRead(b.Tree, "f"); err == nil && got != agent {
						t.Errorf("%s has read %q", agent, got)
					}
					count(t, map[string]int{}, "list", func() error { _, _, err := b.Tree.List("/", true, "", 0); return err }())
					b.Expires()
				}
				if list := w.List(agent); len(list) > 2 {
					count(t, map[string]int{}, "delete", w.Delete(agent, list[0].ID))
				}
				time.Sleep(time.Second)
			}
		})
	}
	wg.Wait()
	if len(w.removed) < 10 {
		t.Errorf("only %d were ever removed", len(w.removed))
	}
}
