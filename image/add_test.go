package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
	"brig/layer"
)

// TestMain runs the suite as root and as an ordinary user: modes of files mean nothing to root.
func TestMain(m *testing.M) {
	if os.Getenv(victim) != "" {
		os.Exit(m.Run())
	}
	os.Exit(asuser.Main(m))
}

// archive makes a layer of files, the name of each followed by its content.
func archive(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		h := &tar.Header{Name: files[i], Mode: 0o644, Size: int64(len(files[i+1])), ModTime: time.Unix(1e9, 0)}
		must.Do(t, w.WriteHeader(h))
		must.Get(io.WriteString(w, files[i+1]))(t)
	}
	must.Do(t, w.Close())
	return b.Bytes()
}

// crafted is an image of layers that are not compressed.
func crafted(name string, layers ...[]byte) *New {
	n := &New{Image: Image{Names: []string{name}}, Configuration: []byte("{}")}
	for _, l := range layers {
		d := DigestOf(l)
		n.Layers = append(n.Layers, Layer{Digest: d, DiffID: d, Size: int64(len(l))})
		n.Manifest = append(n.Manifest, d...)
	}
	n.Open = func(l Layer) (io.ReadCloser, error) {
		for _, data := range layers {
			if DigestOf(data) == l.Digest {
				return io.NopCloser(bytes.NewReader(data)), nil
			}
		}
		return nil, errors.New("no such layer")
	}
	return n
}

func add(s *Store, n *New) (*Image, bool, error) {
	w, err := s.Write()
	if err != nil {
		return nil, false, err
	}
	defer w.Close()
	for _, l := range n.Layers {
		err := w.Receive(l.Digest, l.Size, func(int64) (io.ReadCloser, int64, error) {
			r, err := n.Open(l)
			return r, 0, err
		}, func(int64) {})
		if err != nil {
			return nil, false, err
		}
	}
	return w.Add(n)
}

func added(t *testing.T, s *Store, n *New) *Image {
	t.Helper()
	m, _, err := add(s, n)
	must.Do(t, err)
	return m
}

func newStore(t testing.TB) *Store {
	t.Helper()
	return must.Get(Open(filepath.Join(t.TempDir(), "images")))(t)
}

// inMemory makes a store where syncfs(2) costs nothing.
func inMemory(t *testing.T) *Store {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "brig-image-test-")
	if err != nil {
		return newStore(t)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s, err := Open(dir)
	must.Do(t, err)
	return s
}

// left lists what a store has beside locks and empty directories.
func left(t *testing.T, s *Store) (list []string) {
	t.Helper()
	must.Do(t, filepath.WalkDir(s.Dir(), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(path, "lock") {
			list = append(list, strings.TrimPrefix(path, s.Dir()+"/"))
		}
		return err
	}))
	return list
}

// Two images have a base in common: its files are there once. With the last name everything goes.
func TestAnImagesLife(t *testing.T) {
	s := newStore(t)
	base := archive(t, "etc/passwd", "root:x:0:0::/:/bin/sh\n", "lib/big", strings.Repeat("b", 1<<20), "empty", "")
	one := added(t, s, crafted("one", base, archive(t, "app", "1", "etc/.wh.passwd", "")))
	two := added(t, s, crafted("two:2", base, archive(t, "app", "2")))
	if one.Digest == two.Digest || one.Files != 10 || two.Files != 11 || two.Size != 1<<20+23 {
		t.Errorf("%+v\n%+v", one, two)
	}
	a, aerr := os.Stat(one.Tree + "/lib/big")
	b, berr := os.Stat(two.Tree + "/lib/big")
	if aerr != nil || berr != nil || !os.SameFile(a, b) {
		t.Errorf("the images do not share lib/big: %v, %v", aerr, berr)
	}
	if _, err := os.Lstat(one.Tree + "/etc/passwd"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the whiteout had no effect: %v", err)
	}
	if m, again, err := add(s, crafted("three", base, archive(t, "app", "2"))); err != nil || again || m.Digest != two.Digest {
		t.Errorf("%+v, %v, %v", m, again, err)
	}
	if names, gone, err := s.Remove("three"); err != nil || gone != nil || strings.Join(names, " ") != "docker.io/library/three:latest" {
		t.Errorf("%v, %v, %v", names, gone, err)
	}
	hold := must.Get(two.Hold())(t)
	if _, _, err := s.Remove("two:2"); err == nil || !strings.Contains(err.Error(), "a jail uses it") {
		t.Error(err)
	}
	if m, err := s.Lookup("two:2"); err != nil || m.Digest != two.Digest {
		t.Error(err)
	}
	added(t, s, crafted("two:2", archive(t, "other", "2"))) // takes the name
	if p, err := s.Prune(); err != nil || len(p.Images) > 0 {
		t.Errorf("%+v, %v", p, err)
	}
	hold.Close()
	if p, err := s.Prune(); err != nil || len(p.Images) != 1 || p.Images[0] != two.Digest || p.Blobs != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := two.Hold(); err == nil {
		t.Error("an image that is gone was held")
	}
	for _, name := range []string{"two:2", one.Digest} {
		if _, gone, err := s.Remove(name); err != nil || gone == nil {
			t.Errorf("%s: %v, %v", name, gone, err)
		}
	}
	if l := left(t, s); len(l) > 0 {
		t.Errorf("left: %q", l)
	}
}

