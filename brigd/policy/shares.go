package policy

import (
	"cmp"
	"slices"
	"strings"

	"brig/brigd/job"
	"brig/nsjail"
)

// ShareModes are the modes of a share, each allowing more than the one before it: read-only, a copy whose changes are
// kept apart, and writable.
var ShareModes = []string{"ro", "cow", "rw"}

// highest returns the highest of ShareModes that is allowed for a share, or "" for none.
func (f *fileRules) highest(name string) (mode string) {
	most := -1
	for _, entry := range f.shares {
		of, ceiling, _ := strings.Cut(entry, ":")
		if of == name || of == Any {
			most = max(most, slices.Index(ShareModes, cmp.Or(ceiling, ShareModes[len(ShareModes)-1])))
		}
	}
	switch {
	case open(f.rule, f.shares):
		return ShareModes[len(ShareModes)-1]
	case most < 0:
		return ""
	}
	return ShareModes[most]
}

// ShareMode returns the mode in which a mount of a share shows it.
func ShareMode(m *nsjail.Mount) string {
	switch {
	case m.Writable:
		return "rw"
	case m.Type == nsjail.MountCOW:
		return "cow"
	}
	return "ro"
}

// share checks a mount of a share. The paths of the policy say nothing about it: the operator has named the directory.
func (f *fileRules) share(field string, m *nsjail.Mount) *job.Refusal {
	name, mode := m.Held.Name, ShareMode(m)
	switch most := f.highest(name); {
	case most == "":
		return f.refusal("shares", "share_not_allowed", field+": the share "+name+" is not allowed",
			"Use one of the allowed shares: "+orNone(f.shares)+".")
	case slices.Index(ShareModes, mode) > slices.Index(ShareModes, most):
		return f.refusal("shares", "share_not_allowed",
			field+": the share "+name+" is allowed as "+most+", and not as "+mode, `Ask for it with "mode": "`+most+`".`)
	}
	return nil
}

// validShare reports whether s is an entry of Policy.Shares.
func validShare(s string) bool {
	name, mode, with := strings.Cut(s, ":")
	return (name == Any || ValidShareName(name)) && (!with || slices.Contains(ShareModes, mode))
}

// ValidShareName reports whether s can name a share: 1 to 32 lower-case letters, digits, '-' and '_', beginning with a
// letter or digit.
func ValidShareName(s string) bool {
	ok := func(r rune) bool { return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '_' }
	return s != "" && len(s) <= 32 && !strings.ContainsFunc(s, func(r rune) bool { return !ok(r) }) &&
		s[0] != '-' && s[0] != '_'
}
