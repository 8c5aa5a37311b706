package host

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// TestPoints: what a read-only directory lacks of the targets is found, and nothing where it cannot be made.
func TestPoints(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"a/b", "real"} {
		must.Do(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	must.Do(t, os.Symlink("real", filepath.Join(dir, "link")))
	fd := must.Get(unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0))(t)
	defer unix.Close(fd)
	bind := spec.Mount{Type: spec.MountBind, Source: dir, Target: "/d"}
	live, writable := bind, bind
	live.Live, writable.Writable = true, true
	tmpfs := func(target string) spec.Mount { return spec.Mount{Type: spec.MountTmpfs, Target: target} }
	data := func(target string) spec.Mount { return spec.Mount{Type: spec.MountData, Target: target} }
	system := []SystemDir{{Name: "usr"}, {Name: "lib", Link: "usr/lib"}, {Name: "etc/ssl"}}
	for name, c := range map[string]struct {
		root   string
		mounts []spec.Mount
		below  string // a mount of the host
		want   []Points
	}{
		"there":            {"", []spec.Mount{tmpfs("/usr/bin"), data("/usr/bin/env"), tmpfs("/tmp"), tmpfs("/new")}, "", nil},
		"in /usr":          {"", []spec.Mount{tmpfs("/usr/new/a")}, "", []Points{{Dir: "usr", Names: []string{"new/a/"}}}},
		"two":              {"", []spec.Mount{tmpfs("/usr/lib/.new"), data("/usr/share/n")}, "", []Points{{Dir: "usr", Names: []string{"lib/.new/", "share/n"}}}},
		"by a link":        {"", []spec.Mount{tmpfs("/lib/new")}, "", []Points{{Dir: "usr/lib", Names: []string{"new/"}}}},
		"in /etc/ssl":      {"", []spec.Mount{tmpfs("/opt"), tmpfs("/etc/ssl/new"), tmpfs("/usr/new")}, "", []Points{{Dir: "etc/ssl", Names: []string{"new/"}, For: 1}, {Dir: "usr", Names: []string{"new/"}, For: 2}}},
		"in a bind":        {"", []spec.Mount{bind, tmpfs("/d/a/b/.c"), data("/d/q")}, "", []Points{{After: 1, Dir: "d", Names: []string{"a/b/.c/", "q"}, For: 1}}},
		"there in a bind":  {"", []spec.Mount{bind, tmpfs("/d/a/b"), data("/d/file")}, "", nil},
		"below a file":     {"", []spec.Mount{bind, tmpfs("/d/file/x"), tmpfs("/usr/bin/env/x")}, "", nil},
		"below a link":     {"", []spec.Mount{bind, tmpfs("/d/link/x")}, "", nil},
		"live":             {"", []spec.Mount{live, tmpfs("/d/x")}, "", nil},
		"writable":         {"", []spec.Mount{writable, tmpfs("/d/x")}, "", nil},
		"in a tmpfs":       {"", []spec.Mount{tmpfs("/usr/lib"), tmpfs("/usr/lib/new")}, "", nil},
		"a symbolic link":  {"", []spec.Mount{{Type: spec.MountSymlink, Source: "x", Target: "/usr/new"}}, "", nil},
		"an image":         {"/srv", []spec.Mount{tmpfs("/usr/new")}, "", nil},
		"bind in an image": {"/srv", []spec.Mount{bind, tmpfs("/d/x")}, "", []Points{{After: 1, Dir: "d", Names: []string{"x/"}, For: 1}}},
		"a mount below":    {"", []spec.Mount{tmpfs("/usr/new")}, "1 1 0:1 / /usr/local rw", nil},
		"and not there":    {"", []spec.Mount{tmpfs("/usr/lib/new")}, "1 1 0:1 / /usr/local rw", []Points{{Dir: "usr/lib", Names: []string{"new/"}}}},
	} {
		h := &Host{Root: Root{System: system}}
		h.Sources.Put(SourceOf(0), &Source{Path: dir, Fd: fd, Dir: true})
		l := &looker{Host: h, table: table(c.below), spec: &spec.Spec{Rootfs: spec.Rootfs{Path: c.root}, Mounts: c.mounts}}
		l.lookPoints()
		for i := range h.Points {
			h.Points[i].base = ""
		}
		if len(h.Points)+len(c.want) > 0 && !reflect.DeepEqual(h.Points, c.want) {
			t.Errorf("%s: %+v, want %+v", name, h.Points, c.want)
		}
	}
}
