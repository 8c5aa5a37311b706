package plan

import (
	"strings"
	"testing"

	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/rootfs"
)

// A directory that cannot be a layer, or whose changes have no place, is an error with what helps; the changes of a
// root that are dropped anyway are a note.
func TestMayOverlay(t *testing.T) {
	old := func(_ *spec.Spec, h *host.Host, _ *Mode) { h.Kernel = host.Kernel{Major: 5, Minor: 18} }
	unmapped := without("idmap", "no CAP_SYS_ADMIN")
	type source = host.Source
	for name, c := range map[string]struct {
		in           *input
		i            int
		m            spec.Mount
		src          source
		fails, helps string
		notes        int
	}{
		"good":                   {asked(), 0, spec.Mount{}, source{}, "", "", 0},
		"no layer":               {asked(), 0, spec.Mount{}, source{NoOverlay: "it is nfs", NoUpper: "x"}, "it is nfs", "copy the directory", 0},
		"no place":               {asked(), 0, spec.Mount{}, source{NoUpper: "no xattrs"}, "no xattrs", "store=disk", 0},
		"no place in memory":     {asked(), 0, spec.Mount{Store: "memory"}, source{NoUpper: "no xattrs"}, "no xattrs", "store=disk", 0},
		"no place on disk":       {asked(), 0, spec.Mount{Store: spec.StoreDisk}, source{NoUpper: "no xattrs"}, "no xattrs", "XDG_STATE_HOME", 0},
		"of a root's own":        {asked(), spec.Root, spec.Mount{}, source{NoUpper: "no xattrs"}, "", "", 1},
		"of a root's, on disk":   {asked(), spec.Root, spec.Mount{Store: spec.StoreDisk}, source{NoUpper: "no xattrs"}, "no xattrs", "", 0},
		"root's old kernel":      {asked(called, old), 0, spec.Mount{}, source{}, "takes Linux 5.19", "run brig as the owner", 0},
		"a user's old kernel":    {asked(old), 0, spec.Mount{}, source{}, "", "", 0},
		"another's, not mapped":  {asked(called, unmapped), 0, spec.Mount{}, source{UID: 5}, "its owner is 5 and the payload 2000000000", "run brig as the owner", 0},
		"the payload's":          {asked(called, unmapped), 0, spec.Mount{}, source{UID: 2000000000}, "", "", 0},
		"a root, not mapped":     {asked(called, unmapped), spec.Root, spec.Mount{}, source{UID: 5}, "", "", 0},
		"a user, without idmaps": {asked(unmapped), 0, spec.Mount{}, source{UID: 5}, "", "", 0},
	} {
		out, fds := newReport(), newIntake()
		c.m.Target = "/t\n"
		mayOverlay(&sources{c.in, &out, &fds}, c.i, c.m, &c.src)
		text := message(out.err)
		if (text == "") != (c.fails == "") || !strings.Contains(text, c.fails) || !strings.Contains(text, c.helps) || len(out.notes) != c.notes {
			t.Errorf("%s: %q, notes %q", name, text, out.notes)
		}
		if text != "" && (op(out.err) != "cow" || !strings.Contains(text, `"/t\n"`)) {
			t.Errorf("%s: the mount is not named: %q", name, text)
		}
	}
}

// A mount whose changes are kept has its own layer, in memory or on disk, and what is absent in it and protected is a
// ghost there, not on the host.
func TestCOW(t *testing.T) {
	mount := mounted(spec.Mount{Type: spec.MountCOW, Source: "/s", Target: "/c", Size: 5, Inodes: 6})
	absent := func(_ *spec.Spec, h *host.Host, _ *Mode) {
		h.Protected = []host.Protected{{Target: "/c/.git/hooks", Absent: true}, {Target: "/c/there"},
			{Target: "/other/x", Mount: 1, Absent: true}}
	}
	disk := func(_ *spec.Spec, h *host.Host, _ *Mode) {
		h.Sources.Put(host.UpperOf(0), &host.Source{Path: "/store/upper", Dev: 7, Ino: 8})
	}
	for name, c := range map[string]struct {
		in     *input
		ghosts int
		upper  string
		memory bool
	}{
		"in memory":   {asked(mount), 0, "", true},
		"on disk":     {asked(mount, disk), 0, "/store/upper", false},
		"with absent": {asked(mount, absent), 1, "", true},
	} {
		out, fds := newReport(), newIntake()
		x := &mounts{sources: sources{c.in, &out, &fds}}
		var e rootfs.Entry
		x.cow(&e, 0, c.in.COW(0))
		upper := ""
		if e.Upper != nil {
			upper = e.Upper.Path
		}
		if e.Kind != rootfs.COW || len(e.Ghosts) != c.ghosts || upper != c.upper || x.layers.memory != c.memory || len(x.layers.sent) != 1 || out.err != nil {
			t.Errorf("%s: %+v, upper %q, %+v, %v", name, e, upper, x.layers, out.err)
		}
		if c.ghosts > 0 && e.Ghosts[0].Path != ".git/hooks" {
			t.Errorf("%s: %+v", name, e.Ghosts)
		}
	}
}

