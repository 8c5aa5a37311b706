package engine

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"brig/brigd/job"
	"brig/brigd/policy"
	"brig/brigd/share"
	"brig/internal/sys"
	"brig/internal/words"
)

// MaxMounts bounds the number of shares in one jail, including those of its sandbox.
const MaxMounts = 32

// shareTargets are the directories of a jail in which shares may be mounted. Nothing else is mounted there, so a share
// hides nothing. A sandbox takes boxTargets; shares may be mounted there if there is no sandbox.
var (
	shareTargets = []string{"/data", "/mnt", "/srv", "/code"}
	boxTargets   = []string{"/work", "/input", "/output"}
)

// shares are the directories of the host that requests may mount.
type shares struct {
	set    *share.Set
	access *access
	kept   string // the store of change sets; "" without one
}

// Shares lists the shares that the caller may mount, each with the highest mode.
func (all *shares) Shares(c Caller) []ShareInfo {
	list := []ShareInfo{}
	for _, s := range all.set.List() {
		if mode := all.mode(c, s.Name); mode != "" {
			list = append(list, ShareInfo{Name: s.Name, Mode: mode, Protect: s.Protect})
		}
	}
	return list
}

// mode returns the highest mode of a share that the operator and all policies allow, or "".
func (all *shares) mode(c Caller, name string) string {
	s, ok := all.set.Find(name)
	if !ok {
		return ""
	}
	most := min(slices.Index(policy.ShareModes, s.Mode), c.Rules.mode(name))
	for _, p := range all.access.of(c) {
		most = min(most, slices.Index(policy.ShareModes, p.Share(name)))
	}
	if most < 0 {
		return ""
	}
	return policy.ShareModes[most]
}

// checkMounts refuses mounts that the caller may not have, or whose targets are impossible.
func (all *shares) checkMounts(c Caller, list []Mount, inBox bool) *job.Refusal {
	if len(list) > MaxMounts {
		return bad("too_many_mounts", "mounts", fmt.Sprintf("%d mounts are more than %d", len(list), MaxMounts),
			"mount a directory above some of them")
	}
	for i, m := range list {
		if no := cmp.Or(all.checkShare(c, i, &m), checkTarget(list, i, inBox), checkProtect(i, &m)); no != nil {
			return no
		}
	}
	return nil
}

// checkShare refuses a share that does not exist, in the same words as one that the caller may not use.
func (all *shares) checkShare(c Caller, i int, m *Mount) *job.Refusal {
	field := fmt.Sprintf("mounts[%d]", i)
	most := all.mode(c, m.Share)
	asked := slices.Index(policy.ShareModes, cmp.Or(m.Mode, most))
	switch {
	case most == "":
		return bad("share_not_allowed", field+".share", field+": "+words.Quote(words.Short(m.Share, words.MaxShown))+
			" is no share that you may use", all.usable(c))
	case asked < 0:
		return bad("bad_mode", field+".mode", field+": "+words.Quote(words.Short(m.Mode, words.MaxShown))+" is not a mode",
			"write "+strings.Join(policy.ShareModes, " or ")+", or leave it out")
	case asked > slices.Index(policy.ShareModes, most):
		return bad("share_not_allowed", field+".mode", field+": the share "+m.Share+" is allowed as "+most+", and not as "+
			m.Mode, "leave mode out, or write "+most)
	case m.Mode == "cow" && all.kept == "":
		return bad("share_not_allowed", field+".mode", field+": this server keeps no changes, since none of its shares has "+
			"mode cow", "leave mode out, or write ro or "+most)
	}
	return nil
}

// usable returns the next step of a caller who has named another share than he may use.
func (all *shares) usable(c Caller) string {
	var names []string
	for _, s := range all.Shares(c) {
		names = append(names, s.Name+" ("+s.Mode+")")
	}
	if len(names) == 0 {
		return "leave mounts out: no share may be used here; the server has none, or its policies or your token allow none"
	}
	return "use one of these: " + strings.Join(names, ", ")
}

// checkTarget refuses a target outside of the places for shares, and one that another mount of the list has, hides or
// contains.
func checkTarget(list []Mount, i int, inBox bool) *job.Refusal {
	target, field, free := list[i].Target, fmt.Sprintf("mounts[%d].target", i), shareTargets
	if !inBox {
		free = slices.Concat(boxTargets, shareTargets)
	}
	in := func(dir string) bool { return sys.Under(target, dir) }
	if len(target) > maxFilePath || path.Clean(target) != target || strings.ContainsRune(target, 0) ||
		!slices.ContainsFunc(free, in) {
		return bad("bad_target", field, field+": "+words.Quote(words.Short(target, words.MaxShown))+
			" is no place for a share", "write an absolute path at or below "+words.Or(free)+`, without "." and ".."`)
	}
	for k, other := range list[:i] {
		if sys.Under(target, other.Target) || sys.Under(other.Target, target) {
			return bad("bad_target", field, fmt.Sprintf("%s: %s is at, above or below the target of mounts[%d]", field,
				words.Quote(target), k), "mount the two beside each other")
		}
	}
	return nil
}

// checkProtect refuses a protected path that is not below the mount.
func checkProtect(i int, m *Mount) *job.Refusal {
	for k := range m.Protect {
		if why, fix := share.BadProtect(m.Protect[:k+1]); why != "" {
			field := fmt.Sprintf("mounts[%d].protect[%d]", i, k)
			return bad("bad_path", field, field+": "+why, fix)
		}
	}
	return nil
}

// hide replaces paths of shares in a text for callers by the shares' names.
func (all *shares) hide(text string) string {
	if all.kept != "" {
		text = words.Hide(text, all.kept, "the store")
	}
	return all.set.Hide(text)
}

// foreign reports whether a text names a path of the host, in quotation marks, that is none of the jail's.
func foreign(text string, shown []Mount) bool {
	for _, part := range strings.Split(text, `"/`)[1:] {
		name, _, _ := strings.Cut("/"+part, `"`)
		if !slices.ContainsFunc(shown, func(m Mount) bool { return sys.Under(name, m.Target) }) {
			return true
		}
	}
	return false
}
