package spec

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"brig/internal/words"
)

// MaxProtected is the number of paths that a jail can protect.
const MaxProtected = 512

// checkProtect checks Spec.Protect: what it names must be in one of the mounts.
func checkProtect(entries []string, mounts []Mount) (c problems) {
	if len(entries) > MaxProtected {
		c.add("protect", fmt.Sprintf("%d is more than %d", len(entries), MaxProtected), "name a common directory instead")
		return c
	}
	for i, entry := range entries {
		field := Index("protect", i)
		p, back := strings.CutPrefix(entry, "!")
		switch {
		case entry == ProtectGit || !c.text(field, entry):
		case strings.HasPrefix(p, "@"):
			c.add(field, words.Quote(entry)+" is not a set of paths", "write "+ProtectGit+`, or "./`+p+`" for a file`)
		case !path.IsAbs(p):
			if clean := path.Clean(p); p == "" || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") {
				c.add(field, words.Quote(p)+" is not below a writable mount", `name what is in it, as in ".git/hooks"`)
			} else if c.cleanPath(field, "/"+strings.TrimPrefix(p, "./")) && !back &&
				!slices.ContainsFunc(mounts, func(m Mount) bool { return m.Writes() }) {
				c.refer(field, words.Quote(p)+" is relative, and no mount is writable",
					"add one with "+ShowWork("")+", or remove it")
			}
		case !c.cleanPath(field, p) || back:
		case below(mounts, p) < 0:
			c.add(field, words.Quote(p)+" is not below a writable bind, volume or cow",
				"protect what is in one, as in /work/.git")
		}
	}
	return c
}
