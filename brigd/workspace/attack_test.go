package workspace

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"brig/internal/test/must"
)

// A file that is not regular is recognised without opening it, and no call blocks.
func TestTypes(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		work := at + "/work/"
		must.Do(t, os.Mkdir(work+"d", 0o755))
		put(t, tree, "d/f", "text")
		must.Do(t, unix.Mkfifo(work+"fifo", 0o666))
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		must.Do(t, err)
		defer unix.Close(fd)
		dir, err := unix.Open(work, unix.O_PATH, 0)
		must.Do(t, err)
		defer unix.Close(dir)
		must.Do(t, unix.Bind(fd, &unix.SockaddrUnix{Name: "/proc/self/fd/" + strconv.Itoa(dir) + "/socket"}))
		links := map[string]string{"file": "d/f", "dir": "d", "abs": "/etc/passwd", "up": "../../..", "loop": "loop",
			"none":  "nothing",
			"magic": "/proc/self/fd", "self": "/proc/self/root/etc/passwd"}
		for name, target := range links {
			must.Do(t, os.Symlink(target, work+name))
		}
		kinds := map[string]string{"fifo": CodeNotRegular, "socket": CodeNotRegular}
		if err := unix.Mknod(work+"device", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))); err == nil { // endless zeros
			kinds["device"] = CodeNotRegular
		} else if os.Getuid() == 0 {
			t.Errorf("mknod: %v", err)
		}
		for name := range links {
			kinds[name] = CodeSymlink
		}
		for name, code := range kinds {
			_, _, err := tree.Open(name)
			wantCode(t, "open "+name, err, code)
			if code != CodeSymlink {
				code = CodeNotDir
			}
			_, _, err = tree.Open(name + "/f")
			wantCode(t, "open below "+name, err, code)
			_, err = tree.Put(name+"/x", strings.NewReader("x"), 0o644, 0)
			wantCode(t, "put below "+name, err, code)
			wantCode(t, "mkdir "+name, mkdir(tree, name), code)
			wantCode(t, "remove below "+name, tree.Remove(name+"/f"), code)
			_, _, err = tree.List(name, true, "", 0)
			wantCode(t, "list "+name, err, code)
			e, err := stat(tree, name)
			if err != nil || e.Target != links[name] || e.Type == "file" {
				t.Errorf("%s: %+v, %v", name, e, err)
			}
		}
		list, more, err := tree.List("/work", true, "", 0)
		if err != nil || more || len(list) != len(kinds)+2 {
			t.Errorf("%q, %v, %v", paths(list), more, err)
		}
		for name := range kinds {
			must.Do(t, tree.Remove(name))
		}
		if got := read(t, tree, "d/f"); got != "text" {
			t.Errorf("%q is left of what the links led to", got)
		}
	})
}

// A sparse file larger than memory is described without reading it, and a file with a lease does not block a call.
func TestSparseAndLeased(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		put(t, tree, "f", "")
		f, err := os.OpenFile(at+"/work/f", os.O_RDWR, 0)
		must.Do(t, err)
		must.Do(t, f.Truncate(1<<42))
		got, e, err := tree.Open("f")
		if err != nil || e.Size != 1<<42 {
			t.Errorf("%+v, %v", e, err)
		} else {
			must.Do(t, got.Close())
		}
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
		if err != nil {
			t.Logf("no lease: %v", err)
		} else {
			_, _, err = tree.Open("f")
			wantCode(t, "a leased file", err, CodeBusy)
		}
		must.Do(t, f.Close())
		must.Do(t, tree.Remove("f"))
	})
}

var hostile = []string{"new\nline", "\xff\xfe\x80", "esc\x1b]0;owned\a", "quote\"'\\", "...", " ", "-rf", "*", "\t",
	"é", "e\xcc\x81", "\\xff",
	"\u202egnp.exe", "\ufffd", "\xed\xa0\x80", "<script>", "%00", "a;b|c", strings.Repeat("\xf0\x9f\x98\x80", 63),
	strings.Repeat("\xff", 255)}

