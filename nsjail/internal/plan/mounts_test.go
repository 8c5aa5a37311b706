package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

var kinds = map[rootfs.Kind]string{rootfs.Bind: "bind", rootfs.Overlay: "overlay", rootfs.Tmpfs: "tmpfs", rootfs.Dir: "dir", rootfs.Symlink: "symlink", rootfs.File: "file", rootfs.COW: "cow",
	rootfs.Pin: "pin", rootfs.Held: "held", rootfs.Points: "points", rootfs.Cover: "cover", rootfs.Copy: "copy", rootfs.Mask: "mask", rootfs.Sealed: "sealed", rootfs.Proc: "proc",
	rootfs.Scratch: "scratch", rootfs.Devpts: "devpts", rootfs.ImageTree: "image"}

// outline lists entries as "kind target".
func outline(list []rootfs.Entry) (lines []string) {
	for _, e := range list {
		line := kinds[e.Kind] + " " + e.Target
		if e.Kind == rootfs.Bind && e.Attr&unix.MOUNT_ATTR_RDONLY == 0 {
			line += " rw"
		}
		if e.NoLinks {
			line += " nolinks"
		}
		lines = append(lines, line)
	}
	return lines
}

// mounted adds mounts to a Spec, and a directory of the caller's behind each that has a source.
func mounted(list ...spec.Mount) func(*spec.Spec, *host.Host, *Mode) {
	return func(s *spec.Spec, h *host.Host, _ *Mode) {
		s.Mounts = list
		for i, m := range list {
			if m.Source != "" && m.Type != spec.MountSymlink && m.Type != spec.MountVolume {
				h.Sources.Put(host.SourceOf(i), &host.Source{Path: m.Source, Dir: true, UID: h.UID, GID: h.GID, Mode: 0o755, Content: "text"})
			}
		}
	}
}

func TestDecideMounts(t *testing.T) {
	bind := func(target string, writable bool) spec.Mount {
		return spec.Mount{Type: spec.MountBind, Source: "/s", Target: target, Writable: writable}
	}
	source := func(change func(*host.Source)) func(*spec.Spec, *host.Host, *Mode) {
		return func(_ *spec.Spec, h *host.Host, _ *Mode) { change(h.Sources.Of(0)) }
	}
	protect := func(targets ...string) func(*spec.Spec, *host.Host, *Mode) {
		return func(_ *spec.Spec, h *host.Host, _ *Mode) {
			for _, target := range targets {
				h.Protected = append(h.Protected, host.Protected{Target: target})
			}
		}
	}
	for name, c := range map[string]struct {
		in    *input
		want  []string
		notes int
		op    string
	}{
		"none":              {asked(), nil, 0, ""},
		"read-only":         {asked(mounted(bind("/in", false))), []string{"overlay in"}, 0, ""},
		"writable":          {asked(mounted(bind("/in", true))), []string{"bind in rw"}, 0, ""},
		"no layer":          {asked(mounted(bind("/in", false)), source(func(s *host.Source) { s.NoOverlay = "nfs" })), []string{"bind in"}, 1, ""},
		"a required layer":  {asked(mounted(bind("/in", false)), source(func(s *host.Source) { s.NoOverlay = "nfs" }), func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Require = []string{"overlay"} }), []string{"bind in"}, 0, "overlay"},
		"a copied file":     {asked(mounted(bind("/in", false)), source(func(s *host.Source) { s.Copied = true })), []string{"file in"}, 0, ""},
		"of several types":  {asked(mounted(spec.Mount{Type: spec.MountTmpfs, Target: "/t"}, spec.Mount{Type: spec.MountDir, Target: "/d"}, spec.Mount{Type: spec.MountSymlink, Source: "x", Target: "/l"}, spec.Mount{Type: spec.MountData, Target: "/f"})), []string{"tmpfs t", "dir d", "symlink l", "file f"}, 0, ""},
		"in a writable one": {asked(mounted(bind("/w", true), bind("/w/a/b/c", false))), []string{"bind w rw", "pin w/a nolinks", "pin w/a/b nolinks", "overlay w/a/b/c nolinks"}, 0, ""},
		"in a read-only":    {asked(mounted(bind("/r", false), bind("/r/a/b", true))), []string{"overlay r", "bind r/a/b rw"}, 0, ""},
		"protected":         {asked(mounted(bind("/w", true)), protect("/w/b", "/w/a/x")), []string{"bind w rw", "held w/a nolinks", "held w/a/x nolinks", "held w/b nolinks"}, 0, ""},
		"a missing volume":  {asked(mounted(spec.Mount{Type: spec.MountVolume, Source: "v/d", Target: "/v"})), []string{"bind v rw"}, 0, "mounts[0].source"},
		"changes of others": {asked(mounted(spec.Mount{Type: spec.MountCOW, Source: "/s", Target: "/c"}), source(func(s *host.Source) { s.UID = 5 })), []string{"cow c"}, 1, ""},
		"an old root's cow": {asked(called, mounted(spec.Mount{Type: spec.MountCOW, Source: "/s", Target: "/c"}), func(_ *spec.Spec, h *host.Host, _ *Mode) { h.Kernel = host.Kernel{Major: 5, Minor: 18} }), []string{"cow c"}, 0, "cow"},
		"a point": {asked(mounted(bind("/r", false), bind("/r/new", false)), func(_ *spec.Spec, h *host.Host, _ *Mode) {
			h.Points = []host.Points{{After: 1, Dir: "r", Names: []string{"new/"}, For: 1}}
		}), []string{"overlay r", "points r", "overlay r/new"}, 0, ""},
	} {
		out, fds := newReport(), newIntake()
		entries, _ := decideMounts(c.in, layers{}, &fds, &out)
		got := outline(entries)
		for i := range got { // a volume is writable only if the Spec says so
			got[i] = strings.Replace(got[i], "bind v", "bind v rw", 1)
		}
		same(t, name, got, c.want)
		if len(out.notes) != c.notes || op(out.err) != c.op {
			t.Errorf("%s: %q, %v", name, out.notes, out.err)
		}
	}
}

