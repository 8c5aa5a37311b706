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
