package layer

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

func index(l []byte) (*Index, error) {
	return NewIndex(io.NewSectionReader(bytes.NewReader(l), 0, int64(len(l))))
}

func plainly(do func() error) error { return do() }

// TestIndex: an Index makes the same tree as Unpack, several times.
func TestIndex(t *testing.T) {
	inMemory(t)
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir := folder(t)
			disturb(rand.New(rand.NewPCG(seed, 1)), dir.Name(), 60)
			l := pack(t, dir, nil)
			x := must.Get(index(l))(t)
			for range 2 {
				again := folder(t)
				must.Do(t, x.Unpack(again, plainly))
				equal(t, "the tree", list(t, again), list(t, unpack(t, l)))
				if !bytes.Equal(pack(t, again, nil), l) {
					t.Error("its layer differs")
				}
			}
		})
	}
}

// TestHostileIndex: layers that Pack does not write are an error, and nothing outside of the directory changes.
func TestHostileIndex(t *testing.T) {
	type lines = []string
	for name, layer := range map[string]lines{
		"up":                    {"file ../outside/canary"},
		"a link up":             {"file f", "hard h to=../outside/canary"},
		"a whiteout":            {"file .wh.f"},
		"the directory itself":  {"dir ."},
		"a device":              {"char c"},
		"twice":                 {"file f", "file f"},
		"no directory":          {"file d/f"},
		"below a file":          {"file f", "file f/g"},
		"below a link":          {"link l to=$OUT", "file l/canary"},
		"a directory by a link": {"link l to=$OUT", "dir l"},
		"a link to nothing":     {"hard h to=f"},
		"an absolute link":      {"hard h to=$OUT/canary"},
		"a link in a link":      {"link l to=$OUT", "hard h to=l/canary"},
		"a hole in the middle":  {"dir d", "link d to=$OUT"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			l, err := io.ReadAll(archive(t, s, layer))
			must.Do(t, err)
			x, err := index(l)
			if err == nil {
				err = x.Unpack(s.dir, plainly)
			}
			if err == nil {
				t.Errorf("it is taken: %q", list(t, s.dir))
			}
			s.untouched(t)
		})
	}
}

// TestIndexOfACutLayer: contents that end early, or are read with an error, are an error.
func TestIndexOfACutLayer(t *testing.T) {
	dir := folder(t)
	for i := range 20 {
		must.Do(t, os.WriteFile(fmt.Sprint(dir.Name(), "/", i), bytes.Repeat([]byte("x"), 5000), 0o644))
	}
	l := pack(t, dir, nil)
	x, err := index(l)
	must.Do(t, err)
	for i := range x.lists[tar.TypeReg] {
		x.lists[tar.TypeReg][i].src = bytes.NewReader(l[:len(l)/2])
	}
	if err = x.Unpack(folder(t), plainly); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Error(err)
	}
	if _, err = index(l[:len(l)/2]); err == nil {
		t.Error("half a layer is taken")
	}
}

// TestIndexAsOwner: everything is made in calls of as, and its error is returned.
func TestIndexAsOwner(t *testing.T) {
	l := layerOf(t, &tar.Header{Typeflag: tar.TypeDir, Name: "d/"}, &tar.Header{Name: "d/f", ModTime: time.Unix(1, 0)})
	x := must.Get(index(l))(t)
	dir := folder(t)
	if err := x.Unpack(dir, func(func() error) error { return unix.EPERM }); err != unix.EPERM || len(list(t, dir)) > 0 {
		t.Error(err, list(t, dir))
	}
}

// TestIndexModes: files and directories have their modes again, also those that their owner may not read or enter.
func TestIndexModes(t *testing.T) {
	dir := folder(t)
	at := dir.Name() + "/"
	must.Do(t, os.MkdirAll(at+"shut/in/deep", 0o755))
	must.Do(t, os.MkdirAll(at+"sticky", 0o755))
	for _, name := range []string{"none", "shut/none", "shut/in/deep/none"} {
		must.Do(t, os.WriteFile(at+name, []byte("x"), 0o600))
	}
	modes := map[string]uint32{"none": 0, "shut/none": 0, "shut/in/deep/none": 0o200, "shut/in/deep": 0o111, "shut/in": 0,
		"shut": 0o500, "sticky": 0o1777}
	for _, name := range []string{"none", "shut/none", "shut/in/deep/none", "shut/in/deep", "shut/in", "shut", "sticky"} {
		must.Do(t, unix.Chmod(at+name, modes[name]))
	}
	again := folder(t)
	must.Do(t, must.Get(index(pack(t, dir, nil)))(t).Unpack(again, plainly))
	for _, tree := range []string{again.Name(), dir.Name()} { // both can be removed then
		for _, name := range []string{"none", "sticky", "shut", "shut/none", "shut/in", "shut/in/deep", "shut/in/deep/none"} {
			var st unix.Stat_t
			must.Do(t, unix.Lstat(tree+"/"+name, &st))
			if st.Mode&0o7777 != modes[name] {
				t.Errorf("%s: %s has mode %o, not %o", tree, name, st.Mode&0o7777, modes[name])
			}
			if st.Mode&unix.S_IFMT == unix.S_IFDIR {
				must.Do(t, unix.Chmod(tree+"/"+name, 0o700))
			}
		}
	}
}
