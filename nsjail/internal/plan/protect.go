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
func (x *mounts) protect() {
	list := slices.Clone(x.host.Protected)
	slices.SortStableFunc(list, func(a, b host.Protected) int { return cmp.Compare(a.Target, b.Target) })
	for i := range list {
		p := &list[i]
		m := &x.Mounts[p.Mount]
		for at := len(m.Target) + 1; ; at++ { // the directories above it, from the mount downwards
			n := strings.IndexByte(p.Target[at:], '/')
			if n < 0 {
				break
			}
			at += n
			x.hold(rootfs.Entry{Kind: kindIn(m), Label: "protect", Target: strings.TrimPrefix(p.Target[:at], "/")})
		}
		x.hold(rootfs.Entry{Kind: kindIn(m), Label: "protect", Target: strings.TrimPrefix(p.Target, "/"), Attr: attrRead})
	}
	if len(list) > 0 {
		x.out.enforced["protect"] = words.Plain(protectedText(list, x.host.Unprotected))
	}
	if why := x.host.Missing["protect"]; why != "" {
		own := x.out.enforced["protect"]
		if x.out.require(x.Spec, "protect", "", why, ""); own != "" {
			x.out.enforced["protect"] += "; but brig's own directories, as " + own
		}
	}
}

// kindIn returns the kind of entry in a mount. What a volume holds is not known, so a missing directory is made.
func kindIn(m *spec.Mount) rootfs.Kind {
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
