package layer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

const overlayVar = "BRIG_TEST_OVERLAY" // "user" or "trusted": the kind of attributes, in a process with its own mounts

// TestOverlay changes a tree through an overlay at random. The layer of the upper directory, unpacked over the lower
// one, is what the overlay has shown.
func TestOverlay(t *testing.T) {
	inMemory(t)
	if kind := os.Getenv(overlayVar); kind != "" {
		for seed := range uint64(40) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) { overlaid(t, seed, kind) })
		}
		return
	}
	kinds := map[string]uintptr{"user": syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS}
	if os.Geteuid() == 0 {
		kinds["trusted"] = syscall.CLONE_NEWNS
	}
	for kind, flags := range kinds {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestOverlay$")
		cmd.Env = append(os.Environ(), overlayVar+"="+kind, "BRIG_TEST_ONLY=root")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
		if flags&syscall.CLONE_NEWUSER != 0 {
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
		}
		out, err := cmd.CombinedOutput()
		if errors.Is(err, syscall.EPERM) {
			t.Skip("no user namespaces: ", err)
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", kind, err, out)
		}
	}
}

func overlaid(t *testing.T, seed uint64, kind string) {
	r, top := rand.New(rand.NewPCG(seed, 2)), t.TempDir()
	must := func(err error) {
		t.Helper()
		must.Do(t, err)
	}
	must(unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	must(unix.Mount("tmpfs", top, "tmpfs", 0, ""))
	defer unix.Unmount(top, unix.MNT_DETACH)
	for _, d := range []string{"lower", "upper", "work", "merged"} {
		must(os.Mkdir(filepath.Join(top, d), 0o755))
	}
	open := func(name string) *os.File {
		f, err := os.Open(filepath.Join(top, name))
		must(err)
		t.Cleanup(func() { f.Close() })
		return f
	}
	lower, upper := open("lower"), open("upper")
	disturb(r, lower.Name(), 60)
	options := fmt.Sprintf("lowerdir=%s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", top)
	if kind == "user" {
		options += ",userxattr"
	} else {
		options += ",redirect_dir=off,metacopy=off,index=off"
	}
	must(unix.Mount("overlay", filepath.Join(top, "merged"), "overlay", 0, options))
	merged := open("merged")
	disturb(r, merged.Name(), 40)
	want := list(t, merged)
	merged.Close()
	must(unix.Unmount(filepath.Join(top, "merged"), 0))
	again := unpack(t, pack(t, lower, nil), pack(t, upper, &PackOptions{Overlay: true}))
	// an overlay shows a file of two names as two files after one of them has been copied up, and so does the layer
	equal(t, "lower and upper", list(t, again), want)
}

// TestUpper packs upper directories as only a hostile payload, or a kernel with other settings, leaves them.
func TestUpper(t *testing.T) {
	attr := func(path, name, value string) error { return unix.Lsetxattr(path, name, []byte(value), 0) }
	write := func(path string) error { return os.WriteFile(path, []byte("x"), 0o644) }
	for name, c := range map[string]struct {
		make            func(d string) error
		tree            []string
		left, err, gone string
	}{
		"an opaque directory": {make: func(d string) error {
			return errors.Join(os.Mkdir(d+"/d", 0o755), attr(d+"/d", "user.overlay.opaque", "y"))
		}, tree: []string{"dir d 755"}, gone: "d/.wh..wh..opq"},
		"a directory with whiteouts by attribute": {make: func(d string) error {
			return errors.Join(os.Mkdir(d+"/d", 0o755), attr(d+"/d", "user.overlay.opaque", "x"),
				os.WriteFile(d+"/d/f", nil, 0o644), attr(d+"/d/f", "user.overlay.whiteout", "y"))
		}, tree: []string{"dir d 755"}, gone: "d/.wh.f"},
		"a whiteout": {make: func(d string) error {
			return unix.Mknod(d+"/f", unix.S_IFCHR, 0)
		}, gone: ".wh.f"},
		"a whiteout by attribute that has contents is a file": {make: func(d string) error {
			return errors.Join(write(d+"/f"), attr(d+"/f", "user.overlay.whiteout", "y"))
		}, tree: []string{"file f 644 x"}},
		"a renamed directory": {make: func(d string) error {
			return errors.Join(os.Mkdir(d+"/d", 0o755), attr(d+"/d", "user.overlay.redirect", "/etc"))
		}, err: `"d": a part of it is in another place of the layers below (user.overlay.redirect), which a layer cannot ` +
			`say: mount the overlay with redirect_dir=off,metacopy=off`},
		"a file without its data": {make: func(d string) error {
			return errors.Join(os.Mkdir(d+"/d", 0o755), write(d+"/d/f"), attr(d+"/d/f", "user.overlay.metacopy", "y"))
		}, err: `"d/f": a part of it is in another place of the layers below (user.overlay.metacopy), which a layer cannot ` +
			`say: mount the overlay with redirect_dir=off,metacopy=off`},
		"what nobody can read": {make: func(d string) error {
			return errors.Join(os.Mkdir(d+"/d", 0o755), write(d+"/d/f"), write(d+"/f"), os.Chmod(d+"/d/f", 0),
				os.Chmod(d+"/f", 0), os.Chmod(d+"/d", 0))
		}, tree: []string{"dir d 700", "file d/f 400 x", "file f 400 x"}},
		"names of whiteouts": {make: func(d string) error {
			return errors.Join(write(d+"/.wh.f"), os.Mkdir(d+"/.wh..wh.d", 0o755), write(d+"/.wh..wh.d/f"))
		}, left: `2 × reserved name (first ".wh..wh.d")`},
		"a FIFO and a socket": {make: func(d string) error {
			return errors.Join(unix.Mkfifo(d+"/f", 0o644), unix.Mknod(d+"/s", unix.S_IFSOCK, 0))
		}, left: `1 × FIFO (first "f"), 1 × socket (first "s")`},
		"set-ID bits": {make: func(d string) error {
			return errors.Join(write(d+"/f"), unix.Chmod(d+"/f", 0o4755))
		}, tree: []string{"file f 755 x"}, left: `1 × set-user-ID or set-group-ID bit (first "f")`},
		"a file of one exbibyte": {make: func(d string) error {
			return errors.Join(write(d+"/f"), os.Truncate(d+"/f", 15<<40))
		}, err: "more than 17179869184 bytes: max_bytes raises the bound"},
		"a thousand names of one file, sorted": {make: func(d string) error {
			err := write(d + "/n100")
			for i := 101; i < 1100; i++ {
				err = errors.Join(err, os.Link(d+"/n100", d+"/n"+strconv.Itoa(i)))
			}
			return err
		}, tree: thousandNames()},
		"directories below each other, 1,000 times": {make: deep(1000), tree: deepList(), left: `1 × name too long or too ` +
			`deep (first "` + strings.Repeat("d/", 32) + `"... (513 bytes))`},
		"twenty attributes": {make: func(d string) error {
			err := write(d + "/f")
			for i := range 20 {
				if e := attr(d+"/f", fmt.Sprintf("user.%d", 10+i), "v"); e != nil {
					err = errors.Join(err, e)
				}
			}
			return err
		}, tree: []string{"file f 644 x" + twentyAttributes()}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			t.Cleanup(func() { // what testing cannot remove
				if err := remove(dir, "d"); err != nil {
					t.Error(err)
				}
			})
			if err := c.make(dir.Name()); errors.Is(err, unix.EOPNOTSUPP) {
				t.Skip("the file system of TMPDIR has no extended attributes: tmpfs before Linux 6.6")
			} else if err != nil {
				t.Fatal(err)
			}
			before := modes(dir.Name())
			var b bytes.Buffer
			stats, err := Pack(&b, dir, &PackOptions{Overlay: true})
			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("error %v\nwant  %s", err, c.err)
				}
				return
			}
			if err != nil || stats.String() != c.left {
				t.Fatalf("left out %s, %v; want %s", stats, err, c.left)
			}
			if after := modes(dir.Name()); after != before {
				t.Errorf("the modes of d and f were %o and are %o", before, after)
			}
			if gone := names(t, b.Bytes(), whiteoutPrefix); gone != c.gone {
				t.Errorf("whiteouts %q; want %q", gone, c.gone)
			}
			equal(t, "the tree", list(t, unpack(t, b.Bytes())), c.tree)
		})
	}
}