// An image with any defect is not added, and the others stay.
func TestBadImages(t *testing.T) {
	s := newStore(t)
	good := added(t, s, crafted("good", archive(t, "a", "a")))
	for want, change := range map[string]func(*New){
		"uncompressed, is not what its digest says": func(n *New) { n.Layers[0].DiffID = DigestOf(nil) },
		"the blob is not what its digest says":      func(n *New) { n.Layers[0].Digest = DigestOf(nil); n.Open = constant("abc"); n.Layers[0].Size = 3 },
		"has more than 1 bytes":                     func(n *New) { n.Layers[0].Size = 1 },
		"ends after":                                func(n *New) { n.Layers[0].Size++ },
		"is not sha256: and 64":                     func(n *New) { n.Layers[0].Digest = "sha256:../../etc" },
		"more than 1 files":                         func(n *New) { n.MaxFiles = 1 },
		"more than 3 bytes":                         func(n *New) { n.MaxBytes = 3 },
		"the image name":                            func(n *New) { n.Names = []string{"../x"} },
		"follow the archives": func(n *New) {
			n.Open = func(Layer) (io.ReadCloser, error) {
				return io.NopCloser(io.MultiReader(bytes.NewReader(archive(t, "b", "b", "c", "tail")), io.LimitReader(zeros{}, 1<<30))), nil
			}
			n.Layers[0].Size = 0
		},
	} {
		n := crafted("bad", archive(t, "b", "bbb", "c", want))
		change(n)
		w, err := s.Write()
		must.Do(t, err)
		if n.Layers[0].Size > 0 {
			err = w.Receive(n.Layers[0].Digest, n.Layers[0].Size, func(int64) (io.ReadCloser, int64, error) {
				r, err := n.Open(n.Layers[0])
				return r, 0, err
			}, func(int64) {})
		}
		if err == nil {
			_, _, err = w.Add(n)
		}
		w.Close()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := s.Lookup("bad"); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
	}
	if m, err := s.Lookup("good"); err != nil || m.Digest != good.Digest {
		t.Error(err)
	}
	if work, err := os.ReadDir(s.path("work")); err != nil || len(work) > 0 {
		t.Errorf("%v, %v", work, err)
	}
}

// TestWorkingDir: a WorkingDir that no layer has is made, inside the tree; what cannot be one is left out.
func TestWorkingDir(t *testing.T) {
	s := newStore(t)
	outside := t.TempDir()
	for dir, want := range map[string]string{"": "", "/": "", "/new/er": "new/er", "rel": "rel", "/../up": "up", "/bin/x": "usr/bin/x",
		"/etc/d": "etc/d", "/out/of": "!no such file", "/etc/file": "!not a directory", "/gone": "!no such file", "/loop/x": "!too many levels",
		"/" + strings.Repeat("x", 300): "!file name too long", "/" + strings.Repeat("x/", 3000): "!more than 4095 bytes",
		strings.Repeat("/x", 257): "!or 256 levels", strings.Repeat("/y", 256): strings.Repeat("y/", 255) + "y"} {
		n := crafted("wd", linked(t, "bin", "usr/bin", "gone", "nowhere", "loop", "loop", "out", outside), archive(t, "usr/bin/sh", "x", "etc/file", "x", "salt", dir))
		n.Config.WorkingDir = dir
		m := added(t, s, n)
		if why, bad := strings.CutPrefix(want, "!"); bad {
			if left := strings.Join(m.LeftOut, ""); !strings.Contains(left, why) || len(left) > 200 {
				t.Errorf("%q: %s, want %s", dir, left, why)
			}
			continue
		}
		if st, err := os.Lstat(filepath.Join(m.Tree, want)); err != nil || st.Mode() != os.ModeDir|0o755 || m.LeftOut != nil {
			t.Errorf("%q: %v, %v, %q", dir, st, err, m.LeftOut)
		}
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
		t.Errorf("outside of the tree: %v, %v", list, err)
	}
}

