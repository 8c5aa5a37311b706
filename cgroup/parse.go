package cgroup

import (
	"path"
	"slices"
	"strings"

	"brig/internal/sys"
)

// hierarchy is a mounted tree of control groups: a line of proc_pid_mountinfo(5).
type hierarchy struct {
	root, point string
	v2, ro      bool
	options     []string // of the super block: the controllers of version 1
}

// Parse returns the Layout described by /proc/self/cgroup and /proc/self/mountinfo. It reads no file: Enabled is empty
// and Delegated is not set. parent is as for Detect.
func Parse(self, mountinfo, parent string) *Layout {
	own := groups(self)
	l := &Layout{Mode: None, Controllers: map[string]string{}}
	var v1, v2 bool
	for _, h := range hierarchies(mountinfo) {
		if h.v2 {
			if v2 && l.Dir != "" {
				continue // mounted twice: the first mount is used
			}
			v2 = true
			l.Group = own[""]
			l.Dir = l.place(&h, "", l.Group, parent)
			continue
		}
		for _, name := range h.options {
			if group, known := own[name]; known { // else an option such as rw
				v1 = true
				l.Controllers[name] = l.place(&h, name, group, parent)
			}
		}
	}
	switch {
	case v1 && v2:
		l.Mode = Hybrid
	case v1:
		l.Mode = V1
	case v2:
		l.Mode = V2
	}
	l.Why = l.denial()
	return l
}

// place returns the directory below which new groups of a hierarchy are made.
func (l *Layout) place(h *hierarchy, controller, own, parent string) string {
	group, what := parent, "group"
	if parent == "" {
		group, what = own, "own group"
	}
	dir := h.dir(group)
	if controller != "" {
		what = strings.Replace(what, "group", controller+" group", 1)
	}
	switch {
	case dir == "":
		l.deny(controller, "the "+what+" "+quote(group)+" is outside of what is mounted at "+quote(h.point))
	case h.ro:
		l.deny(controller, quote(h.point)+" is mounted read-only")
	}
	if h.v2 && parent == "" && path.Base(dir) == leafName && dir != h.point { // brig was moved there
		return path.Dir(dir)
	}
	return dir
}

// groups reads hierarchy-ID:controllers:path lines: cgroups(7). Version 2 has no controllers there.
func groups(self string) map[string]string {
	m := map[string]string{}
	for _, line := range strings.Split(self, "\n") {
		f := strings.SplitN(line, ":", 3)
		if len(f) != 3 {
			continue
		}
		for _, name := range strings.Split(f[1], ",") {
			m[name] = f[2]
		}
	}
	return m
}

func hierarchies(mountinfo string) (list []hierarchy) {
	for _, line := range strings.Split(mountinfo, "\n") {
		left, right, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(left), strings.Fields(right)
		if !ok || len(f) < 6 || len(g) < 3 || g[0] != "cgroup" && g[0] != "cgroup2" {
			continue
		}
		super := strings.Split(g[2], ",")
		list = append(list, hierarchy{root: sys.MountPath(f[3]), point: sys.MountPath(f[4]), v2: g[0] == "cgroup2",
			ro: slices.Contains(strings.Split(f[5], ","), "ro") || slices.Contains(super, "ro"), options: super})
	}
	return list
}

// dir returns the directory of a group below the mount point, or "". Group and root are both relative to the cgroup
// namespace; one that begins with /.. is above it and has no path here.
func (h *hierarchy) dir(group string) string {
	// a path such as /a/../.. would lead out of the mount
	if group == "" || above(group) || above(h.root) && h.root != group || path.Clean(group) != group {
		return ""
	}
	rest, ok := strings.CutPrefix(group, strings.TrimSuffix(h.root, "/"))
	if !ok || rest != "" && rest[0] != '/' {
		return ""
	}
	return path.Join(h.point, rest)
}

func above(p string) bool { return p == "/.." || strings.HasPrefix(p, "/../") }
