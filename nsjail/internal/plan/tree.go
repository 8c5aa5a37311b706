package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

const (
	attrPrivate = uint64(unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV)
	attrRead    = attrPrivate | unix.MOUNT_ATTR_RDONLY
)

// static resolves the entries of the jail's root except the caller's mounts, in the order of their creation.
func (r *resolver) static() {
	r.root.Size, r.root.Inodes = int64(cmp.Or(r.Spec.Scratch, spec.DefaultTmpfsSize)), spec.DefaultTmpfsInodes
	if r.Spec.Rootfs.Path != "" {
		r.imageRoot()
		return
	}
	overlay := r.usr()
	r.devices(rootfs.Dir) // read-only with the rest of the root
	r.proc()
	r.skeleton(overlay)
	r.masks(false)
	r.scratch(scratchDirs...)
}

func (r *resolver) add(e rootfs.Entry) { r.root.Entries = append(r.root.Entries, e) }

func (r *resolver) link(target, text string) {
	r.add(rootfs.Entry{Kind: rootfs.Symlink, Target: target, Text: text})
}

// hosts returns the content of the jail's /etc/hosts.
func (r *resolver) hosts() string {
	return "127.0.0.1\tlocalhost " + r.hostname() + "\n::1\tlocalhost ip6-localhost ip6-loopback\n"
}

// usr adds the host's /usr and related directories. With the devices and procfs, they come first in every default jail,
// so that a launcher forked early can mount them before it has the program (launcher.Ahead).
func (r *resolver) usr() (overlay bool) {
	why := ""
	for _, d := range r.Host.System {
		if d.Link == "" && d.NoOverlay != "" {
			why = d.NoOverlay
		}
	}
	overlay = r.require("overlay", "private overlays of the system's directories", why, "bind")
	for _, d := range r.Host.System {
		if d.Link == "" && !strings.HasPrefix(d.Name, "etc/") {
			r.systemDir(d, overlay)
		}
	}
	return overlay
}

func (r *resolver) systemDir(d host.SystemDir, overlay bool) {
	e := rootfs.Entry{Kind: rootfs.Bind, Target: d.Name, Source: rootfs.Source{Path: "/" + d.Name, Dir: true},
		Attr: attrRead}
	if overlay {
		e.Kind, e.Source.Mounted = rootfs.Overlay, r.Mode.Root != nil
	}
	r.add(e)
}

// skeleton adds the rest of the minimal root. The entries that are the same on every machine come first, so that a
// launcher forked early can create them, too.
func (r *resolver) skeleton(overlay bool) {
	for _, d := range []string{"input", "run", "root", "home", cpuDir} {
		r.add(rootfs.Entry{Kind: rootfs.Dir, Target: d, Mode: 0o755})
	}
	r.link("var/tmp", "/tmp")
	r.link(cpuDir+"/possible", "online")
	r.link(cpuDir+"/present", "online")
	prepared := r.preparedEtc(overlay)
	if !prepared {
		r.etc()
	}
	r.everywhere = len(r.root.Entries)
	hidden := r.Mode.Root == nil && hidesEtc(r.Spec)
	covered := overlay && !prepared && !hidden && r.etcDirs() > 1 &&
		(r.Mode.Root == nil && r.Host.NoEtcOverlay == "" || r.Mode.Root != nil && r.Mode.Root.etc)
	if covered {
		src := rootfs.Source{Path: "/etc", Dir: true, Mounted: r.Mode.Root != nil}
		r.add(rootfs.Entry{Kind: rootfs.Cover, Label: "etc", Source: src, Attr: attrRead})
	}
	for _, d := range r.Host.System {
		switch etc := strings.HasPrefix(d.Name, "etc/"); {
		case etc && hidden:
		case d.Link != "" && !(etc && prepared):
			r.link(d.Name, d.Link)
		case etc && covered:
			r.covered(d.Name, true)
		case etc && !prepared:
			r.systemDir(d, overlay)
		}
	}
	switch {
	case prepared:
		r.add(rootfs.Entry{Kind: rootfs.Overlay, Label: "etc", Target: "etc",
			Source: rootfs.Source{Path: "/etc", Dir: true, Mounted: true}, Attr: attrRead})
	case !hidden:
		r.etcOfHost(covered)
	}
	if r.Host.CPUs != "" {
		r.add(rootfs.Entry{Kind: rootfs.File, Target: cpuDir + "/online", Text: r.Host.CPUs + "\n", Mode: 0o444})
	}
}

// cpuDir is the only part of /sys in a jail. lscpu(1) and glibc read the number of processors there.
const cpuDir = "sys/devices/system/cpu"

// covered adds a bind of a path below a Cover. The mount has the Cover's attributes.
func (r *resolver) covered(name string, dir bool) {
	r.add(rootfs.Entry{Kind: rootfs.Bind, Label: "etc", Target: name, Source: rootfs.Source{Path: "/" + name, Dir: dir}})
}

// etcDirs returns the number of directories of the host's /etc that the jail shows.
func (r *resolver) etcDirs() (n int) {
	for _, d := range r.Host.System {
		if d.Link == "" && strings.HasPrefix(d.Name, "etc/") {
			n++
		}
	}
	return n
}

// hidesEtc reports whether a mount of the caller's hides the jail's own /etc.
func hidesEtc(s *spec.Spec) bool {
	return slices.ContainsFunc(s.Mounts, func(m spec.Mount) bool { return m.Type == spec.MountBind && m.Target == "/etc" })
}

