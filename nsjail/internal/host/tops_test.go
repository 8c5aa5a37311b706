package host

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/spec"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

// TestTops: the top directory of a tree is listed where a mount point is missing in it and no overlay can be made.
func TestTops(t *testing.T) {
	dir, full := t.TempDir(), t.TempDir()
	for _, d := range []string{"dev", "proc", "tmp", "usr/lib"} {
		must.Do(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "init"), nil, 0o644))
	must.Do(t, os.Symlink("usr/lib", filepath.Join(dir, "lib")))
	for i := range maxTops + 1 {
		must.Do(t, os.WriteFile(filepath.Join(full, fmt.Sprint(i)), nil, 0o644))
	}
	all := []rootfs.Top{{Name: "init"}, {Name: "lib", Link: "usr/lib"}, {Name: "tmp", Dir: true}, {Name: "usr", Dir: true}}
	with := func(target string) []spec.Mount { return []spec.Mount{{Type: spec.MountTmpfs, Target: target}} }
	for name, c := range map[string]struct {
		dir, noOverlay string
		old, work      bool // an old kernel, and a tree that has /work
		root           spec.Rootfs
		mounts         []spec.Mount
		want           []rootfs.Top
	}{
		"no /work":             {dir: dir, noOverlay: "why", want: all},
		"an overlay":           {dir: dir},
		"an old kernel":        {dir: dir, old: true, want: all},
		"a writable root":      {dir: dir, noOverlay: "why", root: spec.Rootfs{Writable: true}},
		"too many":             {dir: full, noOverlay: "why"},
		"nothing missing":      {dir: dir, noOverlay: "why", work: true, mounts: with("/usr/new")},
		"a mount point":        {dir: dir, noOverlay: "why", work: true, mounts: with("/new/a"), want: append(all[:4:4], rootfs.Top{Name: "work", Dir: true})},
		"a mount over a link":  {dir: dir, noOverlay: "why", work: true, mounts: with("/lib")},
		"a mount over /work":   {dir: dir, noOverlay: "why", mounts: with("/work"), want: all},
		"a mount over nothing": {dir: dir, noOverlay: "why", work: true, mounts: with("/init")},
	} {
		if work := filepath.Join(dir, "work"); c.work {
			must.Do(t, os.Mkdir(work, 0o755))
		} else {
			_ = os.Remove(work) // it may not be there
		}
		fd := must.Get(unix.Open(c.dir, unix.O_PATH|unix.O_CLOEXEC, 0))(t)
		l := &looker{Host: &Host{Machine: Machine{Kernel: Kernel{6, 1}}}, spec: &spec.Spec{Rootfs: c.root, Mounts: c.mounts}}
		if c.old {
			l.Kernel = Kernel{5, 15}
		}
		l.lookTops(&Source{Fd: fd, NoOverlay: c.noOverlay})
		if !reflect.DeepEqual(l.ImageTops, c.want) {
			t.Errorf("%s: %+v, want %+v", name, l.ImageTops, c.want)
		}
		must.Do(t, unix.Close(fd))
		_ = os.Remove(filepath.Join(dir, "work"))
	}
}
