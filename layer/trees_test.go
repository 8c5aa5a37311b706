package layer

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
)

// pack packs a directory and fails if something was left out.
func pack(t testing.TB, dir *os.File, o *PackOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Get(Pack(&b, dir, o))(t)
	return b.Bytes()
}

// unpack unpacks layers into a new directory.
func unpack(t testing.TB, layers ...[]byte) *os.File {
	t.Helper()
	dir := folder(t)
	for _, l := range layers {
		must.Get(Unpack(bytes.NewReader(l), dir, nil))(t)
	}
	return dir
}

func folder(t testing.TB) *os.File {
	t.Helper()
	dir := must.Get(os.Open(t.TempDir()))(t)
	t.Cleanup(func() { dir.Close() })
	return dir
}

// inMemory makes the directories of a test in memory, since a disk that others use takes seconds.
func inMemory(t testing.TB) {
	t.Helper()
	if _, err := os.Stat("/dev/shm"); err == nil {
		t.Setenv("TMPDIR", "/dev/shm")
	}
}

// equal fails if two directories differ.
func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("%s: line %d is %.200s, want %.200s", what, i, g, w)
			return
		}
	}
}

// disturb changes a tree at random, n times. Some of the changes may fail.
func disturb(r *rand.Rand, dir string, n int) {
	name := func() string {
		names := []string{"a", "b", "c", "d\n", "\xff"}
		parts := make([]string, 1+r.IntN(3))
		for i := range parts {
			parts[i] = names[r.IntN(len(names))]
		}
		return filepath.Join(dir, strings.Join(parts, "/"))
	}
	modes := []os.FileMode{0o755, 0o700, 0o644, 0o751}
	for range n {
		path, other := name(), name()
		switch r.IntN(13) {
		case 0, 1, 2:
			os.MkdirAll(path, 0o755)
		case 3, 4, 5:
			os.WriteFile(path, bytes.Repeat([]byte{byte('a' + r.IntN(20))}, r.IntN(100)), 0o644)
		case 6:
			os.RemoveAll(path)
		case 7:
			os.RemoveAll(path)
			os.Mkdir(path, 0o711)
		case 8:
			os.Symlink(filepath.Base(other), path)
		case 9:
			os.Link(other, path)
		case 10:
			os.Rename(other, path)
		case 11:
			if st, err := os.Lstat(path); err == nil && st.Mode()&os.ModeSymlink == 0 { // it may lead out of the tree
				os.Chmod(path, modes[r.IntN(len(modes))]|0o700)
				unix.Lsetxattr(path, "user.brig", []byte{byte('a' + r.IntN(20))}, 0)
			}
		case 12:
			when := unix.Timespec{Sec: r.Int64N(1 << 33), Nsec: r.Int64N(1e9)}
			unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{when, when}, unix.AT_SYMLINK_NOFOLLOW)
		}
	}
}

// TestRoundTrip: of any tree, Unpack makes from Pack's layer an equal one, which has an equal layer.
func TestRoundTrip(t *testing.T) {
	inMemory(t)
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir := folder(t)
			disturb(rand.New(rand.NewPCG(seed, 1)), dir.Name(), 60)
			first := pack(t, dir, nil)
			again := unpack(t, first)
			equal(t, "the tree unpacked", list(t, again), list(t, dir))
			if !bytes.Equal(pack(t, again, nil), first) {
				t.Error("its layer differs")
			}
		})
	}
}

// TestTimes: each file, link and directory keeps its time of modification.
func TestTimes(t *testing.T) {
	dir := folder(t)
	when := time.Unix(1234567890, 123456789)
	os.MkdirAll(dir.Name()+"/d/e", 0o755)
	os.WriteFile(dir.Name()+"/d/e/f", []byte("x"), 0o644)
	os.Symlink("f", dir.Name()+"/d/l")
	names := []string{"d/e/f", "d/l", "d/e", "d"}
	ts := unix.NsecToTimespec(when.UnixNano())
	for _, name := range names {
		must.Do(t, unix.UtimesNanoAt(int(dir.Fd()), name, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW))
	}
	again := unpack(t, pack(t, dir, nil))
	for _, name := range names {
		st, err := os.Lstat(filepath.Join(again.Name(), name))
		if err != nil || !st.ModTime().Equal(when) {
			t.Errorf("%s: %v, %v; want %v", name, st.ModTime(), err, when)
		}
	}
}

// TestTimesBelow: a directory of the layer below keeps its time where the layer has entries in it and none of its own.
func TestTimesBelow(t *testing.T) {
	when, p := time.Unix(1e9, 0), folder(t)
	below := layerOf(t, &tar.Header{Typeflag: tar.TypeDir, Name: "d/", Mode: 0o755, ModTime: when},
		&tar.Header{Typeflag: tar.TypeReg, Name: "d/gone"}, &tar.Header{Typeflag: tar.TypeReg, Name: "d/e/gone"})
	for _, l := range [][]byte{below, layerOf(t, &tar.Header{Typeflag: tar.TypeReg, Name: "d/new"}),
		layerOf(t, &tar.Header{Typeflag: tar.TypeReg, Name: "d/.wh.gone"}),
		layerOf(t, &tar.Header{Typeflag: tar.TypeReg, Name: "d/.wh..wh..opq"})} {
		must.Get(Unpack(bytes.NewReader(l), p, nil))(t)
		if st, err := os.Stat(p.Name() + "/d"); err != nil || !st.ModTime().Equal(when) {
			t.Errorf("%v, %v; want %v", st.ModTime(), err, when)
		}
	}
	equal(t, "the tree", list(t, p), []string{"dir d 755"})
}

func layerOf(t testing.TB, headers ...*tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		must.Do(t, w.WriteHeader(h))
	}
	must.Do(t, w.Close())
	return b.Bytes()
}

// TestSkip: what the caller skips has no entry; a hard link to it is a file.
func TestSkip(t *testing.T) {
	dir := folder(t)
	os.MkdirAll(dir.Name()+"/d/e", 0o755)
	os.WriteFile(dir.Name()+"/d/e/f", []byte("text"), 0o644)
	os.Link(dir.Name()+"/d/e/f", dir.Name()+"/d/hard")
	os.Symlink("x", dir.Name()+"/d/link")
	l := pack(t, dir, &PackOptions{Skip: func(name string) bool { return name != "d/hard" }})
	equal(t, "what is left", list(t, unpack(t, l)), []string{"dir d 755", "file d/hard 644 text"})
}

// TestManyFiles: a layer of 100,000 files, with an opaque directory at its end, and one more file than is allowed.
func TestManyFiles(t *testing.T) {
	if testing.Short() || asuser.Second() {
		t.Skip("100,000 files once, without -short")
	}
	inMemory(t)
	dir := folder(t)
	stats, err := Unpack(bytes.NewReader(manyFiles(t, 100_000)), dir, nil)
	if err != nil || stats.Files != 100_000+100+1 {
		t.Fatalf("%+v, %v", stats, err)
	}
	if stats, err = Pack(io.Discard, dir, nil); err != nil || stats.Files != 100_000+100 {
		t.Fatalf("%+v, %v", stats, err)
	}
	_, err = Pack(io.Discard, dir, &PackOptions{MaxFiles: 99_999})
	var limit *LimitError
	if !errors.As(err, &limit) || limit.What != "files" {
		t.Error(err)
	}
}
