package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"brig/internal/test/must"
)

func TestFilesThatOthersCanTouch(t *testing.T) {
	for what, spoil := range map[string]func(p string) error{
		"symlink":         func(p string) error { return os.Symlink("elsewhere", p) },
		"hard link":       func(p string) error { return os.Link(p+".other", p) },
		"directory":       func(p string) error { return os.Mkdir(p, 0o700) },
		"world-readable":  func(p string) error { _ = os.WriteFile(p, nil, 0o600); return os.Chmod(p, 0o604) },
		"group-writable":  func(p string) error { _ = os.WriteFile(p, nil, 0o600); return os.Chmod(p, 0o660) },
		"lock a symlink":  func(p string) error { return os.Symlink("x", p+".lock") },
		"open directory":  func(p string) error { return os.Chmod(filepath.Dir(p), 0o777) },
		"second writer":   func(p string) error { _, err := Open(Options{Path: p}); return err },
		"path of nothing": func(p string) error { return os.RemoveAll(filepath.Dir(filepath.Dir(p))) },
	} {
		dir := filepath.Join(t.TempDir(), "x", "d")
		must.Do(t, os.MkdirAll(dir, 0o700))
		path := filepath.Join(dir, "audit.jsonl")
		must.Do(t, os.WriteFile(path+".other", nil, 0o600))
		if err := spoil(path); err != nil {
			t.Fatal(what, err)
		}
		if l, err := Open(Options{Path: path}); err == nil {
			t.Errorf("%s: opened", what)
			_ = l.Close()
		}
	}
	for _, o := range []Options{{}, {Path: "x", MaxBytes: 5}, {Path: "x", Sync: "often"}, {Path: "x", Keep: -1},
		{Path: "x", Key: []byte("k")}} {
		if _, err := Open(o); err == nil {
			t.Errorf("%+v: opened", o)
		}
	}
}

// A log that is moved, removed, truncated or written to while it is open accepts no event, and neither does a file in
// its place. When the log is back, it accepts events again and records the gap.
func TestTouchedWhileOpen(t *testing.T) {
	for what, c := range map[string]struct {
		spoil, back func(p string) error
	}{
		"moved": {func(p string) error { return os.Rename(p, p+".away") },
			func(p string) error { return os.Rename(p+".away", p) }},
		"removed":  {os.Remove, nil},
		"cut off":  {func(p string) error { return os.Truncate(p, 10) }, nil},
		"emptied":  {func(p string) error { return os.Truncate(p, 0) }, nil},
		"replaced": {func(p string) error { return errors.Join(os.Rename(p, p+".away"), os.WriteFile(p, nil, 0o600)) }, nil},
		"written":  {func(p string) error { appendTo(t, p, "x\n"); return nil }, nil},
	} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l := open(t, Options{Path: path})
		must.Do(t, errors.Join(l.Append(Event{Kind: "note"}), c.spoil(path)))
		fake := &echo{}
		for range 2 {
			if _, err := Wrap(fake, l).Execute(context.Background(), newJob("r")); err == nil || l.Broken() == nil {
				t.Errorf("%s: a run was recorded", what)
			}
		}
		if len(fake.ran) > 0 {
			t.Errorf("%s: a run was made", what)
		}
		if c.back == nil {
			continue
		}
		must.Do(t, c.back(path))
		if _, err := Wrap(fake, l).Execute(context.Background(), newJob("r")); err != nil {
			t.Errorf("%s and put back: %v", what, err)
		}
		if _, r := lines(t, path); r.Gaps != 1 || r.Missed != 2 || r.Ended != 1 {
			t.Errorf("%s and put back: %+v", what, r)
		}
	}
}

// unsyncable returns a pipe: it takes bytes, and fsync(2) refuses it.
func unsyncable(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return w
}

// Where an event may not have reached the disk, SyncAlways reports it, and the run is refused.
func TestSyncFails(t *testing.T) {
	l := open(t, Options{Path: filepath.Join(t.TempDir(), "audit.jsonl"), Sync: SyncAlways})
	w := unsyncable(t)
	l.mu.Lock()
	synced, err := l.append([]byte(`"event":"x"`), nil)
	real := l.f
	l.f = w
	l.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if synced() == nil || l.Broken() == nil {
		t.Error("an event that was not synced passes for written")
	}
	l.mu.Lock()
	l.f = real
	l.mu.Unlock()
	_ = w.Close()
	if err := l.Append(Event{Kind: "note"}); err != nil {
		t.Error(err)
	}
	if _, rep := lines(t, real.Name()); rep.Gaps != 1 {
		t.Errorf("%+v", rep)
	}
}

// The kernel reports a failed write to one call of fsync(2). If that is a rotation's, the event before it is not on the
// disk either.
func TestSyncFailsInARotation(t *testing.T) {
	l := open(t, Options{Path: filepath.Join(t.TempDir(), "audit.jsonl"), Sync: SyncAlways})
	w := unsyncable(t)
	l.mu.Lock()
	synced, err := l.append([]byte(`"event":"x"`), nil)
	real := l.f
	l.f = w
	rotated := l.rotate()
	l.f = real
	l.mu.Unlock()
	if err = errors.Join(err, w.Close()); err != nil || rotated == nil {
		t.Fatal(err, rotated)
	}
	if synced() == nil {
		t.Error("an event that was not synced passes for written")
	}
}

func TestClosed(t *testing.T) {
	l := open(t, Options{Path: filepath.Join(t.TempDir(), "a")})
	closeLog(t, l)
	if err := l.Append(Event{Kind: "note"}); err == nil {
		t.Error("a closed log was written")
	}
	closeLog(t, l)
	if fmt.Sprint(l.Broken()) != "<nil>" {
		t.Error(l.Broken())
	}
}
