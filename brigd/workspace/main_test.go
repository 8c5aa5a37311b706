package workspace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"brig/brigd/job"
	"brig/internal/test/asuser"
	"brig/internal/test/must"
	"brig/nsjail"
)

func TestMain(m *testing.M) { os.Exit(asuser.Main(m)) }

// runner is one for all tests: it ends with the process.
var runner = sync.OnceValues(nsjail.NewRunner)

// dirVolume is a directory: it can be looked at from outside, and has a neighbour that nobody may reach.
type dirVolume struct {
	root     *os.File
	uid, gid int
}

func (v *dirVolume) ID() string        { return "dir" }
func (v *dirVolume) Root() *os.File    { return v.root }
func (v *dirVolume) Owner() (int, int) { return v.uid, v.gid }
func (v *dirVolume) Close() error      { return v.root.Close() }

// newDir makes one below a temporary directory, in which it is "volume".
func newDir(t testing.TB) (v *dirVolume, around string) {
	t.Helper()
	return newDirIn(t, t.TempDir())
}

// inMemory is a directory where much can be renamed in little time, if there is one.
func inMemory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "brig-sandbox-")
	if err != nil {
		t.Logf("on a disk: %v", err)
		return t.TempDir()
	}
	t.Cleanup(func() { must.Do(t, os.RemoveAll(dir)) })
	return dir
}

func newDirIn(t testing.TB, around string) (*dirVolume, string) {
	t.Helper()
	v := openVolume(t, around)
	t.Cleanup(func() { v.root.Close() })
	return v, around
}

// openVolume returns a Volume, which the caller must close.
func openVolume(t testing.TB, around string) *dirVolume {
	t.Helper()
	v := &dirVolume{uid: os.Getuid(), gid: os.Getgid()}
	if v.uid == 0 {
		v.uid, v.gid = asuser.UID, asuser.UID
	}
	for _, a := range areas {
		must.Do(t, os.MkdirAll(filepath.Join(around, "volume", a), 0o755))
		must.Do(t, os.Lchown(filepath.Join(around, "volume", a), v.uid, v.gid))
	}
	var err error
	v.root, err = os.Open(filepath.Join(around, "volume"))
	must.Do(t, err)
	return v
}

// newReal makes one as a Runner does.
func newReal(t testing.TB, size, inodes int64) *nsjail.Volume {
	t.Helper()
	r, err := runner()
	must.Do(t, err)
	v, err := r.NewVolume(nsjail.VolumeOptions{Size: nsjail.Bytes(size), Inodes: inodes, Dirs: areas})
	must.Do(t, err)
	t.Cleanup(func() { v.Close() })
	return v
}

// each runs a test on a directory and on a Runner's volume. at is a path of the root, for what a payload would do
// there.
func each(t *testing.T, f func(t *testing.T, tree *Tree, at string)) {
	t.Helper()
	t.Run("directory", func(t *testing.T) {
		v, around := newDir(t)
		f(t, newTree(v), filepath.Join(around, "volume"))
	})
	t.Run("volume", func(t *testing.T) {
		v := newReal(t, 8<<20, 30000)
		f(t, newTree(v), fmt.Sprintf("/proc/self/fd/%d", v.Root().Fd()))
	})
}

// wantCode checks that an error is a Refusal with a code and a remedy.
func wantCode(t testing.TB, what string, err error, code string) {
	t.Helper()
	var r *job.Refusal
	switch {
	case code == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case code == "":
	case !errors.As(err, &r):
		t.Errorf("%s: %v, want a refusal with %s", what, err, code)
	case r.Code != code || r.Layer != "sandbox" || len(r.NextSteps) == 0 || !strings.HasSuffix(r.Message, "."):
		t.Errorf("%s: %+v, want %s", what, r, code)
	}
}

func put(t testing.TB, tree *Tree, path, text string) {
	t.Helper()
	if _, err := tree.Put(path, strings.NewReader(text), 0o644, 0); err != nil {
		t.Fatalf("put %q: %v", path, err)
	}
}

func read(t testing.TB, tree *Tree, path string) string {
	t.Helper()
	f, _, err := tree.Open(path)
	if err != nil {
		t.Fatalf("open %q: %v", path, err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	must.Do(t, err)
	return string(b)
}

func tools(t *Tree) *Tools { return &Tools{tree: t} }

func stat(t *Tree, path string) (*Entry, error) { return tools(t).Stat(path) }

// mkdir makes a directory and its parents.
func mkdir(t *Tree, path string) error {
	_, err := tools(t).MakeDir(path, dirMode)
	return err
}

// onlyAreas checks that nothing half-written is left in the root.
func onlyAreas(t testing.TB, at string) {
	t.Helper()
	list, err := os.ReadDir(at)
	must.Do(t, err)
	if len(list) != len(areas) {
		t.Errorf("the root holds %v", list)
	}
}

// names are the paths of a list.
func paths(list []Entry) (p []string) {
	for _, e := range list {
		p = append(p, e.Path)
	}
	return p
}

func itoa(n int) string { return fmt.Sprint(n) }