// Where all sources of root's jail have one owner, the launcher's user namespace is that of all.
func TestOneOwner(t *testing.T) {
	mapped := func(id int) Passed { return Passed{Source: host.SourceOf(id), IDMap: true} }
	h := asked().host
	for i, uid := range []int{1000, 1000, 5, 1000} {
		h.Sources.Put(host.SourceOf(i), &host.Source{UID: uid, GID: 100 + i/3})
	}
	for name, c := range map[string]struct {
		passed []Passed
		want   int // the uid; -1 for none
	}{
		"none":                  {nil, -1},
		"one":                   {[]Passed{mapped(0)}, 1000},
		"two of one owner":      {[]Passed{mapped(0), mapped(1)}, 1000},
		"two owners":            {[]Passed{mapped(0), mapped(2)}, -1},
		"one owner, two groups": {[]Passed{mapped(0), mapped(3)}, -1},
		"a plain one beside":    {[]Passed{mapped(0), {Source: host.SourceOf(2)}}, 1000},
	} {
		got := -1
		if src := (&Plan{Host: h, Passed: c.passed}).OneOwner(); src != nil {
			got = src.UID
		}
		same(t, name, got, c.want)
	}
}

// A jail's end need not be waited for if nothing of the caller's is in it that may be unmounted.
func TestSourcesStay(t *testing.T) {
	for name, c := range map[string]struct {
		list []host.Source
		want bool
	}{
		"none":         {nil, true},
		"they stay":    {[]host.Source{{Stays: true}, {Stays: true}}, true},
		"one is gone":  {[]host.Source{{Stays: true}, {}}, false},
		"it is copied": {[]host.Source{{Copied: true}}, true},
	} {
		h := ordinaryHost()
		for i := range c.list {
			h.Sources.Put(host.SourceOf(i), &c.list[i])
		}
		if got := (&Plan{Host: h}).SourcesStay(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What is protected is told path by path; what cannot be is an error, unless the Spec can do without it.
func TestProtect(t *testing.T) {
	bind := mounted(spec.Mount{Type: spec.MountBind, Source: "/s", Target: "/w", Writable: true})
	volume := mounted(spec.Mount{Type: spec.MountVolume, Source: "v", Target: "/w", Writable: true})
	paths := func(_ *spec.Spec, h *host.Host, _ *Mode) {
		h.Protected = []host.Protected{{Target: "/w/b c"}, {Target: "/w/a/x", Absent: true}}
		h.Unprotected = []string{"/w/y"}
	}
	optional := func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Optional = []string{"protect"} }
	remote := without("protect", "the directory is on another machine")
	for name, c := range map[string]struct {
		in   *input
		want []string
		text string
		op   string
	}{
		"nothing":       {asked(bind), nil, "", ""},
		"some":          {asked(bind, paths), []string{"held w/a nolinks", "held w/a/x nolinks", "held w/b c nolinks"}, `read-only mounts: "/w/b c"; at absent paths: "/w/a/x"; taken back: "/w/y"`, ""},
		"in a volume":   {asked(volume, paths), []string{"pin w/a nolinks", "pin w/a/x nolinks", "pin w/b c nolinks"}, "", ""},
		"it cannot be":  {asked(bind, remote), nil, "", "protect"},
		"and need not":  {asked(bind, remote, optional), nil, "not enforced: the directory is on another machine (optional)", ""},
		"some, in part": {asked(bind, paths, remote, optional), []string{"held w/a nolinks", "held w/a/x nolinks", "held w/b c nolinks"}, "not enforced: the directory is on another machine (optional); but brig's own directories, as read-only mounts: ", ""},
	} {
		out, fds := newReport(), newIntake()
		x := &mounts{sources: sources{c.in, &out, &fds}}
		x.protect()
		same(t, name, outline(x.entries), c.want)
		if text := out.enforced["protect"].String(); !strings.HasPrefix(text, c.text) || op(out.err) != c.op {
			t.Errorf("%s: %q, %v", name, text, out.err)
		}
	}
}

// What is mounted on itself twice is one entry, with the attributes of both.
func TestHold(t *testing.T) {
	x := &mounts{}
	x.hold(rootfs.Entry{Kind: rootfs.Pin, Target: "w/a"})
	x.hold(rootfs.Entry{Kind: rootfs.Held, Target: "w/a", Attr: attrRead})
	x.hold(rootfs.Entry{Kind: rootfs.Held, Target: "w/a/b"})
	same(t, "entries", outline(x.entries), []string{"pin w/a nolinks", "held w/a/b nolinks"})
	same(t, "attributes", x.entries[0].Attr, attrRead)
}
