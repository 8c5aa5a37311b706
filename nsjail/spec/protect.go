package spec

import (
	"path"
	"slices"
	"strings"
)

// ProtectGit in Spec.Protect stands for files of a repository, and of the tools that work in one, that the host acts
// on: hooks, settings, start-up files. It applies to each writable bind and cow of a git repository or of part of it.
const ProtectGit = "@git"

// ProtectedIn returns the paths, relative to a mount's target, that Protect names in it, without a look at the machine:
// of ProtectGit the files of tools.
func (s *Spec) ProtectedIn(mount int) (list []string) {
	target := s.Mounts[mount].Target
	add := func(rel string) {
		if at := path.Join(target, rel); s.Below(at) == mount && !s.TakesBack(rel, at) && !slices.Contains(list, rel) {
			list = append(list, rel)
		}
	}
	for _, entry := range s.Protect {
		switch rel, below := strings.CutPrefix(entry, target+"/"); {
		case strings.HasPrefix(entry, "!"):
		case entry == ProtectGit:
			for _, name := range ToolFiles {
				add(name)
			}
		case below:
			add(rel)
		case !path.IsAbs(entry):
			add(path.Clean(entry))
		}
	}
	return list
}

// TakesBack reports whether Protect takes a path back, or a directory above it: a path of the jail, and relative to its
// mount's target.
func (s *Spec) TakesBack(rel, target string) bool {
	return slices.ContainsFunc(s.Protect, func(entry string) bool {
		back, ok := strings.CutPrefix(entry, "!")
		back = strings.TrimPrefix(back, "./")
		return ok && (back == rel || back == target || strings.HasPrefix(rel, back+"/") ||
			strings.HasPrefix(target, back+"/"))
	})
}

// Below returns the mount in which a path of the jail is, if paths of it can be protected, or -1. The target of a mount
// is in none.
func (s *Spec) Below(p string) int { return below(s.Mounts, p) }

func below(mounts []Mount, p string) int {
	at := -1
	for i, m := range mounts {
		if p == m.Target {
			return -1
		}
		// a MountDir is part of the mount that it is in
		if m.Type != MountDir && strings.HasPrefix(p, m.Target+"/") && (at < 0 || len(m.Target) > len(mounts[at].Target)) {
			at = i
		}
	}
	if at >= 0 && !mounts[at].Writes() {
		return -1
	}
	return at
}
