package plan

import (
	"slices"
	"strconv"
	"strings"

	"brig/internal/program"
	"brig/landlock"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

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

// decideLandlock decides whether the payload gets a Landlock domain, and what it refuses.
func (r *resolver) decideLandlock() {
	abi, why := landlockABI(r.Spec, r.Host)
	if why != "" && !slices.Contains(r.Spec.Require, "landlock") {
		r.Enforced["landlock"] = "not enforced: " + why
		return
	}
	if !r.require("landlock", r.enforcedByLandlock(abi), why, "") {
		return
	}
	r.rules = landlock.Rules{Handled: landlock.All, Scope: landlock.AbstractUnix | landlock.Signal}.For(abi)
	if r.net() == spec.NetNone && abi >= landlock.NetABI {
		r.rules.HandledNet = landlock.BindTCP | landlock.ConnectTCP
	}
}

// enforcedByLandlock describes what a domain holds. It does not use fmt, whose first use costs a start 0.1 ms.
func (r *resolver) enforcedByLandlock(abi int) string {
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
	if abi >= landlock.NetABI && r.net() == spec.NetNone {
		text += "; no TCP port"
	}
	if abi >= 6 {
		text += "; no signal or abstract socket out of the jail"
	}
	if abi >= 9 && !r.mayConnect() {
		text += "; no socket of the host by path"
	}
	return text
}

// mayConnect reports whether the Spec permits the payload to connect to sockets below its binds.
func (r *resolver) mayConnect() bool { return slices.Contains(r.Spec.Optional, "sockets") }

// ruleset makes the payload's Landlock rules, once the root is complete.
func (r *resolver) ruleset() {
	if r.rules.ABI == 0 {
		return
	}
	if r.shape.noNamespaces {
		r.tierRules()
		return
	}
	r.rules.Paths = r.landlockPaths()
	var trees []program.Slot
	if r.Host.Queues { // mq_open(3) opens files that no path of the jail leads to
		trees = []program.Slot{rootfs.Queues(r.Jail, "landlock")}
	}
	r.domain = r.rules.Create(r.Jail, host.FdRule, trees...)
}

// enterDomain restricts the payload's process. The payload may open its streams again, which can be files outside of
// its root.
func (r *resolver) enterDomain() {
	if r.rules.ABI == 0 {
		return
	}
	for i := 0; i < 3 && !r.Spec.TTY; i++ {
		r.rules.AllowStream(r.Jail, r.domain, i)
	}
	r.rules.Restrict(r.Jail, r.domain)
}

// landlockPaths returns the rules for the jail's tree, few, since each takes three system calls. Everything
// can be read and executed: no mount but procfs and devpts is noexec. What can be written is what the mounts permit; in
// /dev, which has nothing of the host but a few devices, the rule is wider. A rule cannot take away what one above it
// permits, so parts of a writable mount that are read-only, such as protected paths and the masks of /proc, are held by
// their mounts alone.
func (r *resolver) landlockPaths() []landlock.Path {
	root := landlock.Path{Name: "/", Access: landlock.Read | landlock.Execute}
	if image := r.root.Image; image != nil && image.Writable {
		root.Access |= landlock.Write
	}
	list := []landlock.Path{root, {Name: "/dev", Access: landlock.Write | landlock.IoctlDev}}
	for i := range r.root.Entries {
		switch e := &r.root.Entries[i]; e.Kind {
		case rootfs.Scratch:
			list = append(list, landlock.Path{Name: "/" + e.Target, Access: landlock.Write})
		case rootfs.Proc:
			list = append(list, landlock.Path{Name: "/" + e.Target, Access: landlock.Change})
		}
	}
	for i := range r.own {
		if path := r.ownPath(&r.own[i]); path.Access != 0 {
			list = append(list, path)
		}
	}
	return slim(list)
}

// ownPath returns the rule for one of the caller's mounts, without rights if it needs none.
func (r *resolver) ownPath(e *rootfs.Entry) landlock.Path {
	path := landlock.Path{Name: "/" + e.Target, NoLinks: e.NoLinks}
	switch e.Kind {
	case rootfs.Tmpfs, rootfs.COW:
		path.Access = landlock.Write
	case rootfs.Bind:
		path.File = !e.Source.Dir
		if e.Attr&unix.MOUNT_ATTR_RDONLY == 0 {
			path.Access = landlock.Write
		}
		if r.mayConnect() {
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
