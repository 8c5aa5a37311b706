package spec

import (
	"fmt"
	"strings"

	"brig/internal/words"
)

// MaxMounts is how many mounts a Spec has at most.
const MaxMounts = 128

// checkMounts checks each mount by itself, and then its target against those of the mounts before it.
func checkMounts(mounts []Mount) (c problems) {
	if len(mounts) > MaxMounts {
		c.add("mounts", fmt.Sprintf("%d is more than %d", len(mounts), MaxMounts), "bind a common parent directory instead")
		return c
	}
	data := 0
	for i, m := range mounts {
		if data += len(m.Content); data > maxData {
			c.add("mounts", fmt.Sprintf("their contents are more than %s together", Bytes(maxData)), "bind files instead")
			return c
		}
		field := Index("mounts", i)
		c = append(c, checkMount(field, m)...)
		target := checkTarget(field+".target", m)
		if c = append(c, target...); len(target) == 0 {
			c = append(c, checkOverlap(mounts, i)...)
		}
	}
	return c
}

// checkOverlap rejects a target that an earlier mount has, and a mount that would hide an earlier one.
func checkOverlap(mounts []Mount, i int) (c problems) {
	field, m := Index("mounts", i)+".target", mounts[i]
	for j, earlier := range mounts[:i] {
		if earlier.Target == m.Target {
			c.add(field, words.Quote(m.Target)+" is already the target of "+Index("mounts", j), "remove one of the two")
			return c
		}
		if m.Type != MountDir && strings.HasPrefix(earlier.Target, m.Target+"/") {
			c.add(field, fmt.Sprintf("%s would hide %s of %s", words.Quote(m.Target), words.Quote(earlier.Target),
				Index("mounts", j)),
				"put it before that one")
			return c
		}
	}
	return c
}

// checkTarget checks the target of a mount by itself.
func checkTarget(field string, m Mount) (c problems) {
	switch {
	case !c.text(field, m.Target) || !c.cleanPath(field, m.Target):
	case m.Target == "/":
		c.add(field, `"/" is the root itself`, "use rootfs, or a target below /")
	case m.Target == "/dev/shm" && m.Type == MountTmpfs: // it changes the size of /dev/shm
	default:
		for _, reserved := range []string{"/proc", "/dev", "/sys"} {
			if m.Target == reserved || strings.HasPrefix(m.Target, reserved+"/") {
				c.add(field, words.Quote(m.Target)+" is reserved: the jail makes its own "+reserved, "choose another target")
			}
		}
	}
	return c
}
