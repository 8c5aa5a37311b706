package workspace

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brig/internal/sys"
	"brig/internal/test/must"
)

// chownAll makes the payload's user the owner of what a test has made.
func chownAll(t testing.TB, tree *Tree, at string, paths ...string) {
	t.Helper()
	uid, gid := tree.volume.Owner()
	for _, p := range paths {
		must.Do(t, os.Lchown(at+"/"+p, uid, gid))
	}
}

func TestAllowed(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		for _, f := range []string{"/input/in", "/work/f", "/work/d/f", "/work/locked/f", "/work/ro/f", "/output/o",
			"/work/unreadable"} {
			put(t, tree, f, "x")
		}
		links := map[string]string{"in": "/input/in", "rel": "../input/in", "indir": "/input", "abs": "/work/d/f",
			"outside": "/etc/passwd", "usr": "/usr",
			"loop": "loop2", "loop2": "loop", "new": "d/fresh", "newin": "/input/fresh", "newabs": "/fresh", "root": "/",
			"magic": "/proc/self/root/work/f", "dir": "d", "dots": "../../../../work/f"}
		for name, target := range links {
			must.Do(t, os.Symlink(target, at+"/work/"+name))
			chownAll(t, tree, at, "work/"+name)
		}
		must.Do(t, os.Chmod(at+"/work/unreadable", 0o200))
		must.Do(t, os.Chmod(at+"/work/ro", 0o555))
		must.Do(t, os.Chmod(at+"/work/locked", 0))
		must.Do(t, os.Chmod(at+"/output/o", 0o444))
		must.Do(t, os.Symlink("f", at+"/work/link1"))
		for i := 2; i <= 41; i++ {
			must.Do(t, os.Symlink(fmt.Sprint("link", i-1), fmt.Sprint(at, "/work/link", i)))
		}
		for _, c := range []struct {
			path        string
			read, write bool
		}{
			{"link40", true, true}, {"link41", false, false},
			{"/work/f", true, true}, {"f", true, true}, {"./f", true, true}, {"/work", true, true}, {"/work/", true, true},
			{"/input", true, false},
			{"/input/in", true, false}, {"/input/fresh", false, false}, {"/output/o", true, false},
			{"/output/fresh", false, true},
			{"fresh", false, true}, {"fresh/", false, false}, {"none/fresh", false, false}, {"f/", false, false},
			{"f/x", false, false},
			{"d/../f", true, true}, {"none/../f", false, false}, {"f/../f", false, false}, {"../work/f", true, true},
			{"../input/in", true, false},
			{"/work/../input/../work/f", true, true}, {"/../../work/f", true, true}, {"/input/../work/f", true, true},
			{"/work/../etc/passwd", false, false},
			{"in", true, false}, {"rel", true, false}, {"indir/in", true, false}, {"indir/fresh", false, false},
			{"abs", true, true}, {"dir/f", true, true},
			{"dir/../f", true, true}, {"indir/../output/fresh", false, true}, {"outside", false, false},
			{"usr/bin/env", false, false},
			{"loop", false, false}, {"new", false, true}, {"new/", false, false}, {"newin", false, false},
			{"newabs", false, false}, {"root", false, false},
			{"root/work/f", true, true}, {"root/etc/passwd", false, false}, {"magic", false, false}, {"dots", true, true},
			{"locked/f", false, false}, {"locked/../f", false, false}, {"locked", false, false}, {"locked/fresh", false, false},
			{"ro/f", true, true}, {"ro/fresh", false, false}, {"ro", true, false}, {"unreadable", false, true},
			{"/", false, false}, {"/etc/passwd", false, false}, {"/proc/self/environ", false, false}, {"/tmp/x", false, false},
			{"/workx", false, false},
			{"", false, false}, {"a\x00b", false, false}, {strings.Repeat("x", 256), false, false},
			{strings.Repeat("./", 3000), false, false},
			{"\xff\n", false, true},
		} {
			for _, write := range []bool{false, true} {
				got, err := tree.Allowed(c.path, write)
				if want := write && c.write || !write && c.read; err != nil || got != want {
					t.Errorf("%q, write %v: %v, %v", c.path, write, got, err)
				}
			}
		}
		must.Do(t, os.Chmod(at+"/work/locked", 0o700)) // so that it can be removed
		must.Do(t, os.Chmod(at+"/work/ro", 0o700))
	})
}

