package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail"
)

func TestPaths(t *testing.T) {
	host := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	for _, dir := range []string{"data/sub", "database", "out/sub", "secret"} {
		must.Do(t, os.MkdirAll(filepath.Join(host, dir), 0o755))
	}
	for link, to := range map[string]string{"data/link": "../secret", "alias": "data", "out/swap": "../secret",
		"out/good": "../data"} {
		must.Do(t, os.Symlink(to, filepath.Join(host, link)))
	}
	p := parsed(t, fmt.Sprintf(`{"commands":["*"],"paths":{"read":["%[1]s/data"],"write":["%[1]s/out"],"targets":["/opt/x"]}}`, host))
	bind := func(source, target string, write bool) nsjail.Mount {
		m := nsjail.Mount{Type: nsjail.MountBind, Source: source, Target: target, Writable: write}
		if filepath.IsAbs(source) {
			m.Source = host + source
		}
		return m
	}
	here := must.Get(os.Getwd())(t)
	up := must.Get(filepath.Rel(here, host))(t)
	for i, c := range []struct {
		m  nsjail.Mount
		ok bool
	}{
		{bind("/data", "/input", false), true},
		{bind("/data/sub", "/input", false), true},
		{bind("/alias/sub", "/input", false), true}, // a link to what is allowed
		{bind("/out", "/output", true), true},
		{bind("/out", "/output", false), true},
		{bind("/data", "/opt/x", false), true},
		{bind("/data", "/opt/x/y", false), true},
		{bind(up+"/data", "/input", false), true},

		{bind("/database", "/input", false), false},
		{bind("/data", "/input", true), false},
		{bind("/data/../secret", "/input", false), false},
		{bind("/data/link", "/input", false), false},
		{bind("/data/sub/../../secret", "/input", false), false},
		{bind("/", "/input", false), false},
		{bind("/nothing", "/input", false), false},
		{bind("/out/sub", "/output", true), false}, // another run can put a link there in between
		{bind("/out/swap", "/output", false), false},
		{bind(up+"/secret", "/input", false), false},
		{bind("/data", "/usr/bin", false), false},
		{bind("/data", "/opt", false), false},
		{bind("/data", "/opt/xy", false), false},
		{bind("/data", "/etc", false), false},
		{bind("/data", "/bin", false), false},
		{nsjail.Mount{Type: nsjail.MountFile, Source: host + "/secret", Target: "/input/a"}, false},
		{nsjail.Mount{Type: nsjail.MountFile, Source: "/etc/shadow", Target: "/input/a"}, false},
		{nsjail.Mount{Type: nsjail.MountData, Target: "/etc/ld.so.preload", Content: "x"}, false},
		{nsjail.Mount{Type: nsjail.MountData, Target: "/usr/lib/x", Content: "x"}, false},
		{nsjail.Mount{Type: nsjail.MountData, Target: "/run/brig/main.py", Content: "x"}, true},
		{nsjail.Mount{Type: nsjail.MountSymlink, Target: "/usr/bin/x", Source: "/work/x"}, false},
		{nsjail.Mount{Type: nsjail.MountSymlink, Target: "/work/x", Source: "/etc/passwd"}, true},
		{nsjail.Mount{Type: nsjail.MountTmpfs, Target: "/work"}, true},
		{nsjail.Mount{Type: nsjail.MountTmpfs, Target: "/dev/shm"}, true},
		{nsjail.Mount{Type: nsjail.MountTmpfs, Target: "/lib"}, false},
		{nsjail.Mount{Type: nsjail.MountDir, Target: "/usr/x"}, false},
		{nsjail.Mount{Type: nsjail.MountVolume, Source: "abc/work", Target: "/work", Writable: true}, true},
		{nsjail.Mount{Type: nsjail.MountVolume, Source: "abc/input", Target: "/input", Writable: true}, false},
		{nsjail.Mount{Type: "overlay", Source: "/", Target: "/work"}, false},
		{nsjail.Mount{Type: nsjail.MountBind, Source: host + "/data", Target: "/input", Live: true}, false},
	} {
		if j := decided(t, p, nsjail.Spec{Args: []string{"id"},
			Mounts: []nsjail.Mount{c.m}}); (j.Verdict.Refusal == nil) != c.ok {
			t.Errorf("%d %+v: %v", i, c.m, j.Verdict.Refusal)
		}
	}
	// A link that another run can change in between plays no part: the jail gets what was judged.
	for source, want := range map[string]string{"/out/good": "/data", "/alias/sub": "/data/sub", up + "/data": "/data"} {
		j := decided(t, p, nsjail.Spec{Args: []string{"id"}, Mounts: []nsjail.Mount{bind(source, "/input", false)}})
		if j.Verdict.Refusal != nil || j.Spec.Mounts[0].Source != host+want {
			t.Errorf("%s: %v, %s", source, j.Verdict.Refusal, j.Spec.Mounts[0].Source)
		}
	}
	// Below what a payload has written to, or a link of the Spec's own, nobody can tell where a target is.
	for i, first := range []nsjail.Mount{bind("/out", "/work", true),
		{Type: nsjail.MountVolume, Source: "a/work", Target: "/work", Writable: true},
		{Type: nsjail.MountVolume, Source: "a/output", Target: "/work"},
		{Type: nsjail.MountSymlink, Source: "/usr/bin", Target: "/work"}} {
		s := nsjail.Spec{Args: []string{"id"},
			Mounts: []nsjail.Mount{first, {Type: nsjail.MountData, Target: "/work/l/x", Content: "y"}}}
		if j := decided(t, p, s); j.Verdict.Refusal == nil || j.Verdict.Refusal.Code != "path_not_allowed" {
			t.Errorf("below %d: %v", i, j.Verdict.Refusal)
		}
	}
	roots := parsed(t, fmt.Sprintf(`{"commands":["*"],"paths":{"roots":["%[1]s/data","%[1]s/out"],"write":["%[1]s/out"]}}`,
		host))
	for root, want := range map[string]string{"/data": "/data", "/alias": "/data", "/out/good": "/data",
		"/data/sub": "/data/sub", "/out": "/out", "/out/sub": "", "/data/link": "", "/secret": ""} {
		j := decided(t, roots, nsjail.Spec{Args: []string{"id"}, Rootfs: nsjail.Rootfs{Path: host + root}})
		if (j.Verdict.Refusal == nil) != (want != "") || want != "" && j.Spec.Rootfs.Path != host+want {
			t.Errorf("root %s: %v, %s", root, j.Verdict.Refusal, j.Spec.Rootfs.Path)
		}
	}
	for root, ok := range map[string]bool{"": true, "/": false, host: false} {
		if j := decided(t, p, nsjail.Spec{Args: []string{"id"},
			Rootfs: nsjail.Rootfs{Path: root}}); (j.Verdict.Refusal == nil) != ok {
			t.Errorf("root %q: %v", root, j.Verdict.Refusal)
		}
	}
}
