package engine

import (
	"cmp"
	"fmt"
	"slices"

	"brig/brigd/job"
	"brig/brigd/policy"
	"brig/brigd/share"
	"brig/brigd/workspace"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
)

// mount adds the shares of a request and of its sandbox, if it has one, to a Job. It returns the shares with their
// modes, and a function that closes their directories.
func (all *shares) mount(c Caller, j *job.Job, box *workspace.Sandbox, asked []Mount) (shown []Mount, unmount func(),
	no *job.Refusal) {
	if box != nil {
		asked = slices.Concat(mountsOf(box), asked)
	}
	var list []nsjail.Mount
	unmount = func() {
		for _, m := range list {
			if all.set.Owns(m.Held) {
				continue
			}
			_ = m.Held.File.Close() // opened by O_PATH: there is nothing to lose
		}
	}
	no = all.checkMounts(c, asked, box != nil)
	for i := 0; i < len(asked) && no == nil; i++ {
		var m nsjail.Mount
		if m, no = all.mountOf(c, &asked[i]); no == nil {
			list, shown = append(list, m), append(shown, asked[i])
			protect, _ := all.set.Protected(asked[i].Share, asked[i].Path)
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
func (all *shares) mountOf(c Caller, m *Mount) (nsjail.Mount, *job.Refusal) {
	s, _ := all.set.Find(m.Share)
	mode := cmp.Or(m.Mode, all.mode(c, m.Share))
	held, where, no := all.set.Resolve(m.Share, m.Path) // first: it waits for no file system without a bound
	if no != nil {
		return nsjail.Mount{}, no
	}
	_, whole := all.set.Protected(m.Share, m.Path)
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
func (all *shares) tell(r *Response, shown []Mount) {
	if r.Error != nil && len(shown) > 0 {
		no := *r.Error
		no.Message, no.NextSteps = all.hide(no.Message), slices.Clone(no.NextSteps)
		for i := range no.NextSteps {
			no.NextSteps[i] = all.hide(no.NextSteps[i])
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