// kernel asks the kernel: as the payload's user, with the volume as root directory.
func kernel(t *testing.T, tree *Tree, p string, write bool) (yes bool) {
	t.Helper()
	if !strings.HasPrefix(p, "/") {
		p = "/work/" + p
	}
	how := unix.OpenHow{Flags: unix.O_CLOEXEC | unix.O_NONBLOCK,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	must.Do(t, sys.Control(tree.volume.Root(), func(root int) error {
		if !write {
			fd, err := retry(root, p, &how)
			unix.Close(fd)
			return report(&yes, err)
		}
		how.Flags |= unix.O_WRONLY
		fd, err := retry(root, p, &how)
		unix.Close(fd)
		if err == unix.EISDIR {
			how.Flags = unix.O_PATH | unix.O_CLOEXEC
			if fd, err = retry(root, p, &how); err == nil {
				err = unix.Faccessat2(fd, "", unix.W_OK, unix.AT_EACCESS|unix.AT_EMPTY_PATH)
				unix.Close(fd)
			}
		}
		if err != unix.ENOENT {
			return report(&yes, err)
		}
		how.Flags |= unix.O_CREAT
		how.Mode = 0o600
		if fd, err = retry(root, p, &how); err == nil {
			made, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
			must.Do(t, os.Remove(made))
			unix.Close(fd)
			if path.Base(path.Dir(made)) == "volume" {
				err = unix.EROFS // the jail's root
			}
		}
		return report(&yes, err)
	}))
	return yes
}

func report(yes *bool, err error) error {
	*yes = err == nil
	if err == nil || denied(err) || err == unix.EISDIR || err == unix.EROFS {
		return nil
	}
	return err
}

// retry is openat2(2) until no rename or mount of anybody's on the machine comes in between: it returns EAGAIN for
// "..".
func retry(root int, p string, how *unix.OpenHow) (fd int, err error) {
	for range 1000 {
		if fd, err = unix.Openat2(root, p, how); err != unix.EAGAIN {
			break
		}
	}
	return fd, err
}

// In random trees of links, modes and directories, Allowed and the kernel agree.
func TestAllowedIsTheKernels(t *testing.T) {
	v, around := newDirIn(t, inMemory(t))
	must.Do(t, os.Chmod(around, 0o755)) // for kernel's os.Remove
	tree := newTree(v)
	rnd := rand.New(rand.NewPCG(1, 2))
	at := around + "/volume/work"
	names := []string{"a", "b", "c", "d", "..", ".", "", "work", "output"}
	random := func(n int) string {
		var p []string
		for range 1 + rnd.IntN(n) {
			p = append(p, names[rnd.IntN(len(names))])
		}
		s := strings.Join(p, "/")
		if strings.HasPrefix(s, "/") { // not into the root itself, where Allowed has areas only
			s = []string{"/work", "/output"}[rnd.IntN(2)] + s
		}
		return s
	}
	differ, yes := 0, 0
	for range 30 {
		var all []string
		for range 25 {
			p := path.Join(at, strings.ReplaceAll(random(4), "..", "a"))
			var err error
			switch rnd.IntN(4) {
			case 0:
				err = os.WriteFile(p, nil, []os.FileMode{0o600, 0o400, 0o200}[rnd.IntN(3)])
			case 1:
				target := random(5)
				if target == "" {
					target = "."
				}
				err = os.Symlink(target, p)
			default:
				err = os.MkdirAll(p, 0o755)
			}
			if err == nil {
				all = append(all, p)
			}
		}
		for _, p := range all {
			must.Do(t, os.Lchown(p, v.uid, v.gid))
		}
		for _, p := range all {
			if st, err := os.Lstat(p); err == nil && st.IsDir() && p != at && rnd.IntN(5) == 0 {
				_ = os.Chmod(p, []os.FileMode{0, 0o100, 0o400, 0o500, 0o300}[rnd.IntN(5)])
			}
		}
		type question struct {
			path        string
			write, want bool
		}
		ask := make([]question, 150)
		asPayload(t, v, func() {
			for i := range ask {
				q := &ask[i]
				q.path, q.write = random(6), rnd.IntN(2) == 0
				q.want = kernel(t, tree, q.path, q.write)
			}
		})
		for _, q := range ask {
			got, err := tree.Allowed(q.path, q.write)
			if err == nil && got == q.want || q.path == "" || atRoot(tree, q.path) { // the jail's root is not in the volume
				yes += btoi(got)
				continue
			}
			if differ++; differ < 10 {
				t.Errorf("%q, write %v: %v (%v), the kernel says %v", q.path, q.write, got, err, q.want)
			}
		}
		clear(t, tree)
	}
	if yes < 300 {
		t.Errorf("only %d answers were yes", yes)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func clear(t *testing.T, tree *Tree) {
	for _, area := range []string{"/work", "/output"} {
		list, _, err := tree.List(area, false, "", 0)
		must.Do(t, err)
		for _, e := range list {
			must.Do(t, tree.Remove(e.Path))
		}
	}
}

// atRoot reports whether a path ends in the root, or would make a file there.
func atRoot(tree *Tree, p string) (yes bool) {
	if !strings.HasPrefix(p, "/") {
		p = "/work/" + p
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	_ = sys.Control(tree.volume.Root(), func(root int) error {
		var a, b unix.Stat_t
		fd, err := retry(root, p, &how)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		yes = unix.Fstat(fd, &a) == nil && unix.Fstat(root, &b) == nil && a.Ino == b.Ino
		return nil
	})
	return yes
}

// Where there are neither links nor locked directories, what can be read is what Stat finds, of any path whatever.
func FuzzAllowed(f *testing.F) {
	v, _ := newDirIn(f, inMemory(f))
	tree := newTree(v)
	for _, p := range []string{"a/b/f", "/input/f", "/output/\xff"} {
		put(f, tree, p, "")
	}
	for _, s := range []string{"", "/", "a/b/f", "a/b/f/", "a//./b/f/.", "/input/f", "/output/\xff", "a/../a/b",
		"../../input/f", "/etc/passwd", "x\x00", "a/b/new", "/input/new"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, p string) {
		r, err := tree.Allowed(p, false)
		w, werr := tree.Allowed(p, true)
		if err != nil || werr != nil {
			t.Fatalf("%q: %v, %v", p, err, werr)
		}
		place, refusal := parse(p)
		if refusal != nil {
			return
		}
		_, err = stat(tree, p)
		if r != (err == nil && len(place.names) > 0) {
			t.Errorf("%q: %v, and Stat says %v", p, r, err)
		}
		if w && (len(place.names) == 0 || place.names[0] == "input") {
			t.Errorf("%q can be written", p)
		}
	})
}

// asPayload runs f on a thread of its own that is the payload's user to the file system (setfsuid(2)), and then ends.
func asPayload(t *testing.T, v *dirVolume, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if os.Geteuid() == 0 {
			runtime.LockOSThread()
			must.Do(t, unix.Setfsgid(v.gid))
			must.Do(t, unix.Setfsuid(v.uid))
		}
		f()
	}()
	<-done
}
