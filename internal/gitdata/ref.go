package gitdata

import "strings"

// MaxText bounds the files whose text Bad checks, in bytes.
const MaxText = 1 << 16

// Bad returns why a text must not come to the host, or "". A symbolic reference ("ref: NAME") makes git write to the
// file NAME, so that it has to name one below refs. git opens and removes the files that a list of tables names.
func (t Text) Bad(text string) string {
	target, symbolic := strings.CutPrefix(text, "ref:")
	switch {
	case t == Any:
	case t == Tables:
		for line := range strings.Lines(text) {
			base, ok := strings.CutSuffix(strings.TrimRight(line, "\n"), ".ref")
			if !ok || strings.Trim(base, "0123456789abcdefx-") != "" {
				return "it names what is no table of references"
			}
		}
	case symbolic && !isRef(strings.Trim(target, " \t\r\n")):
		return "it is a reference to what is none"
	case !symbolic && t == ValidHead && !isHash(strings.TrimRight(text, "\n")):
		return "it is no HEAD"
	}
	return ""
}

// isRef reports whether a name below refs can be that of a reference: git-check-ref-format(1).
func isRef(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return strings.HasPrefix(name, "refs/") && !strings.Contains(name, "..") && !strings.HasSuffix(name, ".") &&
		strings.IndexFunc(name, func(r rune) bool { return r <= ' ' || strings.ContainsRune("\x7f~^:?*[\\", r) }) < 0
}
