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
	"brig/brigd/workspace"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
)

// MaxMounts bounds the number of shares in one jail, including those of its sandbox.
const MaxMounts = 32

// shareTargets are the directories of a jail in which shares may be mounted. Nothing else is mounted there, so a share
// hides nothing. A sandbox takes boxTargets; shares may be mounted there if there is no sandbox.
var (
	shareTargets = []string{"/data", "/mnt", "/srv", "/code"}
	boxTargets   = []string{"/work", "/input", "/output"}
)

// Shares lists the shares that the caller may mount, each with the highest mode.
func (e *Engine) Shares(c Caller) []ShareInfo {
	list := []ShareInfo{}
	for _, s := range e.shares.List() {
		if mode := e.shareMode(c, s.Name); mode != "" {
			list = append(list, ShareInfo{Name: s.Name, Mode: mode, Protect: s.Protect})
		}
	}
	return list
}

// shareMode returns the highest mode of a share that the operator and all policies allow, or "".
func (e *Engine) shareMode(c Caller, name string) string {
	s, ok := e.shares.Find(name)
	if !ok {
		return ""
	}
	most := min(slices.Index(policy.ShareModes, s.Mode), c.Rules.mode(name))
	for _, p := range e.policiesOf(c) {
		most = min(most, slices.Index(policy.ShareModes, p.Share(name)))
	}
	if most < 0 {
		return ""
	}
	return policy.ShareModes[most]
}

// checkMounts refuses mounts that the caller may not have, or whose targets are impossible.
func (e *Engine) checkMounts(c Caller, list []Mount, inBox bool) *job.Refusal {
	if len(list) > MaxMounts {
		return bad("too_many_mounts", "mounts", fmt.Sprintf("%d mounts are more than %d", len(list), MaxMounts),
			"mount a directory above some of them")
	}
	for i, m := range list {
		if no := cmp.Or(e.checkShare(c, i, &m), checkTarget(list, i, inBox), checkProtect(i, &m)); no != nil {
			return no
		}
	}
	return nil
}

// checkShare refuses a share that does not exist, in the same words as one that the caller may not use.
func (e *Engine) checkShare(c Caller, i int, m *Mount) *job.Refusal {
	field := fmt.Sprintf("mounts[%d]", i)
	most := e.shareMode(c, m.Share)
	asked := slices.Index(policy.ShareModes, cmp.Or(m.Mode, most))
	switch {
	case most == "":
		return bad("share_not_allowed", field+".share", field+": "+words.Quote(words.Short(m.Share, words.MaxShown))+
			" is no share that you may use", e.sharesFor(c))
	case asked < 0:
		return bad("bad_mode", field+".mode", field+": "+words.Quote(words.Short(m.Mode, words.MaxShown))+" is not a mode",
			"write "+strings.Join(policy.ShareModes, " or ")+", or leave it out")
	case asked > slices.Index(policy.ShareModes, most):
		return bad("share_not_allowed", field+".mode", field+": the share "+m.Share+" is allowed as "+most+", and not as "+
			m.Mode, "leave mode out, or write "+most)
	case m.Mode == "cow" && e.tenants == nil:
		return bad("share_not_allowed", field+".mode", field+": this server keeps no changes, since none of its shares has "+
			"mode cow", "leave mode out, or write ro or "+most)
	}
	return nil
}