// TestMountPoints: an image gets the directories and the file on which a jail mounts something, inside the tree; what is
// something else there stays.
func TestMountPoints(t *testing.T) {
	s := newStore(t)
	outside := t.TempDir()
	must.Do(t, os.WriteFile(outside+"/hosts", []byte("x"), 0o644))
	m := added(t, s, crafted("points", linked(t, "dev", "loop", "loop", "dev", "tmp", outside, "etc", "conf"),
		archive(t, "proc", "a file", "conf/x", "x")))
	for name, want := range map[string]os.FileMode{"dev": os.ModeSymlink | 0o777, "proc": 0o644, "work": os.ModeDir | 0o755, "conf/hosts": 0o644} {
		if st, err := os.Lstat(filepath.Join(m.Tree, name)); err != nil || st.Mode() != want {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) != 1 {
		t.Errorf("outside of the tree: %v, %v", list, err)
	}
}

// linked makes a layer of symbolic links, the name of each followed by its text.
func linked(t testing.TB, links ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(links); i += 2 {
		must.Do(t, w.WriteHeader(&tar.Header{Name: links[i], Linkname: links[i+1], Typeflag: tar.TypeSymlink}))
	}
	must.Do(t, w.Close())
	return b.Bytes()
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func constant(text string) func(Layer) (io.ReadCloser, error) {
	return func(Layer) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
}

// What was received before a process died is not asked for again; what is damaged is.
func TestReceiveContinues(t *testing.T) {
	s := newStore(t)
	w := must.Get(s.Write())(t)
	defer w.Close()
	for have, wantFrom := range map[string]int64{"": 0, "hel": 3, "hello": -1, "xxx": 0, "hello, you": 0} {
		part := s.path("blobs", DigestOf([]byte("hello"))[len(sha256Prefix):])
		must.Do(t, os.WriteFile(part+".part", []byte(have), 0o600))
		last := int64(-1)
		err := w.Receive(DigestOf([]byte("hello")), 5, func(from int64) (io.ReadCloser, int64, error) {
			last = from
			return io.NopCloser(strings.NewReader("hello"[from:])), from, nil
		}, func(int64) {})
		text, rerr := os.ReadFile(part)
		if err != nil || rerr != nil || string(text) != "hello" || last != wantFrom {
			t.Errorf("%q: %v, %v, %q, from %d", have, err, rerr, text, last)
		}
		must.Do(t, os.Remove(part))
	}
}

// Two that add the same image at once do the work once.
func TestTwoAtOnce(t *testing.T) {
	s := newStore(t)
	var group sync.WaitGroup
	var mu sync.Mutex
	opened, added := 0, 0
	for range 16 {
		group.Go(func() {
			data := archive(t, "a", "a")
			n := crafted("x", data)
			n.Open = func(Layer) (io.ReadCloser, error) {
				mu.Lock()
				defer mu.Unlock()
				opened++
				return io.NopCloser(bytes.NewReader(data)), nil
			}
			m, fresh, err := add(s, n)
			if err == nil {
				var hold *os.File
				if hold, err = m.Hold(); err == nil { // whoever has added it
					err = hold.Close()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if fresh {
				added++
			}
		})
	}
	group.Wait()
	if opened != 2 || added != 1 { // once for the blob, once for the tree
		t.Errorf("opened %d times, added %d times", opened, added)
	}
}

// victim names the store of a process that is to be killed.
const victim = "BRIG_TEST_KILLED_STORE"

// victims returns the two images that the process adds and removes, again and again.
func victims(t testing.TB) []*New {
	base := []string{}
	for i := range 30 {
		base = append(base, fmt.Sprintf("dir%d/file%d", i%5, i), strings.Repeat("x", i*100))
	}
	return []*New{crafted("one", archive(t, base...), archive(t, "a", "1")), crafted("two", archive(t, base...), archive(t, "a", "2"))}
}

// TestKilled: a process that adds and removes images dies at 200 moments. Each time, every image that the store has is
// whole, and after Prune nothing is left beside these.
func TestKilled(t *testing.T) {
	if dir := os.Getenv(victim); dir != "" {
		churn(t, dir)
		return
	}
	s := inMemory(t)
	want := map[string]string{}
	for _, n := range victims(t) {
		m := added(t, s, n)
		want[m.Digest] = listing(t, m.Tree)
		if _, _, err := s.Remove(m.Digest); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]int{}
	for range 200 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), victim+"="+s.Dir())
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		must.Do(t, err)
		if _, err := io.ReadFull(out, make([]byte, 1)); err != nil { // it begins
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(12 * time.Millisecond)))) // the moment
		must.Do(t, errors.Join(cmd.Process.Kill(), ended(cmd)))
		list, err := s.List()
		must.Do(t, err)
		for _, m := range list {
			if got := listing(t, m.Tree); got != want[m.Digest] {
				t.Fatalf("half an image: %s\n%s", got, want[m.Digest])
			}
		}
		p, err := s.Prune()
		must.Do(t, err)
		seen[fmt.Sprintf("%d images, unfinished %v, blobs %v, files %v", len(list), p.Unfinished > 0, p.Blobs > 0, p.Files > 0)]++
		for _, m := range list {
			if _, _, err := s.Remove(m.Digest); err != nil && !errors.Is(err, ErrNotFound) { // it had no name yet
				t.Fatal(err)
			}
		}
		if l := left(t, s); len(l) > 0 {
			t.Fatalf("left after prune and rm: %q", l)
		}
	}
	if t.Logf("%v", seen); len(seen) < 3 {
		t.Error("all moments were alike")
	}
}