// Deciding does not change the Host: its protected paths keep their order.
func TestDecideMountsKeepsTheHost(t *testing.T) {
	in := asked(mounted(spec.Mount{Type: spec.MountBind, Source: "/s", Target: "/w", Writable: true}))
	in.host.Protected = []host.Protected{{Target: "/w/b"}, {Target: "/w/a"}}
	out, fds := newReport(), newIntake()
	decideMounts(in, layers{}, &fds, &out)
	same(t, "first", in.host.Protected[0].Target, "/w/b")
}

// How a jail reaches a file depends on who calls and on where its launcher is.
func TestSources(t *testing.T) {
	mount := mounted(spec.Mount{Type: spec.MountBind, Source: "/s", Target: "/in"})
	unmapped := without("idmap", "CAP_SYS_ADMIN is missing")
	open := func(_ *spec.Spec, h *host.Host, _ *Mode) { h.Sources.Of(0).Mode = 0o755 }
	closed := func(_ *spec.Spec, h *host.Host, _ *Mode) { h.Sources.Of(0).Mode = 0o700 }
	for name, c := range map[string]struct {
		in     *input
		plain  bool
		passed string
		op     string
	}{
		"a user opens it":            {asked(mount), false, "[]", ""},
		"a helper passes it":         {asked(mount, prepared), false, "[false]", ""},
		"root's keeper maps it":      {asked(called, mount), false, "[true]", ""},
		"root's plain one":           {asked(called, mount), true, "[false]", ""},
		"root without mappings":      {asked(called, mount, unmapped, open), false, "[]", ""},
		"and nothing for everybody":  {asked(called, mount, unmapped, closed), false, "[]", "idmap"},
		"which the Spec can do with": {asked(called, mount, unmapped, closed, func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Optional = []string{"idmap"} }), false, "[]", ""},
	} {
		out, fds := newReport(), newIntake()
		x := &sources{c.in, &out, &fds}
		got := x.source(host.SourceOf(0), "/in", attrRead, c.plain)
		mapped := []bool{}
		for _, p := range fds.passed {
			mapped = append(mapped, p.IDMap)
		}
		if fmt.Sprint(mapped) != c.passed || got.Passed != (len(mapped) > 0) || op(out.err) != c.op {
			t.Errorf("%s: %+v, passed %v, %v", name, got, mapped, out.err)
		}
	}
}

// What enforces the changes of several overlays is told of all of them.
func TestLayers(t *testing.T) {
	in := asked()
	in.host.Sources.Put(host.UpperOf(1), &host.Source{Path: "/store"})
	out, fds := newReport(), newIntake()
	x, l := &sources{in, &out, &fds}, layers{}
	for i, want := range []string{"overlay; the kernel bounds the changes, in memory", "overlay; of some mounts brig counts the changes, on disk"} {
		dir := l.upper(x, i, spec.Mount{Target: "/c", Store: []string{"", spec.StoreDisk}[i]})
		if (dir != nil) != (i == 1) || !strings.HasPrefix(out.enforced["cow"].String(), want) {
			t.Errorf("%d: %v, %q", i, dir, out.enforced["cow"])
		}
	}
}