// sharesFor returns the next step of a caller who has named another share than he may use.
func (e *Engine) sharesFor(c Caller) string {
	var names []string
	for _, s := range e.Shares(c) {
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

// mountsOf returns the mounts that a sandbox was made with.
func mountsOf(box *workspace.Sandbox) []Mount {
	list, _ := box.Extra.([]Mount)
	return list
}

// mount adds the shares of a request and of its sandbox, if it has one, to a Job. It returns the shares with their
// modes, and a function that closes their directories.
func (e *Engine) mount(c Caller, j *job.Job, box *workspace.Sandbox, asked []Mount) (shown []Mount, unmount func(),
	no *job.Refusal) {
	if box != nil {
		asked = slices.Concat(mountsOf(box), asked)
	}
	var list []nsjail.Mount
	unmount = func() {
		for _, m := range list {
			if e.shares.Owns(m.Held) {
				continue
			}
			_ = m.Held.File.Close() // opened by O_PATH: there is nothing to lose
		}
	}
	no = e.checkMounts(c, asked, box != nil)
	for i := 0; i < len(asked) && no == nil; i++ {
		var m nsjail.Mount
		if m, no = e.mountOf(c, &asked[i]); no == nil {
			list, shown = append(list, m), append(shown, asked[i])
			protect, _ := e.shares.Protected(asked[i].Share, asked[i].Path)
			more, _ := c.Rules.protected(asked[i].Share, asked[i].Path)
			shown[i].Mode, shown[i].Protect = policy.ShareMode(&m), slices.Concat(protect, more, asked[i].Protect)
			for _, p := range shown[i].Protect {
				if shown[i].Mode != "ro" {
					j.Spec.Protect = append(slices.Clip(j.Spec.Protect), m.Target+"/"+p)
				}
			}
			no = beside(j, &m, i, box != nil)
		}
	}
	if no != nil {
		unmount()
		return nil, nil, no
	}
	at := 0
	if box != nil {
		at = len(workspace.Mounts(box.Volume))
	}
	j.Spec.Mounts = slices.Insert(slices.Clip(j.Spec.Mounts), at, list...)
	return shown, unmount, nil
}

// mountOf opens the directory of a request's mount.
func (e *Engine) mountOf(c Caller, m *Mount) (nsjail.Mount, *job.Refusal) {
	s, _ := e.shares.Find(m.Share)
	mode := cmp.Or(m.Mode, e.shareMode(c, m.Share))
	held, where, no := e.shares.Resolve(m.Share, m.Path) // first: it waits for no file system without a bound
	if no != nil {
		return nsjail.Mount{}, no
	}
	_, whole := e.shares.Protected(m.Share, m.Path)
	if _, ruled := c.Rules.protected(m.Share, m.Path); whole || ruled {
		mode = "ro"
	}
	mount := nsjail.Mount{Type: nsjail.MountBind, Source: where, Target: m.Target, Writable: mode == "rw", Held: held}
	if mode == "cow" {
		mount.Type, mount.Store = nsjail.MountCOW, s.Store
		mount.Size, mount.Inodes = cmp.Or(s.Size, share.DefaultSize), cmp.Or(s.Inodes, share.DefaultInodes)
		if c.Rules != nil {
			rule := c.Rules.Shares[m.Share]
			mount.Size, mount.Inodes = least(mount.Size, rule.Size), least(mount.Inodes, rule.Inodes)
		}
	}
	return mount, no
}

// beside refuses a share that contains the target of one of the request's files, which brig would write into the share.
func beside(j *job.Job, m *nsjail.Mount, i int, inBox bool) *job.Refusal {
	for _, other := range j.Spec.Mounts {
		if !inBox && sys.Under(other.Target, m.Target) {
			return bad("bad_target", "files", fmt.Sprintf("mounts[%d]: %s of files would be written into the share %s", i,
				words.Quote(words.Short(other.Target, words.MaxShown)), m.Held.Name), "mount the share beside /input")
		}
	}
	return nil
}

// tell adds the mounted shares to the Response, and the mechanism that protects each. It replaces their paths on the
// host, which the error of a jail may contain.
func (e *Engine) tell(r *Response, shown []Mount) {
	if r.Error != nil && len(shown) > 0 {
		no := *r.Error
		no.Message, no.NextSteps = e.hide(no.Message), slices.Clone(no.NextSteps)
		for i := range no.NextSteps {
			no.NextSteps[i] = e.hide(no.NextSteps[i])
		}
		if no.Layer == "jail" && foreign(no.Message, shown) { // a git directory or settings outside of the shares
			no.Message, no.NextSteps = no.Rule+": a share cannot be shown safely", []string{tellOperator}
		}
		r.Error = &no
	}
	if r.Enforced == nil {
		return // nothing has run
	}
	r.Mounts = shown
	by := map[string]string{"ro": "read-only mount", "cow": "overlay of a bounded size",
		"rw": "writable mount; no quota is held"}
	for _, m := range shown {
		r.Enforced["share "+m.Share] = by[m.Mode]
	}
}
