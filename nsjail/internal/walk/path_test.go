package walk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// TestPath: a path is resolved as open(2) does, and each symbolic link on the way is told, since whoever can replace one
// can replace what the path leads to.
func TestPath(t *testing.T) {
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	long := strings.Repeat("n", unix.NAME_MAX+1)
	must.Do(t, errors.Join(os.MkdirAll(dir+"/a/b", 0o755), os.WriteFile(dir+"/a/f", nil, 0o600), os.WriteFile(dir+"/a/x\ny", nil, 0o600)))
	for name, text := range map[string]string{"rel": "a/b", "abs": dir + "/a", "up": "../../" + filepath.Base(filepath.Dir(dir)) + "/" + filepath.Base(dir) + "/a", "twice": "rel",
		"a/back": "../rel/..", "loop": "loop", "ping": "pong", "pong": "ping", "dangling": "gone/further", "toofar": long, "slashes": "a//./b/", "tofile": "a/f"} {
		must.Do(t, os.Symlink(text, filepath.Join(dir, name)))
	}
	for i := range maxLinks + 2 {
		must.Do(t, os.Symlink(fmt.Sprintf("chain%d", i+1), fmt.Sprintf("%s/chain%d", dir, i)))
	}
	must.Do(t, os.Mkdir(fmt.Sprintf("%s/chain%d", dir, maxLinks+2), 0o755))
	for rel, want := range map[string]struct {
		links string
		end   string
		stat  bool
		rest  string
		err   error
	}{
		"a/b":              {"", "a/b", true, "", nil},
		"a/f":              {"", "a/f", true, "", nil},
		"a/x\ny":           {"", "a/x\ny", true, "", nil},
		"":                 {"", "", true, "", nil},
		".":                {"", "", true, "", nil},
		"a/../a//b/.":      {"", "a/b", true, "", nil},
		"a/b/../..":        {"", "", true, "", nil},
		"rel":              {"rel", "a/b", true, "", nil},
		"rel/..":           {"rel", "a", true, "", nil}, // of what the link leads to, not of the link
		"twice":            {"twice rel", "a/b", true, "", nil},
		"abs/b":            {"abs", "a/b", true, "", nil},
		"up/f":             {"up", "a/f", true, "", nil},
		"a/back":           {"a/back rel", "a", true, "", nil},
		"slashes":          {"slashes", "a/b", true, "", nil},
		"a/f/x":            {"", "a/f", true, "", nil}, // a file where a directory was meant
		"tofile/../f":      {"tofile", "a/f", true, "", nil},
		"a/gone/x/y":       {"", "a/gone", false, "x/y", unix.ENOENT},
		"dangling":         {"dangling", "gone", false, "further", unix.ENOENT},
		"dangling/z":       {"dangling", "gone", false, "further/z", unix.ENOENT},
		"loop/x":           {strings.TrimSpace(strings.Repeat("loop ", maxLinks+1)), "loop", false, "", nil},
		"ping":             {strings.TrimSpace(strings.Repeat("ping pong ", maxLinks/2) + "ping"), "ping", false, "", nil},
		"toofar":           {"toofar", long, false, "", nil},
		"a/" + long + "/x": {"", "a/" + long, false, "", nil},
		"chain2":           {chain(2, maxLinks+1), fmt.Sprint("chain", maxLinks+2), true, "", nil}, // 40 links, as many as the kernel follows
		"chain1":           {chain(1, maxLinks+1), fmt.Sprint("chain", maxLinks+1), false, "", nil},
	} {
		way := Path(dir, rel)
		var links []string
		for _, l := range way.Links {
			if l.Stat == nil || l.Stat.Mode&unix.S_IFMT != unix.S_IFLNK {
				t.Errorf("%s: %s is no link: %+v", rel, l.Full, l.Stat)
			}
			links = append(links, strings.TrimPrefix(l.Full, dir+"/"))
		}
		end := strings.TrimPrefix(strings.TrimPrefix(way.End.Full, dir), "/")
		if got := strings.Join(links, " "); got != want.links || end != want.end || (way.End.Stat != nil) != want.stat || strings.Join(way.Rest, "/") != want.rest || way.Err != want.err {
			t.Errorf("%q: links %q, end %q %v, rest %q, %v\nwant %+v", rel, got, end, way.End.Stat != nil, way.Rest, way.Err, want)
		}
		opened(t, filepath.Clean(dir)+"/"+rel, way)
	}
}

// chain are the names of the links in a chain.
func chain(from, to int) string {
	var names []string
	for i := from; i <= to; i++ {
		names = append(names, fmt.Sprint("chain", i))
	}
	return strings.Join(names, " ")
}

// opened fails unless the kernel comes to the same end, where it comes to one.
func opened(t *testing.T, full string, way Way) {
	t.Helper()
	fd, err := unix.Open(full, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	var st unix.Stat_t
	must.Do(t, errors.Join(unix.Fstat(fd, &st), unix.Close(fd)))
	if way.End.Stat == nil || IDOf(way.End.Stat) != IDOf(&st) {
		t.Errorf("%s: the kernel opens another file than %s", full, way.End.Full)
	}
}

// A directory of another user's, or of one's own without permission, ends the way with what is left of it.
func TestPathDenied(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root is denied nothing")
	}
	dir := t.TempDir()
	must.Do(t, errors.Join(os.MkdirAll(dir+"/shut/in/side", 0o755), os.Chmod(dir+"/shut", 0)))
	defer os.Chmod(dir+"/shut", 0o700)
	if way := Path(dir, "shut/in/side"); way.End.Full != dir+"/shut/in" || way.End.Stat != nil || way.Err != unix.EACCES || !slices.Equal(way.Rest, []string{"side"}) {
		t.Errorf("%+v", way)
	}
}

// The root of the host is above everything.
func TestPathAboveRoot(t *testing.T) {
	if way := Path("/", "../../.."); way.End.Full != "/" || way.End.Stat == nil || way.Err != nil {
		t.Errorf("%+v", way)
	}
}

// FuzzPath: whatever a path of names and links is, the kernel opens the same file, or none.
func FuzzPath(f *testing.F) {
	for _, seed := range [][2]string{{"a/b", "l/../b"}, {"..", "l/l"}, {"/", "l/etc/passwd"}, {"l", "l"}, {"a//", "a/./b/.."}, {"b/..", "a/l/x"}, {"a\nb", "l/\x01"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, rel string) {
		if strings.Contains(text+rel, "\x00") || text == "" || len(text) > 4000 || len(rel) > 4000 {
			t.Skip()
		}
		dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
		must.Do(t, errors.Join(os.MkdirAll(dir+"/a/b", 0o755), os.Symlink(text, dir+"/l"), os.Symlink("../l", dir+"/a/l")))
		way := Path(dir, rel)
		if !filepath.IsAbs(way.End.Full) || filepath.Clean(way.End.Full) != way.End.Full || len(way.Links) > maxLinks+1 {
			t.Errorf("%q, %q: %+v", text, rel, way)
		}
		opened(t, dir+"/"+rel, way)
	})
}
