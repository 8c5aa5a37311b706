package cli

import "strings"

// Hint answers flags of other tools that people type by habit: the flags, with blanks between them and a * at the end
// for any rest, and what to write here instead, or why nothing is needed.
type Hint [2]string

// hint returns what to write instead of a flag of another tool, or "". The name has no value after =; of a short flag
// only the letter counts, since docker's may stand together, as in -it. nsjail writes _ for -.
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