// modes returns the modes of the files d and f, as far as they are there.
func modes(dir string) (m [2]uint32) {
	for i, name := range []string{"/d", "/f"} {
		var st unix.Stat_t
		if unix.Lstat(dir+name, &st) == nil {
			m[i] = st.Mode
		}
	}
	return m
}

// deep makes directories below each other, from a descriptor of each.
func deep(n int) func(string) error {
	return func(d string) error {
		fd, err := unix.Open(d, unix.O_PATH, 0)
		for i := 0; i < n && err == nil; i++ {
			next := -1
			if err = unix.Mkdirat(fd, "d", 0o755); err == nil {
				next, err = unix.Openat(fd, "d", unix.O_PATH, 0)
			}
			unix.Close(fd)
			fd = next
		}
		return errors.Join(err, unix.Close(fd))
	}
}

func deepList() (lines []string) {
	for i := range maxDepth {
		lines = append(lines, "dir "+strings.Repeat("d/", i)+"d 755")
	}
	return lines
}

func thousandNames() []string {
	lines := []string{"file n100 644 x"}
	for i := 101; i < 1100; i++ {
		lines = append(lines, fmt.Sprintf("hard n%d => n100", i))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(strings.Fields(a)[1], strings.Fields(b)[1]) })
	first := strings.Fields(lines[0])[1]
	lines[0] = "file " + first + " 644 x"
	for i, line := range lines[1:] {
		lines[i+1] = "hard " + strings.Fields(line)[1] + " => " + first
	}
	return lines
}

