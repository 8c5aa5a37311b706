package plan

import (
	"slices"
	"strconv"
	"strings"

	"brig/internal/program"
	"brig/internal/words"
	"brig/landlock"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

// domain is the payload's Landlock domain.
type domain struct {
	rules   landlock.Rules // ABI 0 for no domain
	queues  bool           // the payload may use POSIX message queues, whose files no path of the jail leads to
	streams int            // how many of its streams it may open again, which can be files outside of its root
	files   []tierFile     // of a jail without namespaces
}

// landlockABI returns the version of Landlock that the jail uses, or 0 and the reason.
func landlockABI(s *spec.Spec, h *host.Host) (abi int, why string) {
	switch {
	case h.Landlock == 0:
		return 0, "the kernel has no Landlock, or it is not in lsm= of the kernel's command line"
	case h.Landlock < landlock.MinABI:
		return 0, "Landlock of before Linux 5.19 forbids to move files between directories"
	case s.Seccomp == "unconfined" && !slices.Contains(s.Require, "landlock"):
		return 0, "it forbids mount(2), which unconfined permits in a nested user namespace"
	}
	return h.Landlock, ""
}

// decideLandlock decides whether the payload gets a domain, and what it refuses, but for paths.
func decideLandlock(in *input, out *report) (d domain) {
	abi, why := landlockABI(in.Spec, in.host)
	if why != "" && !slices.Contains(in.Require, "landlock") {
		out.enforced["landlock"] = words.Plain("not enforced: " + why)
		return d
	}
	if !out.require(in.Spec, "landlock", words.Plain(enforcedByLandlock(in.Spec, abi)), words.Plain(why), "") {
		return d
	}
	d.rules = landlock.Rules{Handled: landlock.All, Scope: landlock.AbstractUnix | landlock.Signal}.For(abi)
	if netOf(in.Spec) == spec.NetNone && abi >= landlock.NetABI {
		d.rules.HandledNet = landlock.BindTCP | landlock.ConnectTCP
	}
	d.queues, d.streams = in.host.Queues, streamsOf(in.Spec)
	return d
}

// streamsOf returns how many streams of the caller's a payload has.
func streamsOf(s *spec.Spec) int {
	if s.TTY {
		return 0
	}
	return 3
}

// enforcedByLandlock describes what a domain holds. It does not use fmt, whose first use costs a start 0.1 ms.
func enforcedByLandlock(s *spec.Spec, abi int) string {
	text, not := "ABI "+strconv.Itoa(abi)+": files as the mounts say", []string(nil)
	if abi < 3 {
		not = append(not, "truncate(2)")
	}
	if abi < 5 {
		not = append(not, "ioctl(2) of devices")
	}
	if not != nil {
		text += ", but for " + strings.Join(not, " and ")
	}
	if abi >= landlock.NetABI && netOf(s) == spec.NetNone {
		text += "; no TCP port"
	}
	if abi >= 6 {
		text += "; no signal or abstract socket out of the jail"
	}
	if abi >= 9 && !mayConnect(s) {
		text += "; no socket of the host by path"
	}
	return text
}

// mayConnect reports whether the Spec permits the payload to connect to sockets below its binds.
func mayConnect(s *spec.Spec) bool { return slices.Contains(s.Optional, "sockets") }

// create makes the ruleset, once the root is complete, and returns its slot; 0 for no domain.
func (d *domain) create(p *program.Program) program.Slot {
	if d.rules.ABI == 0 {
		return 0
	}
	var trees []program.Slot
	if d.queues { // mq_open(3)
		trees = []program.Slot{rootfs.Queues(p, "landlock")}
	}
	set := d.rules.Create(p, host.FdRule, trees...)
	for i := range d.files {
		d.files[i].allow(p, &d.rules, set)
	}
	return set
}

// enter restricts the payload's process.
func (d *domain) enter(p *program.Program, set program.Slot) {
	for i := range d.streams { // none without a domain
		d.rules.AllowStream(p, set, i)
	}
	d.restrict(p, set)
}

// restrict restricts a process that has no stream of the caller's.
func (d *domain) restrict(p *program.Program, set program.Slot) {
	if d.rules.ABI != 0 {
		d.rules.Restrict(p, set)
	}
}

// landlockPaths returns the rules for the jail's tree, few, since each takes three system calls. Everything
// can be read and executed: no mount but procfs and devpts is noexec. What can be written is what the mounts permit; in
// /dev, which has nothing of the host but a few devices, the rule is wider. A rule cannot take away what one above it
// permits, so parts of a writable mount that are read-only, such as protected paths and the masks of /proc, are held by
// their mounts alone.
func landlockPaths(s *spec.Spec, r *rootfs.Root, own []rootfs.Entry) []landlock.Path {
	root := landlock.Path{Name: "/", Access: landlock.Read | landlock.Execute}
	if r.Image != nil && r.Image.Writable {
		root.Access |= landlock.Write
	}
	list := []landlock.Path{root, {Name: "/dev", Access: landlock.Write | landlock.IoctlDev}}
	for i := range r.Entries {
		switch e := &r.Entries[i]; e.Kind {
		case rootfs.Scratch:
			list = append(list, landlock.Path{Name: "/" + e.Target, Access: landlock.Write})
		case rootfs.Proc:
			list = append(list, landlock.Path{Name: "/" + e.Target, Access: landlock.Change})
		}
	}
	for i := range own {
		if path := landlockPath(s, &own[i]); path.Access != 0 {
			list = append(list, path)
		}
	}
	return slim(list)
}

// landlockPath returns the rule for one of the caller's mounts, without rights if it needs none.
func landlockPath(s *spec.Spec, e *rootfs.Entry) landlock.Path {
	path := landlock.Path{Name: "/" + e.Target, NoLinks: e.NoLinks}
	switch e.Kind {
	case rootfs.Tmpfs, rootfs.COW:
		path.Access = landlock.Write
	case rootfs.Bind:
		path.File = !e.Source.Dir
		if e.Attr&unix.MOUNT_ATTR_RDONLY == 0 {
			path.Access = landlock.Write
		}
		if mayConnect(s) {
			path.Access |= landlock.ResolveUnix
		}
	}
	return path
}

// slim leaves out the rules that add nothing to those above them, and those for what a mount of the caller's covers:
// such a path may not exist.
func slim(list []landlock.Path) (kept []landlock.Path) {
	for i, path := range list {
		given := landlock.Access(0)
		for k := range list {
			if other := &list[k]; k != i && below(path.Name, other.Name) || k < i && other.Name == path.Name {
				given |= other.Access
			}
		}
		if path.Access&^given != 0 {
			kept = append(kept, path)
		}
	}
	return kept
}

// below reports whether a path is below a directory.
func below(name, dir string) bool {
	return dir == "/" || strings.HasPrefix(name, dir) && len(name) > len(dir) && name[len(dir)] == '/'
}
