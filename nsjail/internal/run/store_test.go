package run

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail/internal/disk"

	"golang.org/x/sys/unix"
)

// TestStoresOfOthers: a store that is removed meanwhile, and a foreign file, do not prevent a new store.
func TestStoresOfOthers(t *testing.T) {
	below, start := t.TempDir()+"/cow", make(chan bool)
	errs := make(chan error)
	const runs = 4
	for range runs {
		go func() {
			<-start
			for range 50 {
				s, err := NewStore(below, os.Geteuid(), os.Getegid(), 0o755)
				if err == nil {
					err = s.Remove()
				}
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	close(start)
	for range runs {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(os.WriteFile(below+"/file", nil, 0o644), os.Symlink("/", below+"/link")); err != nil {
		t.Fatal(err)
	}
	s, err := NewStore(below, os.Geteuid(), os.Getegid(), 0o755)
	if err == nil {
		err = s.Remove()
	}
	if err != nil {
		t.Error(err)
	}
}

// storeBelow makes a store in a directory of the test's.
func storeBelow(t *testing.T, below string) *Store {
	t.Helper()
	return must.Get(NewStore(below, os.Geteuid(), os.Getegid(), 0o755))(t)
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	for _, e := range must.Get(os.ReadDir(dir))(t) {
		names = append(names, e.Name())
	}
	return names
}

// A store has an overlay's two directories, with the mode of what it stands for whatever the umask is, and the overlay
// can mark a directory as opaque there.
func TestNewStore(t *testing.T) {
	below := t.TempDir() + "/cow"
	old := unix.Umask(0o077)
	s, err := NewStore(below, os.Geteuid(), os.Getegid(), 0o1777)
	unix.Umask(old)
	must.Do(t, err)
	same := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	upper, work := must.Get(os.Stat(s.Path+"/upper"))(t), must.Get(os.Stat(s.Path+"/work"))(t)
	same("upper", upper.Mode(), os.ModeDir|os.ModeSticky|0o777)
	same("work", work.Mode(), os.ModeDir|0o700)
	must.Do(t, unix.Setxattr(s.Path+"/upper", "user.overlay.opaque", []byte("y"), 0))
	same("is bounded", s.Bounded(), true)
	s.Most.Bytes = math.MaxInt64
	same("is bounded", s.Bounded(), false)
	must.Do(t, s.Remove())
	same("left", len(namesIn(t, below)), 0)
}

// What the payload has changed counts until it is more than the store may have.
func TestMeasure(t *testing.T) {
	s := storeBelow(t, t.TempDir()+"/cow")
	defer s.Remove()
	s.Most = disk.Usage{Bytes: 1 << 20, Files: 5}
	before := must.Get(s.Measure())(t)
	must.Do(t, os.WriteFile(s.Path+"/upper/f", make([]byte, 64<<10), 0o600))
	if now := must.Get(s.Measure())(t); now.Files != before.Files+1 || now.Bytes < before.Bytes+64<<10 {
		t.Errorf("%+v, and was %+v", now, before)
	}
	for i := range 20 {
		must.Do(t, os.Mkdir(s.Path+"/upper/"+strconv.Itoa(i), 0o700))
	}
	if now := must.Get(s.Measure())(t); now.Files <= s.Most.Files || now.Files > 22 {
		t.Errorf("%+v", now)
	}
	if s.floor = 0; s.Low() {
		t.Error("any file system has more than nothing")
	}
	if s.floor = math.MaxUint64; !s.Low() {
		t.Error("no file system has as much")
	}
}

// A store that is kept stays when orphans are removed, under a name that tells it apart, and goes when its user wants it.
func TestKeep(t *testing.T) {
	top := t.TempDir()
	below := top + "/cow"
	must.Do(t, errors.Join(os.MkdirAll(below, 0o700), os.Mkdir(top+"/victim", 0o700)))
	s := storeBelow(t, below)
	name := filepath.Base(s.Path)
	must.Do(t, os.WriteFile(s.Path+"/upper/f", []byte("changed"), 0o600))
	must.Do(t, os.Mkdir(below+"/"+keptPrefix+name, 0o700)) // a pid comes again
	path := must.Get(s.Keep())(t)
	if want := below + "/" + keptPrefix + name + "-2"; path != want {
		t.Errorf("%s, want %s", path, want)
	}
	must.Do(t, storeBelow(t, below).Remove())
	if b := must.Get(os.ReadFile(path + "/upper/f"))(t); string(b) != "changed" {
		t.Errorf("%q", b)
	}
	must.Do(t, os.WriteFile(below+"/"+keptPrefix+"file", nil, 0o600)) // no store
	list := must.Get(KeptStores(below))(t)
	if len(list) != 2 || list[1].Name != filepath.Base(path) || list[1].Upper != path+"/upper" || time.Since(list[1].Since) > time.Hour || time.Since(list[1].Since) < -time.Hour {
		t.Errorf("%+v", list)
	}
	for _, hostile := range []string{"", "..", "../" + keptPrefix, name, keptPrefix + "../../x", keptPrefix + name + "/../../victim", keptPrefix + "\x00", keptPrefix + "none"} {
		if err := RemoveKept(below, hostile); err == nil {
			t.Errorf("%q is removed", hostile)
		}
	}
	if _, err := os.Stat(top + "/victim"); err != nil {
		t.Error(err)
	}
	must.Do(t, RemoveKept(below, filepath.Base(path)))
	if left := must.Get(KeptStores(below))(t); len(left) != 1 {
		t.Errorf("%+v is left", left)
	}
}

// Stores of dead keepers are removed; those of living ones are counted, and those that are kept stay.
func TestSweepStores(t *testing.T) {
	below := t.TempDir() + "/cow"
	if removed, busy, err := SweepStores(below); removed != nil || busy != 0 || err != nil {
		t.Errorf("where nobody was: %q, %d, %v", removed, busy, err)
	}
	if list, err := KeptStores(below); list != nil || err != nil {
		t.Errorf("where nobody was: %v, %v", list, err)
	}
	alive, dead, kept := storeBelow(t, below), storeBelow(t, below), storeBelow(t, below)
	defer alive.Remove()
	must.Do(t, errors.Join(dead.Dir.Close(), dead.places.Close())) // as if its keeper were killed
	path := must.Get(kept.Keep())(t)
	removed, busy, err := SweepStores(below)
	if len(removed) != 1 || removed[0] != dead.Path || busy != 1 || err != nil {
		t.Errorf("%q, %d, %v", removed, busy, err)
	}
	if names := namesIn(t, below); !slices.Contains(names, filepath.Base(alive.Path)) || !slices.Contains(names, filepath.Base(path)) || slices.Contains(names, filepath.Base(dead.Path)) {
		t.Errorf("%q", names)
	}
}