// Any name that a file may have can be listed, described, read, and removed, by the name in the list.
func TestNames(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		for _, name := range hostile {
			must.Do(t, os.MkdirAll(filepath.Join(at, "work", name), 0o755))
			must.Do(t, os.WriteFile(filepath.Join(at, "work", name, name), []byte(name), 0o644))
		}
		list, more, err := tree.List("/work", true, "", 0)
		if err != nil || more || len(list) != 2*len(hostile) {
			t.Fatalf("%d of %d entries, %v, %v", len(list), 2*len(hostile), more, err)
		}
		text, err := json.Marshal(list)
		must.Do(t, err)
		var back []Entry
		must.Do(t, json.Unmarshal(text, &back))
		for _, e := range back {
			raw := e.Path
			if e.RawPath != nil {
				raw = string(e.RawPath)
			}
			if !utf8.ValidString(e.Path) || (e.RawPath == nil) != utf8.ValidString(raw) {
				t.Errorf("%+v", e)
			}
			if name := raw[strings.LastIndexByte(raw, '/')+1:]; e.Type == "file" && read(t, tree, raw) != name {
				t.Errorf("%q has another's text", raw)
			}
		}
		for _, name := range hostile {
			put(t, tree, "/output/"+name+"/"+name, name)
			if got := read(t, tree, "/output/"+name+"/"+name); got != name {
				t.Errorf("%q", got)
			}
			must.Do(t, tree.Remove(name))
			must.Do(t, tree.Remove("/output/"+name))
		}
		if _, inodes, err := tree.Usage(); err != nil || strings.HasPrefix(at, "/proc") && inodes != 4 {
			t.Errorf("%d inodes are left, %v", inodes, err)
		}
	})
}

// deepen makes a chain of directories without long paths.
func deepen(t testing.TB, dir string, depth int) {
	t.Helper()
	cur, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	must.Do(t, err)
	for range depth {
		must.Do(t, unix.Mkdirat(cur, "d", 0o755))
		next, err := unix.Openat(cur, "d", unix.O_PATH|unix.O_DIRECTORY, 0)
		must.Do(t, err)
		must.Do(t, unix.Close(cur))
		cur = next
	}
	must.Do(t, unix.Close(cur))
}

func TestDeep(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		depth := 10000
		if !strings.HasPrefix(at, "/proc") {
			depth = 1000 // a disk takes its time
		}
		deepen(t, at+"/work", depth)
		list, more, err := tree.List("/work", true, "", 0)
		if err != nil || !more || len(list) != maxDepth+1 {
			t.Errorf("%d entries, %v, %v", len(list), more, err)
		}
		before := openFiles(t)
		must.Do(t, tree.Remove("d"))
		if list, more, err = tree.List("/work", true, "", 0); err != nil || more || len(list) != 0 {
			t.Errorf("%d entries are left, %v, %v", len(list), more, err)
		}
		if after := openFiles(t); after != before {
			t.Errorf("%d descriptors, were %d", after, before)
		}
	})
}

func openFiles(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	must.Do(t, err)
	return len(list)
}