// preparedEtc reports whether the prepared root contains the jail's complete /etc.
func (r *resolver) preparedEtc(overlay bool) bool {
	return overlay && r.Mode.Root != nil && r.Mode.Root.etc && r.Spec.User == "" && r.Spec.Hostname == "" &&
		!mountsEtc(r.Spec)
}

// etc adds an /etc that reveals nothing about the host. Its users and groups are those of every Debian system.
func (r *resolver) etc() {
	uid, gid := r.ids()
	name := r.hostname()
	file := func(name, text string) {
		if r.net() != spec.NetHost || !slices.Contains(r.Host.Files, "etc/"+name) {
			r.add(rootfs.Entry{Kind: rootfs.File, Label: "etc", Target: "etc/" + name, Text: text, Mode: 0o444})
		}
	}
	passwd, group, root := "", "", spec.DefaultHome
	if uid != 0 {
		root, passwd = "/root", fmt.Sprintf("brig:x:%d:%d::%s:/bin/sh\n", uid, gid, spec.DefaultHome)
	}
	if gid != 0 {
		group = fmt.Sprintf("brig:x:%d:\n", gid)
	}
	file("passwd", "root:x:0:0:root:"+root+":/bin/sh\n"+passwd+baseUsers)
	file("group", "root:x:0:\n"+group+baseGroups)
	file("hosts", r.hosts())
	file("hostname", name+"\n")
	file("nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"+
		"services: files\nprotocols: files\n")
	// without it the default of resolv.conf(5) is the same; with NetEgress brig answers at this address, as at every other
	file("resolv.conf", "nameserver 127.0.0.1\n")
	file("shells", "/bin/sh\n/bin/bash\n")
	r.add(rootfs.Entry{Kind: rootfs.Symlink, Label: "etc", Target: "etc/mtab", Text: "/proc/self/mounts"})
}

// etcOfHost adds public files of the host that programs need: as binds below a Cover, or as copies.
func (r *resolver) etcOfHost(covered bool) {
	for _, f := range r.Host.Files {
		if covered && !slices.Contains(host.NetEtc, f) { // these can be symbolic links
			r.covered(f, false)
			continue
		}
		r.add(rootfs.Entry{Kind: rootfs.Copy, Label: "etc", Target: f, Source: rootfs.Source{Path: "/" + f},
			Size: host.MaxEtcFile, Mode: 0o444})
	}
}

func (r *resolver) nodes() {
	for _, n := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		r.add(rootfs.Entry{Kind: rootfs.Bind, Label: "dev", Target: "dev/" + n, Source: rootfs.Source{Path: "/dev/" + n}})
	}
}

func (r *resolver) devices(kind rootfs.Kind) {
	dev := func(e rootfs.Entry) { e.Label = "dev"; e.Target = "dev/" + e.Target; r.add(e) }
	r.add(rootfs.Entry{Kind: kind, Label: "dev", Target: "dev", Mode: 0o755})
	r.nodes()
	for _, l := range [][2]string{{"fd", "/proc/self/fd"}, {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"},
		{"stderr", "/proc/self/fd/2"}, {"ptmx", "pts/ptmx"}} {
		dev(rootfs.Entry{Kind: rootfs.Symlink, Target: l[0], Text: l[1]})
	}
	dev(rootfs.Entry{Kind: rootfs.Devpts, Target: "pts", Inodes: spec.DefaultTerminals})
}

// mode parses an octal mode that Check has accepted.
func mode(s string, otherwise uint32) uint32 {
	if v, err := strconv.ParseUint(s, 8, 32); err == nil {
		return uint32(v)
	}
	return otherwise
}

func (r *resolver) proc() {
	if !r.require("proc", "the jail's own procfs, masked", r.Host.Missing["proc"], "") {
		r.add(rootfs.Entry{Kind: rootfs.Dir, Label: "proc", Target: "proc", Mode: 0o555})
		r.Notes = append(r.Notes, "without a /proc of its own the jail has no limits on inotify(7) but the user's")
		return
	}
	r.add(rootfs.Entry{Kind: rootfs.Proc, Label: "proc", Target: "proc"})
	r.masks(true)
}

// masks covers the files of procfs that the payload must not read or write: those that every kernel has, or the others.
func (r *resolver) masks(always bool) {
	if r.Host.Missing["proc"] != "" {
		return
	}
	_, readOnly := host.Masks()
	for _, f := range r.Host.ProcFiles {
		kind := rootfs.Mask
		if slices.Contains(readOnly, f.Name) {
			kind = rootfs.Sealed
		}
		if slices.Contains(host.EveryKernel, f.Name) == always {
			r.add(rootfs.Entry{Kind: kind, Label: "proc", Target: "proc/" + f.Name, SourceIsDir: f.Dir && kind == rootfs.Mask})
		}
	}
}

var scratchDirs = []string{"/dev/shm", "/tmp", spec.DefaultWorkdir, "/output", spec.DefaultHome}

// scratch adds the writable directories that the Spec does not mount itself. They share one tmpfs and its limits.
func (r *resolver) scratch(dirs ...string) {
	own := map[string]bool{}
	for _, m := range r.Spec.Mounts {
		own[m.Target] = true
	}
	for _, d := range dirs {
		mode := uint32(0o1777)
		if d == spec.DefaultHome {
			mode = 0o700
		}
		if !own[d] {
			r.add(rootfs.Entry{Kind: rootfs.Scratch, Label: "scratch", Target: d[1:], Mode: mode})
		}
	}
}
