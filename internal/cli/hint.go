package cli

import "strings"

// Hint describes flags of other tools that people type by habit. The first element has the flags, separated by blanks;
// a * at the end matches any suffix. The second tells what to write instead, or why nothing is needed.
type Hint [2]string

// hint returns what to write instead of a flag of another tool, or "". The name has no value after =. Of a short flag
// only the letter is compared, since docker's can be combined, as in -it. nsjail uses _ for -.
func (t *Table) hint(name string) string {
	if t.Hints == nil {
		return ""
	}
	if !strings.HasPrefix(name, "--") && len(name) > 2 {
		name = name[:2]
	}
	name = strings.ReplaceAll(name, "_", "-")
	for _, h := range t.Hints() {
		for f := range strings.FieldsSeq(h[0]) {
			if start, open := strings.CutSuffix(f, "*"); f == name || open && strings.HasPrefix(name, start) {
				return h[1]
			}
		}
	}
	return ""
}