// A tree whose directories forbid everything to their owner goes all the same; what a link leads to stays as it is.
func TestRemoveLocked(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		must.Do(t, mkdir(tree, "keep"))
		put(t, tree, "keep/f", "kept")
		must.Do(t, os.Chmod(at+"/work/keep", 0o555))
		for _, d := range []string{"top/a/b/c", "top/a/x", "top/y/z/1/2/3", "top/half/500/d", "top/half/444/d",
			"top/half/100/d", "top/500/d"} {
			must.Do(t, mkdir(tree, d))
		}
		for d, mode := range map[string]os.FileMode{"half/500": 0o500, "half/444": 0o444, "half/100": 0o100, "500": 0o500} {
			put(t, tree, "top/"+d+"/f", "")
			must.Do(t, os.Chmod(at+"/work/top/"+d, mode))
		}
		put(t, tree, "top/a/b/c/f", "")
		for _, d := range []string{"top", "top/a", "top/a/b"} {
			must.Do(t, os.Symlink("/work/keep", at+"/work/"+d+"/link"))
			must.Do(t, os.Symlink("../../keep", at+"/work/"+d+"/rel"))
		}
		for _, d := range []string{"top/y/z/1/2/3", "top/y/z/1/2", "top/y/z/1", "top/y/z", "top/y", "top/a/b/c", "top/a/b",
			"top/a/x", "top/a", "top"} {
			must.Do(t, os.Chmod(at+"/work/"+d, 0))
		}
		list, more, err := tree.List("/work", true, "", 0)
		if err != nil || os.Getuid() != 0 && (!more || len(list) != 3) {
			t.Errorf("%q, %v, %v", paths(list), more, err)
		}
		must.Do(t, tree.Remove("top"))
		if e, err := stat(tree, "keep"); err != nil || e.Mode != "0555" {
			t.Errorf("%+v, %v", e, err)
		}
		if got := read(t, tree, "keep/f"); got != "kept" {
			t.Errorf("%q", got)
		}
		must.Do(t, os.Chmod(at+"/work/keep", 0o755)) // so that it can be removed
	})
}

// A call that takes too long ends with an error, and the next one works.
func TestBounds(t *testing.T) {
	v, around := newDirIn(t, inMemory(t))
	tree := newTree(v)
	for i := range 300 {
		must.Do(t, os.MkdirAll(filepath.Join(around, "volume/work/wide", strconv.Itoa(i), "x"), 0o755))
	}
	if list, more, err := tree.List("wide", true, "", 100); err != nil || !more || len(list) != 100 ||
		!slices.IsSorted(paths(list)) {
		t.Errorf("%d, %v, %v", len(list), more, err)
	}
	tree.visits = 500
	_, _, err := tree.List("wide", true, "", 0)
	wantCode(t, "list", err, CodeTooMuch)
	calls := 1
	for err = tree.Remove("wide"); err != nil && calls < 10; err = tree.Remove("wide") {
		wantCode(t, "remove", err, CodeTooMuch)
		calls++
	}
	if err != nil || calls < 2 {
		t.Errorf("%d calls, %v", calls, err)
	}
	deepen(t, filepath.Join(around, "volume/work"), 3)
	tree.visits, tree.time = maxVisits, 0
	for i := range 300 {
		must.Do(t, os.Mkdir(filepath.Join(around, "volume/work/d", strconv.Itoa(i)), 0o755))
	}
	_, _, err = tree.List("/work", true, "", 0)
	wantCode(t, "list without time", err, CodeTooMuch)
}

// A list is bounded in bytes as well, and leaves out what no path can name.
func TestListBytes(t *testing.T) {
	v := newReal(t, 1<<20, 5000)
	tree := newTree(v)
	long := strings.Repeat("n", 200)
	dir := strings.Repeat(long+"/", 20)
	must.Do(t, mkdir(tree, dir))
	fd, err := tree.open(place{names: strings.Split("work/"+strings.Trim(dir, "/"), "/")}, unix.O_PATH)
	must.Do(t, err)
	defer unix.Close(fd)
	for i := range 2300 {
		must.Do(t, unix.Mkdirat(fd, strconv.Itoa(i), 0o755))
	}
	list, more, err := tree.List("/work", true, "", 0)
	if err != nil || !more || len(list) < 2000 || len(list) >= 2320 {
		t.Errorf("%d entries, %v, %v", len(list), more, err)
	}
	must.Do(t, tree.Remove(long))
	must.Do(t, mkdir(tree, dir))
	fd, err = tree.open(place{names: strings.Split("work/"+strings.Trim(dir, "/"), "/")}, unix.O_PATH)
	must.Do(t, err)
	defer unix.Close(fd)
	must.Do(t, unix.Mkdirat(fd, strings.Repeat("n", 255), 0o755))
	must.Do(t, unix.Mkdirat(fd, "short", 0o755))
	if list, more, err = tree.List("/work", true, "", 0); err != nil || !more || len(list) != 21 {
		t.Errorf("%d entries, %v, %v", len(list), more, err)
	}
}