func twentyAttributes() (s string) {
	for i := range 20 {
		s += fmt.Sprintf(" user.%d=v", 10+i)
	}
	return s
}

// TestLockedUpper: a payload may have changed the mode of the upper directory itself.
func TestLockedUpper(t *testing.T) {
	dir := folder(t)
	for _, err := range []error{os.WriteFile(dir.Name()+"/f", []byte("x"), 0o644), os.Chmod(dir.Name(), 0)} {
		must.Do(t, err)
	}
	for _, flags := range []int{unix.O_RDONLY, unix.O_PATH} {
		held := dir
		if flags == unix.O_PATH {
			fd := must.Get(unix.Open(dir.Name(), flags|unix.O_CLOEXEC, 0))(t)
			held = os.NewFile(uintptr(fd), dir.Name())
			defer held.Close()
		}
		equal(t, "the tree", list(t, unpack(t, pack(t, held, &PackOptions{Overlay: true}))), []string{"file f 644 x"})
		if st, err := dir.Stat(); err != nil || st.Mode().Perm() != 0 {
			t.Errorf("the mode is %v, %v", st.Mode(), err)
		}
	}
	if err := os.Chmod(dir.Name(), 0o700); err != nil { // for the end of the test
		t.Fatal(err)
	}
}

// TestRemove: a tree of 10,000 levels that nobody may enter is removed with a few descriptors, and nothing beside it.
func TestRemove(t *testing.T) {
	inMemory(t)
	p := newScene(t)
	must.Do(t, errors.Join(deep(10_000)(p.dir.Name()), os.Symlink(p.out, p.dir.Name()+"/d/link"), os.WriteFile(
		p.dir.Name()+"/d/d/.rm-1", nil, 0), os.Chmod(p.dir.Name()+"/d/d", 0), os.Chmod(p.dir.Name()+"/d", 0)))
	for range 2 {
		must.Do(t, remove(p.dir, "d"))
	}
	if left := list(t, p.dir); left != nil {
		t.Error(left)
	}
	p.untouched(t)
}

// TestChanging: a file that shrinks under Pack is an error, not a wrong archive.
func TestChanging(t *testing.T) {
	dir := folder(t)
	must.Do(t, os.WriteFile(dir.Name()+"/f", bytes.Repeat([]byte{1}, 2*copySize), 0o644))
	shrink := writerFunc(func(b []byte) (int, error) { return len(b), os.Truncate(dir.Name()+"/f", 0) })
	if _, err := Pack(shrink, dir, nil); err == nil || err.Error() != `"f": it has changed while it was packed` {
		t.Error(err)
	}
	full := writerFunc(func([]byte) (int, error) { return 0, io.ErrShortWrite })
	if _, err := Pack(full, dir, nil); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// TestReusedInode: a file that gets the inode number of a removed one is not taken for a name of it.
func TestReusedInode(t *testing.T) {
	dir := folder(t)
	path := func(name string) string { return dir.Name() + "/" + name }
	if err := errors.Join(os.WriteFile(path("a"), []byte("old"), 0o644), os.Link(path("a"), path("a2")), os.Mkdir(path("b"), 0o755)); err != nil {
		t.Fatal(err)
	}
	var old, now unix.Stat_t
	replace := func(name string) bool {
		if name != "b" {
			return false
		}
		must.Do(t, errors.Join(unix.Stat(path("a"), &old), os.Remove(path("a")), os.Remove(path("a2"))))
		for i := 0; i < 100 && now.Ino != old.Ino; i++ {
			f := path(fmt.Sprintf("b/%d", i))
			must.Do(t, errors.Join(os.WriteFile(f, []byte("new"), 0o644), os.Link(f, f+"'"), unix.Stat(f, &now)))
		}
		return false
	}
	again := unpack(t, pack(t, dir, &PackOptions{Live: true, Skip: replace}))
	if now.Ino != old.Ino {
		t.Skip("the file system of TMPDIR does not use an inode number again at once")
	}
	files, err := filepath.Glob(again.Name() + "/b/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err != nil || string(text) != "new" {
			t.Errorf("%s: %q, %v", f, text, err)
		}
	}
}
