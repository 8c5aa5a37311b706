package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"brig/internal/test/must"
)

var attackGroups = regexp.MustCompile("(?m)^Attacks: (`[a-z`, ]+`)[.]$")

// TestAttacksAreListed: THREATS.md lists every attack of the escape suite below its mitigation, by the word before the
// first hyphen of its name, and no word without an attack. The claims are in the table of testdata/escape.
func TestAttacksAreListed(t *testing.T) {
	groups := map[string]int{}
	for _, m := range attackGroups.FindAllStringSubmatch(read(t, "THREATS.md"), -1) {
		for group := range strings.SplitSeq(m[1], ", ") {
			groups[strings.Trim(group, "`")] = 0
		}
	}
	for _, name := range attacks(t) {
		group, _, _ := strings.Cut(strings.TrimSuffix(name, filepath.Ext(name)), "-")
		if _, listed := groups[group]; !listed {
			t.Errorf("THREATS.md has no mitigation for testdata/escape/%s; add its first word to a list", name)
		}
		groups[group]++
	}
	for group, n := range groups {
		if n == 0 {
			t.Errorf("THREATS.md lists attacks %q, and testdata/escape has none", group)
		}
	}
}

// attacks returns the attacks' file names. The first line of each makes a claim.
func attacks(t *testing.T) (list []string) {
	t.Helper()
	entries := must.Get(os.ReadDir(filepath.Join(root, "testdata", "escape")))(t)
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == "README.md" {
			continue
		}
		text := read(t, filepath.Join("testdata", "escape", e.Name()))
		if !strings.HasPrefix(text, "# ") && !strings.HasPrefix(text, "// ") {
			t.Errorf("testdata/escape/%s: the first line makes no claim", e.Name())
		}
		list = append(list, e.Name())
	}
	return list
}
