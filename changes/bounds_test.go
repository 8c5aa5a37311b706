package changes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// onDisk returns the bytes of a set.
func (w *world) onDisk(set *Set) (n int64) {
	w.t.Helper()
	for _, e := range must.Get(os.ReadDir(filepath.Join(w.store.dir.Path(), set.ID)))(w.t) {
		n += must.Get(e.Info())(w.t).Size()
	}
	return n
}

// Many names of a file with attributes have these once in a set, and are files of their own when it is applied.
func TestAttributesOfManyNames(t *testing.T) {
	w := newWorld(t, files{"l1": "old\n"}, files{})
	dir := must.Get(os.MkdirTemp("/dev/shm", "brig-test-"))(t)
	must.Do(t, os.Chmod(dir, 0o755))
	defer os.RemoveAll(dir)
	w.upper = files{"f": "f\n"}.make(t, dir)
	for i := range 4 {
		if err := unix.Setxattr(dir+"/f", fmt.Sprintf("user.a%d", i), make([]byte, 60000), 0); err != nil {
			t.Skip("/dev/shm holds no 240 KB of attributes (Linux 6.6): ", err)
		}
	}
	for i := range 1000 {
		must.Do(t, os.Link(dir+"/f", fmt.Sprintf("%s/l%d", dir, i)))
	}
	set := w.capture()
	if n := w.onDisk(set); n > 1<<20 || set.Counts.Files != 1001 {
		t.Errorf("%d bytes, %+v", n, set.Counts)
	}
	list := must.Get(must.Get(w.store.Find(set.ID))(t).Files())(t)
	if len(list) != 1001 || list[500].New != list[0].New || len(list[500].New.XAttrs) != 4 || list[500].first != list[0] {
		t.Errorf("%d, %+v", len(list), list[500])
	}
	must.Get(set.Apply(&ApplyOptions{Paths: []string{"l1", "l7"}, Force: true}))(t)
	equal(t, snapshot(t, w.base), files{"l1": "0644:f\n", "l7": "0644:f\n"})
}

// What a set has no room for is left out and counted, by bytes, by names, and by what is in them.
func TestSetsAreBounded(t *testing.T) {
	up := files{"a": strings.Repeat("a", 600_000), "b": strings.Repeat("b", 600_000), "c": "c\n", "d/x": strings.Repeat("x", 600_000)}
	w := newWorld(t, files{}, up)
	w.store.Limits.Bytes = 1 << 20
	done := w.captured()
	if got := strings.Join(summary(t, done.Set), ","); got != "added a +1 -0,added c +1 -0,added d +0 -0" || done.Left != 2 || !done.Full {
		t.Errorf("%s, %+v", got, done)
	}
	if n := w.onDisk(done.Set); n > 1<<20+1<<16 {
		t.Errorf("%d bytes", n)
	}
	long := strings.Repeat("n", 250)
	deep := w.upper
	for range 14 {
		deep += "/" + long
	}
	must.Do(t, os.MkdirAll(deep, 0o755))
	r := &room{bytes: 1 << 40, most: 1 << 40, names: maxNames, files: maxFiles}
	kept := 0
	for i := 0; r.take(&File{Path: Name(fmt.Sprintf("%s/%d", deep[len(w.upper)+1:], i)), New: &State{Kind: Regular}}, false) == ""; i++ {
		kept++
	}
	if kept > maxNames/(14*251) || kept < maxNames/(14*260) || r.full {
		t.Errorf("%d long names", kept)
	}
}

// No estimate of a change is less than what it takes: names and attributes of all kinds.
func TestRoomIsAnUpperBound(t *testing.T) {
	for _, up := range []files{
		{"\x01\x02\"\\\xff" + strings.Repeat("\x01", 200): "->" + strings.Repeat("\x02", 3000)},
		{strings.Repeat("d/", 60) + "f": "x"}, {"e/": "", "f": "!", strings.Repeat("é", 120): ""},
	} {
		w := newWorld(t, files{"f": "f\n", "g": "g\n"}, up)
		r := must.Get(w.store.room())(t)
		before := r.bytes
		set := w.capture()
		for _, f := range must.Get(set.Files())(t) {
			r.take(f, f.New == nil)
		}
		if n := set.Layer.Size + set.Table.Size; n > before-r.bytes+1024 { // and the end of the archive
			t.Errorf("%d bytes, estimated as %d", n, before-r.bytes)
		}
	}
}

// A context ends Capture, which leaves nothing.
func TestCaptureEnds(t *testing.T) {
	w := newWorld(t, base, upper)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b, u := must.Get(os.Open(w.base))(t), must.Get(os.Open(w.upper))(t)
	defer b.Close()
	defer u.Close()
	if _, err := w.store.Capture(ctx, b, u, w.base, &w.run); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, err := w.store.dir.Names(func(string) bool { return true }); err != nil || len(left) > 0 {
		t.Errorf("%q, %v", left, err)
	}
}

// Of the base no more than 1 GiB is hashed: sparse files of the host that the run has deleted cost no minutes.
func TestCaptureHashesLittle(t *testing.T) {
	w := newWorld(t, files{"f1": "", "f2": "", "small": "s\n"}, files{"f1": "!", "f2": "!", "small": "!"})
	for _, name := range []string{"f1", "f2"} {
		must.Do(t, os.Truncate(w.base+"/"+name, maxOld+1))
	}
	set := w.capture()
	list := must.Get(set.Files())(t)
	if len(list) != 3 || list[0].Old.SHA256 != "" || list[1].Old.SHA256 != "" || list[2].Old.SHA256 == "" {
		t.Errorf("%+v", list)
	}
	must.Get(set.Apply(&ApplyOptions{}))(t)
	equal(t, snapshot(t, w.base), files{})
}

// A run of which nothing can be kept has no set, and what is left out is told; the directory's own mode is a change.
func TestLeftOutAlone(t *testing.T) {
	w := newWorld(t, files{}, files{".wh.x": "x"})
	must.Do(t, unix.Mkfifo(w.upper+"/p", 0o600))
	if done := w.captured(); done.Set != nil || done.Left != 2 || len(done.LeftOut) != 2 {
		t.Errorf("%+v", done)
	}
	w = newWorld(t, files{"a": "a\n"}, files{"e/": ""})
	must.Do(t, os.Chmod(w.upper, 0o700))
	set := w.capture()
	if set.Counts != (Counts{Dirs: 2}) {
		t.Errorf("%+v", set.Counts)
	}
	done := must.Get(set.Apply(&ApplyOptions{}))(t)
	st := must.Get(os.Stat(w.base))(t)
	if files, dirs := done.Count(); st.Mode().Perm() != 0o700 || files != 0 || dirs != 2 || !done.Removed {
		t.Errorf("%v, %+v", st.Mode(), done)
	}
}