func TestDecideTree(t *testing.T) {
	etcMount := mounted(spec.Mount{Type: spec.MountBind, Source: "/e", Target: "/etc"})
	noLayer := func(_ *spec.Spec, h *host.Host, _ *Mode) { h.System[0].NoOverlay = "nfs" }
	for name, c := range map[string]struct {
		in          *input
		with, lacks []string
	}{
		"default":          {asked(), []string{"overlay usr", "symlink bin", "proc proc", "file etc/passwd", "cover ", "bind etc/alternatives rw", "mask proc/kcore", "sealed proc/sys", "scratch work"}, []string{"overlay etc"}},
		"no overlays":      {asked(noLayer), []string{"bind usr", "bind etc/alternatives", "copy etc/services"}, []string{"cover ", "overlay usr"}},
		"of a prepared":    {asked(prepared), []string{"overlay usr", "overlay etc"}, []string{"file etc/passwd", "cover ", "symlink etc/localtime"}},
		"for another user": {asked(prepared, func(s *spec.Spec, _ *host.Host, _ *Mode) { s.User = "5" }), []string{"file etc/passwd", "cover "}, []string{"overlay etc"}},
		"its own /etc":     {asked(etcMount), []string{"file etc/passwd"}, []string{"cover ", "bind etc/alternatives rw", "symlink etc/localtime", "copy etc/services"}},
		"without a procfs": {asked(without("proc", "masked"), func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Optional = []string{"proc"} }), []string{"dir proc"}, []string{"proc proc", "mask proc/kcore"}},
		"a work directory": {asked(mounted(spec.Mount{Type: spec.MountTmpfs, Target: "/work"})), []string{"scratch tmp"}, []string{"scratch work"}},
		"the host's names": {asked(func(s *spec.Spec, h *host.Host, _ *Mode) {
			s.Net = spec.NetHost
			h.Files = append(h.Files, "etc/hosts")
		}), []string{"copy etc/hosts"}, []string{"file etc/hosts"}},
	} {
		out, fds := newReport(), newIntake()
		tree := decideTree(c.in, &fds, &out)
		got := outline(tree.root.Entries)
		for _, line := range c.with {
			if !slices.Contains(got, line) {
				t.Errorf("%s: no %q in\n%s", name, line, strings.Join(got, "\n"))
			}
		}
		for _, line := range c.lacks {
			if slices.Contains(got, line) {
				t.Errorf("%s: %q", name, line)
			}
		}
		if out.err != nil {
			t.Errorf("%s: %v", name, out.err)
		}
	}
}

// What a launcher makes before it has the program is the same for all Specs without an image.
func TestEverywhereIsTheSame(t *testing.T) {
	out, fds := newReport(), newIntake()
	want := decideTree(asked(), &fds, &out)
	for name, in := range map[string]*input{
		"mounts":    asked(mounted(spec.Mount{Type: spec.MountTmpfs, Target: "/work"}, spec.Mount{Type: spec.MountBind, Source: "/e", Target: "/etc"})),
		"a machine": asked(func(_ *spec.Spec, h *host.Host, _ *Mode) { h.Files, h.CPUs = nil, "0-63" }),
	} {
		got := decideTree(in, &fds, &out)
		same(t, name, outline(got.root.Entries[:got.everywhere]), outline(want.root.Entries[:want.everywhere]))
	}
}

// A bind of root's that is not idmapped is an error if the payload cannot use it as the Spec wants, with who it is there
// and what its owner can do.
func TestPlainBind(t *testing.T) {
	const write, read = attrPrivate, attrRead
	for name, c := range map[string]struct {
		src  host.Source
		attr uint64
		op   string
	}{
		"everybody reads a file":        {host.Source{Mode: 0o644}, read, ""},
		"everybody reads a directory":   {host.Source{Dir: true, Mode: 0o755}, read, ""},
		"but cannot enter it":           {host.Source{Dir: true, Mode: 0o744}, read, "idmap"},
		"nor write to it":               {host.Source{Dir: true, Mode: 0o755}, write, "idmap"},
		"everybody writes to it":        {host.Source{Dir: true, Mode: 0o777}, write, ""},
		"its owner is the payload":      {host.Source{Dir: true, UID: 2000000000, Mode: 0o700}, write, ""},
		"it is for the payload's group": {host.Source{Dir: true, GID: 2000000000, Mode: 0o070}, write, ""},
		"the owner has less than all":   {host.Source{UID: 2000000000, Mode: 0o044}, read, "idmap"},
	} {
		in := asked(called, without("idmap", "no CAP_SYS_ADMIN"))
		out, fds := newReport(), newIntake()
		c.src.Path = "/s\n"
		(&sources{in, &out, &fds}).plain(&c.src, c.attr)
		text := message(out.err)
		if op(out.err) != c.op || c.op != "" && (!strings.Contains(text, `"/s\n" (owner `) || !strings.Contains(text, "2000000000:2000000000 there") || !strings.Contains(text, "chown -R 1000:1000") && c.src.UID == 0) {
			t.Errorf("%s: %q", name, text)
		}
		if !strings.Contains(out.enforced["idmap"].String(), "no CAP_SYS_ADMIN") && c.op == "" {
			t.Errorf("%s: %q", name, out.enforced["idmap"])
		}
	}
}

// Nothing of a mount is executed, written or trusted that the Spec does not permit.
func TestAttr(t *testing.T) {
	for want, m := range map[uint64]spec.Mount{
		attrRead:                             {},
		attrPrivate:                          {Writable: true},
		attrRead | unix.MOUNT_ATTR_NOEXEC:    {NoExec: true},
		attrPrivate | unix.MOUNT_ATTR_NOEXEC: {Writable: true, NoExec: true},
	} {
		if got := attrOf(m); got != want || got&(unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV) != unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV {
			t.Errorf("%+v: %#x", m, got)
		}
	}
}
