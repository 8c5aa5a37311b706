package plan

import (
	"cmp"
	"slices"
	"strings"

	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/rootfs"
)

// protect mounts each protected path on itself, read-only: mount points can be neither renamed, removed nor replaced,
// and so is each directory between one and its mount (rename(2), EBUSY). Directories come before what is in them.
func (r *resolver) protect() {
	list := r.Host.Protected
	slices.SortStableFunc(list, func(a, b host.Protected) int { return cmp.Compare(a.Target, b.Target) })
	for i := range list {
		p := &list[i]
		m := &r.Spec.Mounts[p.Mount]
		for at := len(m.Target) + 1; ; at++ { // the directories above it, from the mount downwards
			n := strings.IndexByte(p.Target[at:], '/')
			if n < 0 {
				break
			}
			at += n
			r.hold(rootfs.Entry{Kind: r.kindIn(m), Label: "protect", Target: strings.TrimPrefix(p.Target[:at], "/")})
		}
		r.hold(rootfs.Entry{Kind: r.kindIn(m), Label: "protect", Target: strings.TrimPrefix(p.Target, "/"), Attr: attrRead})
	}
	if len(list) > 0 {
		r.Enforced["protect"] = protectedText(list, r.Host.Unprotected)
	}
	if why := r.Host.Missing["protect"]; why != "" {
		own := r.Enforced["protect"]
		if r.require("protect", "", why, ""); own != "" {
			r.Enforced["protect"] += "; but brig's own directories, as " + own
		}
	}
}

// kindIn returns the kind of entry in a mount. What a volume holds is not known, so a missing directory is made.
func (r *resolver) kindIn(m *spec.Mount) rootfs.Kind {
	if m.Type == spec.MountVolume {
		return rootfs.Pin
	}
	return rootfs.Held
}

// protectedText lists what is protected, and what is not.
func protectedText(list []host.Protected, back []string) string {
	var present, absent, parts []string
	for _, p := range list {
		if p.Absent {
			absent = append(absent, p.Target)
		} else {
			present = append(present, p.Target)
		}
	}
	add := func(what string, targets []string) {
		for i, t := range targets {
			targets[i] = words.Quote(t)
		}
		if len(targets) > 0 {
			parts = append(parts, what+": "+strings.Join(targets, " "))
		}
	}
	add("read-only mounts", present)
	add("at absent paths", absent)
	add("taken back", slices.Clone(back))
	return strings.Join(parts, "; ")
}