// ended waits for a process that was killed.
func ended(cmd *exec.Cmd) error {
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
		return fmt.Errorf("it was not killed: %w", err)
	}
	return nil
}

func churn(t *testing.T, dir string) {
	s := must.Get(Open(dir))(t)
	fmt.Print(".")
	for list := victims(t); ; {
		for _, n := range list {
			n.LeftOut = nil
			if _, _, err := add(s, n); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range list {
			if _, _, err := s.Remove(n.Names[0]); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// listing returns the names and sizes of a tree.
func listing(t *testing.T, tree string) string {
	t.Helper()
	var b strings.Builder
	must.Do(t, filepath.WalkDir(tree, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err == nil && st.Mode().IsRegular() {
			fmt.Fprintln(&b, path[strings.Index(path, "/tree")+5:], st.Size())
		}
		return err
	}))
	return b.String()
}

// TestDiskFull: on a small tmpfs an image that does not fit leaves nothing, and those that are there stay.
func TestDiskFull(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small file system here")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=755"); err != nil {
		t.Skipf("no tmpfs: %v", err)
	}
	defer unix.Unmount(dir, 0)
	s, err := Open(dir + "/images")
	must.Do(t, err)
	small := added(t, s, crafted("small", archive(t, "a", "a")))
	for _, size := range []int{2 << 20, 400 << 10} { // the blob does not fit; the tree does not
		_, _, err = add(s, crafted("big", archive(t, "b", strings.Repeat("b", size), "c", strings.Repeat("c", size))))
		if err == nil || !strings.Contains(err.Error(), "is full") || !strings.Contains(err.Error(), "prune") {
			t.Errorf("%d: %v", size, err)
		}
		if m, err := s.Lookup("small"); err != nil || m.Digest != small.Digest {
			t.Error(err)
		}
		if _, err := s.Prune(); err != nil {
			t.Error(err)
		}
		if l := left(t, s); len(l) != 8 { // a name, four texts, the file, its other name, the blob
			t.Errorf("%q", l)
		}
	}
}

// TestModes: directories that nobody may change, and files that nobody may read, are added and removed all the same.
func TestModes(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []*tar.Header{{Name: "d", Typeflag: tar.TypeDir, Mode: 0o555}, {Name: "d/e", Typeflag: tar.TypeDir, Mode: 0},
		{Name: "d/e/f", Mode: 0, Size: 1}, {Name: "d/l", Typeflag: tar.TypeLink, Linkname: "d/e/f"}} {
		must.Do(t, w.WriteHeader(h))
		must.Get(io.WriteString(w, strings.Repeat("x", int(h.Size))))(t)
	}
	must.Do(t, w.Close())
	s := newStore(t)
	added(t, s, crafted("one", b.Bytes()))
	m := added(t, s, crafted("two", b.Bytes(), archive(t, "g", "g")))
	var st unix.Stat_t
	if err := unix.Stat(m.Tree+"/d/l", &st); err != nil || st.Nlink != 5 { // two in each tree, and one in files
		t.Errorf("%d names, %v", st.Nlink, err)
	}
	for _, name := range []string{"one", "two"} {
		if _, gone, err := s.Remove(name); err != nil || gone == nil {
			t.Error(err)
		}
	}
	if l := left(t, s); len(l) > 0 {
		t.Errorf("left: %q", l)
	}
}

// A file with more names than the file system allows is a copy.
func TestShareBounds(t *testing.T) {
	s := newStore(t)
	added(t, s, crafted("one", archive(t, "a", "same", "x/b", "same")))
	m := added(t, s, crafted("two", archive(t, "a", "same", "c", "different")))
	var st unix.Stat_t
	if err := unix.Stat(m.Tree+"/a", &st); err != nil || st.Nlink != 4 {
		t.Errorf("%d names, %v", st.Nlink, err)
	}
	if layer.DefaultMaxFiles < 100_000 {
		t.Error("an image of 100,000 files is refused")
	}
}
