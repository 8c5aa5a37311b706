package jailpath

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"brig/internal/test/must"
	"brig/internal/test/osroot"
	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// Paths are resolved as in the jail: from its root, through its mounts, and by its links.
func TestResolve(t *testing.T) {
	root, data := osroot.New(t), t.TempDir()
	for link, to := range map[string]string{"up": "..", "abs": "/etc/passwd", "dir": "/opt/", "slash": "passwd/"} {
		must.Do(t, os.Symlink(to, filepath.Join(root, "etc", link)))
	}
	must.Do(t, os.WriteFile(filepath.Join(data, "file"), []byte("x"), 0o644))
	must.Do(t, os.Symlink("/usr/bin/git", filepath.Join(data, "out")))
	s := nsjail.Spec{Rootfs: nsjail.Rootfs{Path: root}, Mounts: []nsjail.Mount{
		{Type: nsjail.MountBind, Source: data, Target: "/opt/data"},
		{Type: nsjail.MountBind, Source: data, Target: "/opt/new/deep"},
		{Type: nsjail.MountBind, Source: data, Target: "/opt/out", Writable: true},
		{Type: nsjail.MountTmpfs, Target: "/opt/tmp"},
	}}
	v := New(&s)
	defer v.Close()
	for p, c := range map[string]struct {
		want string // the canonical path
		err  error
	}{
		"/":                          {"/", nil},
		"/etc/passwd":                {"/etc/passwd", nil},
		"//etc/./passwd":             {"/etc/passwd", nil},
		"/etc/../etc/passwd":         {"/etc/passwd", nil},
		"/../../etc/passwd":          {"/etc/passwd", nil},
		"/etc/up/etc/abs":            {"/etc/passwd", nil},
		"/etc/":                      {"/etc", nil},
		"/bin/sh":                    {"/usr/bin/busybox", nil},
		"/usr/bin/python3":           {"/usr/bin/python3.11", nil},
		"/etc/dir/tools/git":         {"/opt/tools/git", nil},
		"/opt/data/file":             {"/opt/data/file", nil},
		"/opt/data/out":              {"/usr/bin/git", nil},
		"/opt/data/../tools/git":     {"/opt/tools/git", nil},
		"/opt/new":                   {"/opt/new", nil},
		"/opt/new/deep/file":         {"/opt/new/deep/file", nil},
		"/usr/bin/out":               {"/usr/bin/busybox", nil}, // not the host's
		"/etc/passwd/":               {"", unix.ENOTDIR},
		"/etc/passwd/x":              {"", unix.ENOTDIR},
		"/etc/slash":                 {"", unix.ENOTDIR},
		"/etc/missing":               {"", unix.ENOENT},
		"/usr/bin/nowhere":           {"", unix.ENOENT},
		"/opt/new/other":             {"", unix.ENOENT},
		"/usr/bin/loop":              {"", unix.ELOOP},
		"/opt/out/file":              {"", errUnknown},
		"/opt/tmp/file":              {"", errUnknown},
		"/work/file":                 {"", errUnknown},
		"/proc/self/exe":             {"", errUnknown},
		"/opt/tools/../tmp/x/../../": {"", errUnknown},
	} {
		f, err := v.Resolve(p)
		switch {
		case !errors.Is(err, c.err) || (err == nil) != (c.err == nil):
			t.Errorf("%s: %v, want %v", p, err, c.err)
		case err == nil && f.Path != c.want:
			t.Errorf("%s leads to %s, want %s", p, f.Path, c.want)
		}
	}
}

// A path is cut as the kernel cuts it.
func TestComponents(t *testing.T) {
	for p, want := range map[string][]string{"": nil, "/": {"."}, "a": {"a"}, "/a//b": {"a", "b"}, "a/": {"a", "."},
		"../a": {"..", "a"}, "/./": {".", "."}} {
		if got := components(p); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", p, got, want)
		}
	}
}

// Mount targets are resolved, too. A target is refused if a symbolic link made by a payload or by the Spec may lead
// elsewhere.
func TestTargets(t *testing.T) {
	root := osroot.New(t)
	bind := func(target string) nsjail.Mount {
		return nsjail.Mount{Type: nsjail.MountBind, Source: root, Target: target}
	}
	volume := func(source, target string) nsjail.Mount {
		return nsjail.Mount{Type: nsjail.MountVolume, Source: source, Target: target}
	}
	for name, c := range map[string]struct {
		mounts []nsjail.Mount
		want   []string
		bad    bool
	}{
		"a link of the root":        {[]nsjail.Mount{bind("/bin/new")}, []string{"/usr/bin/new"}, false},
		"missing directories":       {[]nsjail.Mount{bind("/a/b/c")}, []string{"/a/b/c"}, false},
		"below a scratch directory": {[]nsjail.Mount{bind("/work/a/b")}, []string{"/work/a/b"}, false},
		"below a volume's input":    {[]nsjail.Mount{volume("v/input", "/input"), bind("/input/a")}, []string{"/input", "/input/a"}, false},
		"below a volume":            {[]nsjail.Mount{volume("v/work", "/work"), bind("/work/a")}, []string{"/work", "/work/a"}, true},
		"below a link of the Spec": {[]nsjail.Mount{{Type: nsjail.MountSymlink, Source: "/etc", Target: "/l"}, bind("/l/a")},
			[]string{"/l", "/l/a"}, true},
		"below a loop": {[]nsjail.Mount{bind("/usr/bin/loop/a")}, []string{"/usr/bin/loop/a"}, true},
	} {
		v := New(&nsjail.Spec{Rootfs: nsjail.Rootfs{Path: root}, Mounts: c.mounts})
		if !slices.Equal(v.Targets, c.want) || (v.Bad != nil) != c.bad {
			t.Errorf("%s: %q, %v; want %q", name, v.Targets, v.Bad, c.want)
		}
		v.Close()
	}
}
