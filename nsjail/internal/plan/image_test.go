package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
)

// A root from an image has the jail's own devices and procfs, and what programs need to find hosts, of a layer's own.
func TestImage(t *testing.T) {
	writable := func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Rootfs.Writable = true }
	keep := func(s *spec.Spec, h *host.Host, _ *Mode) {
		s.Rootfs.Keep = true
		h.Sources.Put(host.UpperOf(spec.Root), &host.Source{Path: "/store"})
	}
	noLayer := func(_ *spec.Spec, h *host.Host, _ *Mode) { h.Sources.Of(spec.Root).NoOverlay = "nfs" }
	noProc := func(s *spec.Spec, h *host.Host, m *Mode) {
		s.Optional = []string{"proc"}
		without("proc", "masked")(s, h, m)
	}
	require := func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Require = []string{"overlay"} }
	lacks := func(_ *spec.Spec, h *host.Host, _ *Mode) { h.ImageLacks = []string{"etc/hosts", "etc/resolv.conf"} }
	hostNet := func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Net = spec.NetHost }
	for name, c := range map[string]struct {
		in          *input
		with, lacks []string
		overlay     bool
		upper, sent string
		op          string
	}{
		"read-only":        {asked(imaged), []string{"scratch dev", "proc proc", "image ", "scratch tmp", "scratch work"}, []string{"file etc/hosts", "overlay usr", "dir proc"}, true, "", "[]", ""},
		"a bind of it":     {asked(imaged, noLayer, lacks), []string{"image "}, []string{"file etc/hosts"}, false, "", "[]", ""},
		"a layer required": {asked(imaged, noLayer, require), nil, nil, false, "", "[]", "overlay"},
		"writable":         {asked(imaged, writable), []string{"image "}, nil, true, "", "[]", ""},
		"kept":             {asked(imaged, writable, keep), []string{"image "}, nil, true, "/store", "[-1]", ""},
		"without a procfs": {asked(imaged, noProc), []string{"dir proc"}, []string{"proc proc", "mask proc/kcore"}, true, "", "[]", ""},
		"no hosts":         {asked(imaged, lacks), []string{"file etc/hosts"}, []string{"file etc/resolv.conf", "copy etc/resolv.conf"}, true, "", "[]", ""},
		"the host's":       {asked(imaged, lacks, hostNet), []string{"copy etc/hosts", "copy etc/resolv.conf"}, []string{"file etc/hosts"}, true, "", "[]", ""},
	} {
		out, fds := newReport(), newIntake()
		tree := decideTree(c.in, &fds, &out)
		got := outline(tree.root.Entries)
		for _, line := range c.with {
			if !slices.Contains(got, line) {
				t.Errorf("%s: no %q in %q", name, line, got)
			}
		}
		for _, line := range c.lacks {
			if slices.Contains(got, line) {
				t.Errorf("%s: %q", name, line)
			}
		}
		img, upper := tree.root.Image, ""
		if img.Upper != nil {
			upper = img.Upper.Path
		}
		sent := strings.ReplaceAll(fmt.Sprint(tree.layers.sent), fmt.Sprint(spec.Root), "-1")
		if img.Overlay != c.overlay || upper != c.upper || sent != c.sent || op(out.err) != c.op {
			t.Errorf("%s: %+v, sent %s, %v", name, img, sent, out.err)
		}
		if at := slices.Index(got, "image "); at != tree.everywhere { // a launcher forked early makes what comes before
			t.Errorf("%s: %d entries are the same for all images, and the image is entry %d", name, tree.everywhere, at)
		}
		if slices.Contains(img.Carried, "proc") != (c.in.host.Missing["proc"] == "") {
			t.Errorf("%s: %q are carried over", name, img.Carried)
		}
	}
}

// How /etc is made depends on the layers that there are, on the caller's mounts and on the prepared root.
func TestEtcOf(t *testing.T) {
	at := func(kind spec.MountType, target string) func(*spec.Spec, *host.Host, *Mode) {
		return mounted(spec.Mount{Type: kind, Source: "/s", Target: target})
	}
	named := func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Hostname = "box" }
	bare := func(_ *spec.Spec, _ *host.Host, m *Mode) { m.Root.etc = false }
	noWhole := func(_ *spec.Spec, h *host.Host, _ *Mode) { h.NoEtcOverlay = "nfs" }
	one := func(_ *spec.Spec, h *host.Host, _ *Mode) {
		h.System = []host.SystemDir{{Name: "usr"}, {Name: "etc/ssl"}}
	}
	for name, c := range map[string]struct {
		in      *input
		overlay bool
		want    etc
	}{
		"default":                 {asked(), true, etc{overlay: true, covered: true}},
		"no layers":               {asked(), false, etc{}},
		"/etc can be none":        {asked(noWhole), true, etc{overlay: true}},
		"one directory":           {asked(one), true, etc{overlay: true}},
		"hidden":                  {asked(at(spec.MountBind, "/etc")), true, etc{overlay: true, hidden: true}},
		"a tmpfs hides nothing":   {asked(at(spec.MountTmpfs, "/etc")), true, etc{overlay: true, covered: true}},
		"something in it":         {asked(at(spec.MountBind, "/etc/ssl")), true, etc{overlay: true, covered: true}},
		"prepared":                {asked(prepared), true, etc{overlay: true, prepared: true}},
		"prepared, another host":  {asked(prepared, named), true, etc{overlay: true, covered: true}},
		"prepared, a mount in it": {asked(prepared, at(spec.MountBind, "/etc/ssl")), true, etc{overlay: true, covered: true}},
		"prepared, not /etc":      {asked(prepared, bare), true, etc{overlay: true}},
		"prepared, no layers":     {asked(prepared), false, etc{}},
	} {
		same(t, name, etcOf(c.in, c.overlay), c.want)
	}
}

// The files of /etc name the payload's user, and root has its own place.
func TestEtcFiles(t *testing.T) {
	for user, want := range map[string][2]string{ // how passwd and group begin
		"":    {"root:x:0:0:root:/root:/bin/sh\nbrig:x:1000:1000::" + spec.DefaultHome + ":", "root:x:0:\nbrig:x:1000:\n"},
		"0":   {"root:x:0:0:root:" + spec.DefaultHome + ":/bin/sh\ndaemon:", "root:x:0:\n"},
		"0:5": {"root:x:0:0:root:" + spec.DefaultHome + ":/bin/sh\ndaemon:", "root:x:0:\nbrig:x:5:\ndaemon:"},
		"7:0": {"root:x:0:0:root:/root:/bin/sh\nbrig:x:7:0::" + spec.DefaultHome + ":", "root:x:0:\ndaemon:"},
	} {
		in := asked(func(s *spec.Spec, _ *host.Host, _ *Mode) { s.User, s.Hostname = user, "box" })
		text := map[string]string{}
		for _, e := range etcFiles(in) {
			text[e.Target] = e.Text
		}
		if !strings.HasPrefix(text["etc/passwd"], want[0]) || !strings.HasPrefix(text["etc/group"], want[1]) {
			t.Errorf("%q: %.80q, %.60q", user, text["etc/passwd"], text["etc/group"])
		}
		if text["etc/hostname"] != "box\n" || !strings.Contains(text["etc/hosts"], "localhost box\n") {
			t.Errorf("%q, %q", text["etc/hostname"], text["etc/hosts"])
		}
	}
}
