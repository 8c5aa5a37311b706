package plan

import (
	"fmt"
	"slices"
	"strings"

	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/rootfs"
)

// etc is how a default jail gets what it shows of the host's /etc.
type etc struct {
	overlay  bool // the host's directories are shown through overlays
	prepared bool // the prepared root has the jail's complete /etc
	hidden   bool // a mount of the caller's hides it
	covered  bool // one overlay of the whole /etc is what the binds below it are taken from
}

func inEtc(name string) bool { return strings.HasPrefix(name, "etc/") }

func etcOf(in *input, overlay bool) etc {
	root := in.mode.Root
	complete := root != nil && root.etc
	e := etc{overlay: overlay, hidden: root == nil && hidesEtc(in.Spec)}
	e.prepared = overlay && complete && in.User == "" && in.Hostname == "" && !mountsEtc(in.Spec)
	e.covered = overlay && !e.prepared && !e.hidden && etcDirs(in.host) > 1 &&
		(complete || root == nil && in.host.NoEtcOverlay == "")
	return e
}

// entries returns what the jail shows of the host's /etc, and the links of the root.
func (e *etc) entries(in *input) (list []rootfs.Entry) {
	whole := rootfs.Source{Path: "/etc", Dir: true, Mounted: in.mode.Root != nil}
	if e.covered {
		list = append(list, rootfs.Entry{Kind: rootfs.Cover, Label: "etc", Source: whole, Attr: attrRead})
	}
	for _, d := range in.host.System {
		switch of := inEtc(d.Name); {
		case of && e.hidden:
		case d.Link != "" && !(of && e.prepared):
			list = append(list, symlink(d.Name, d.Link))
		case of && e.covered:
			list = append(list, belowCover(d.Name, true))
		case of && !e.prepared:
			list = append(list, systemDir(in, d, e.overlay))
		}
	}
	switch {
	case e.prepared:
		list = append(list, rootfs.Entry{Kind: rootfs.Overlay, Label: "etc", Target: "etc", Source: whole, Attr: attrRead})
	case !e.hidden:
		list = append(list, etcOfHost(in.host, e.covered)...)
	}
	return list
}

// belowCover returns a bind of a path below a Cover. The mount has the Cover's attributes.
func belowCover(name string, dir bool) rootfs.Entry {
	return rootfs.Entry{Kind: rootfs.Bind, Label: "etc", Target: name, Source: rootfs.Source{Path: "/" + name, Dir: dir}}
}

// etcDirs returns the number of directories of the host's /etc that the jail shows.
func etcDirs(h *host.Host) (n int) {
	for _, d := range h.System {
		if d.Link == "" && inEtc(d.Name) {
			n++
		}
	}
	return n
}

// hidesEtc reports whether a mount of the caller's hides the jail's own /etc.
func hidesEtc(s *spec.Spec) bool {
	return slices.ContainsFunc(s.Mounts, func(m spec.Mount) bool { return m.Type == spec.MountBind && m.Target == "/etc" })
}

// mountsEtc reports whether a Spec mounts something in /etc, which then cannot be a single overlay.
func mountsEtc(s *spec.Spec) bool {
	return slices.ContainsFunc(s.Mounts, func(m spec.Mount) bool {
		return m.Target == "/etc" ||
			strings.HasPrefix(m.Target, "/etc/")
	})
}

// hostsFile returns the content of the jail's /etc/hosts.
func hostsFile(name string) string {
	return "127.0.0.1\tlocalhost " + name + "\n::1\tlocalhost ip6-localhost ip6-loopback\n"
}

// etcFiles returns an /etc that reveals nothing about the host. Its users and groups are those of every Debian system.
func etcFiles(in *input) (list []rootfs.Entry) {
	id := identityOf(in.Spec)
	file := func(name, text string) {
		if netOf(in.Spec) != spec.NetHost || !slices.Contains(in.host.Files, "etc/"+name) {
			list = append(list, rootfs.Entry{Kind: rootfs.File, Label: "etc", Target: "etc/" + name, Text: text, Mode: 0o444})
		}
	}
	passwd, group, root := "", "", spec.DefaultHome
	if id.uid != 0 {
		root, passwd = "/root", fmt.Sprintf("brig:x:%d:%d::%s:/bin/sh\n", id.uid, id.gid, spec.DefaultHome)
	}
	if id.gid != 0 {
		group = fmt.Sprintf("brig:x:%d:\n", id.gid)
	}
	file("passwd", "root:x:0:0:root:"+root+":/bin/sh\n"+passwd+baseUsers)
	file("group", "root:x:0:\n"+group+baseGroups)
	file("hosts", hostsFile(id.hostname))
	file("hostname", id.hostname+"\n")
	file("nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"+
		"services: files\nprotocols: files\n")
	// without it the default of resolv.conf(5) is the same; with NetEgress brig answers at this address, as at every other
	file("resolv.conf", "nameserver 127.0.0.1\n")
	file("shells", "/bin/sh\n/bin/bash\n")
	return append(list, rootfs.Entry{Kind: rootfs.Symlink, Label: "etc", Target: "etc/mtab", Text: "/proc/self/mounts"})
}

// etcOfHost returns public files of the host that programs need: as binds below a Cover, or as copies.
func etcOfHost(h *host.Host, covered bool) (list []rootfs.Entry) {
	for _, f := range h.Files {
		if covered && !slices.Contains(host.NetEtc, f) { // these can be symbolic links
			list = append(list, belowCover(f, false))
			continue
		}
		list = append(list, copyOf(f))
	}
	return list
}

// copyOf returns a copy of a file of the host at its own place.
func copyOf(name string) rootfs.Entry {
	return rootfs.Entry{Kind: rootfs.Copy, Label: "etc", Target: name, Source: rootfs.Source{Path: "/" + name},
		Size: host.MaxEtcFile, Mode: 0o444}
}
