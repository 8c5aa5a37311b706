package repository

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// seeds are settings with what is odd in git's grammar.
var seeds = []string{"", "good\n", "[core]\nhooksPath = a\n", "[Core]HooksPath=\"a\"\"b\" # c\n", "[a \"b\\\"]c\"] d = e\\\n f ; g\n",
	"\ufeff[a.B]c\r\n=d", "[a]\nb = \"c\\t\\n\\\\\\\"\"\n", "[a]\nb = \"c\nd\"\n", "[a \"b\n\"]\n", "[a]b=c\\", "[a]\n\tb = c  d\t e \n",
	"[a]\nb = c\\x\n", "[a\n", "[a]]\n", "[]\nb=c\n", "[a \"b\"", "=x\n", "[a]\n-b = c\n", "[a]\nb-1 = c\n", "[a] b\n[c]d", "[a]b = \\\n\\\n c\n", "[a]b=c\vd\f\n"}

// FuzzSettings: the parser ends, and what it returns are names of settings.
func FuzzSettings(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, _ := parse(text)
		for _, s := range list {
			if s.name == "" || s.name != strings.ToLower(s.name) || s.section != strings.ToLower(s.section) || len(s.value) > len(text) {
				t.Errorf("%+v", s)
			}
		}
	})
}

// FuzzSettingsAsGit: what git lists is what the parser returns, and what git refuses the parser refuses.
func FuzzSettingsAsGit(f *testing.F) {
	if _, err := exec.LookPath("git"); err != nil {
		f.Skip("git is not installed")
	}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsRune(text, 0) {
			t.Skip() // the list of git's ends with it
		}
		file := filepath.Join(t.TempDir(), "config")
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
		cmd := exec.Command("git", "config", "--list", "-z", "--no-includes", "--file", file)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent", "LC_ALL=C"}
		out, err := cmd.Output()
		list, perr := parse(text)
		if err != nil {
			noSection := slices.ContainsFunc(list, func(s setting) bool { return s.section == "" })
			if perr == nil && !noSection { // the parser takes a name without one
				t.Errorf("git refuses %q: %v; parsed: %+v", text, err, list)
			}
			return
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if len(out) == 0 {
			want = nil
		}
		if perr != nil || len(list) != len(want) {
			t.Fatalf("%q: git %q, parsed %+v, %v", text, want, list, perr)
		}
		for i, s := range list {
			_, value, _ := strings.Cut(want[i], "\n")
			squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
			if key, _, _ := strings.Cut(want[i], "\n"); squeeze(value) != squeeze(s.value) ||
				!strings.HasPrefix(key, s.section) || !strings.HasSuffix(key, s.name) {
				t.Errorf("%q: git %q, parsed %+v", text, want[i], s)
			}
		}
	})
}
