package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/golden"
	"brig/internal/test/must"
)

var section = regexp.MustCompile(`(?s)(<!-- attacks: ([a-z ]+) -->\n).*?(<!-- end -->)`)

// TestAttacksAreListed: THREATS.md lists every attack of the escape suite below its mitigation, by the words before the
// first hyphen of its name, with the claim that its first line makes.
func TestAttacksAreListed(t *testing.T) {
	claims := attacks(t)
	threats := read(t, "THREATS.md")
	listed := map[string]bool{}
	want := section.ReplaceAllStringFunc(threats, func(s string) string {
		m := section.FindStringSubmatch(s)
		var b strings.Builder
		b.WriteString(m[1] + "| attack | claim |\n|---|---|\n")
		for _, group := range strings.Fields(m[2]) {
			for _, a := range claims {
				name := strings.TrimSuffix(a[0], filepath.Ext(a[0]))
				if first, _, _ := strings.Cut(name, "-"); first == group {
					listed[a[0]] = true
					b.WriteString("| [" + name + "](testdata/escape/" + a[0] + ") | " + strings.ReplaceAll(a[1], "|", `\|`) + " |\n")
				}
			}
		}
		return b.String() + m[3]
	})
	for _, a := range claims {
		if !listed[a[0]] {
			t.Errorf("THREATS.md has no mitigation for testdata/escape/%s; add its first word to a list", a[0])
		}
	}
	if want == threats {
		return
	}
	if !golden.Update() {
		t.Error("THREATS.md does not list the attacks as they are; run go test ./internal/lint -update")
		return
	}
	must.Do(t, os.WriteFile(filepath.Join(root, "THREATS.md"), []byte(want), 0o644))
}

// attacks returns each attack's file name and claim, sorted.
func attacks(t *testing.T) (list [][2]string) {
	t.Helper()
	dir := filepath.Join(root, "testdata", "escape")
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == "README.md" {
			continue
		}
		first, _, _ := strings.Cut(read(t, filepath.Join("testdata", "escape", e.Name())), "\n")
		claim, ok := strings.CutPrefix(first, "# ")
		if !ok {
			claim, ok = strings.CutPrefix(first, "// ")
		}
		if !ok {
			t.Errorf("testdata/escape/%s: the first line makes no claim", e.Name())
		}
		list = append(list, [2]string{e.Name(), claim})
	}
	slices.SortFunc(list, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return list
}
