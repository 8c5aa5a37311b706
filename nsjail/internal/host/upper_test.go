package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/spec"
)

// TestStoreDir: where changes are kept on disk; for root that is one place.
func TestStoreDir(t *testing.T) {
	away(t)
	state := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	t.Setenv("XDG_STATE_HOME", state)
	want := state + "/brig/cow"
	if os.Geteuid() == 0 {
		want = "/var/lib/brig/cow"
	}
	if dir, err := StoreDir(); err != nil || dir != want {
		t.Errorf("%q, %v; want %q", dir, err, want)
	}
	if os.Geteuid() == 0 {
		return
	}
	t.Setenv("XDG_STATE_HOME", "relative")
	t.Setenv("HOME", "")
	if dir, err := StoreDir(); err == nil && !filepath.IsAbs(dir) {
		t.Errorf("%q", dir)
	} else if e, ok := errors.AsType[*spec.Error](err); err != nil && (!ok || e.Op != "cow" || e.Remedy.String() != "set XDG_STATE_HOME or HOME to an absolute path") {
		t.Error(err)
	}
}

// TestLookUpper: changes go to memory unless they are to be kept on disk, or tmpfs cannot have them and they may be. A
// place on disk is the first directory above it that exists.
func TestLookUpper(t *testing.T) {
	away(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := must.Get(StoreDir())(t)
	memory := noTmpfsUpper()
	if !strings.HasPrefix(memory, "in memory a removed directory could not be made again") && memory != "" {
		t.Errorf("%q", memory)
	}
	for name, c := range map[string]struct {
		store string
		disk  bool
	}{"memory": {"", false}, "disk": {spec.StoreDisk, true}} {
		l := looks(t, &spec.Spec{})
		m := cow(t.TempDir(), "/w")
		m.Store = c.store
		src := must.Get(l.openMount(SourceOf(0), m))(t)
		l.PayloadUID, l.PayloadGID = 123, 456
		if err := l.lookUpper(0, m); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		upper := l.Sources.At(UpperOf(0))
		if (upper != nil) != c.disk || !c.disk && src.NoUpper != memory {
			t.Errorf("%s: %+v, %q", name, upper, src.NoUpper)
		}
		if upper != nil && (upper.Path != dir+"/N" || !upper.Dir || upper.Fd != -1 || upper.UID != 123 || upper.GID != 456) {
			t.Errorf("%s: %+v", name, upper)
		}
	}
	l := looks(t, &spec.Spec{}) // the changes would be a part of what they change
	m := cow("/", "/w")
	m.Store = spec.StoreDisk
	src := must.Get(l.openMount(SourceOf(0), m))(t)
	if must.Do(t, l.lookUpper(0, m)); src.NoUpper != "it holds the directory in which brig keeps changes on disk" {
		t.Errorf("%q", src.NoUpper)
	}
}

// A state directory that cannot be reached is an error with the way around it.
func TestLookUpperDenied(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root is denied nothing")
	}
	away(t)
	shut := t.TempDir()
	t.Setenv("XDG_STATE_HOME", shut+"/in")
	must.Do(t, os.Chmod(shut, 0))
	defer os.Chmod(shut, 0o700)
	l := looks(t, &spec.Spec{})
	m := cow(t.TempDir(), "/w")
	m.Store = spec.StoreDisk
	must.Get(l.openMount(SourceOf(0), m))(t)
	if e, ok := errors.AsType[*spec.Error](l.lookUpper(0, m)); !ok || e.Op != "cow" || e.Remedy.String() != OtherStore || !strings.HasSuffix(e.Detail.String(), ": permission denied") {
		t.Errorf("%v", e)
	}
}
