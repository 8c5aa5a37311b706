package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// TestAgents: which of the agents on PATH would use brig, by the files alone.
func TestAgents(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	file := func(name, text string) {
		t.Helper()
		must.Do(t, os.MkdirAll(filepath.Dir(at(name)), 0o755))
		must.Do(t, os.WriteFile(at(name), []byte(text), 0o755))
	}
	brig := strings.Repeat("x", 1<<16-5) + mark // where two reads meet
	for _, name := range []string{"bin/srt", "bin/codex", "bin/gemini", "claude/claude"} {
		file(name, "")
	}
	file("first/brig", brig)
	file("copy/bwrap", brig)
	file("other/bwrap", "bubblewrap")
	for _, name := range []string{"link", "second", "chain"} {
		must.Do(t, os.Mkdir(at(name), 0o755))
	}
	must.Do(t, os.Symlink("../first/brig", at("link/bwrap")))
	must.Do(t, os.Link(at("first/brig"), at("second/bwrap")))
	must.Do(t, os.Symlink("../second/bwrap", at("chain/bwrap")))
	file("home/.srt-settings.json", `{"bwrapPath": "`+at("link/bwrap")+`"}`)
	file("home/.claude/settings.json", `{"sandbox": {"bwrapPath": "`+at("other/bwrap")+`"}}`)
	for _, c := range []struct {
		path, home string
		want       [][2]string // of each agent, whether it uses brig and a part of the text
	}{
		{"", "", [][2]string{{"no", "no bwrap is on PATH"}, {"no", "and it has one of its own"}, {"no", "no bwrap"}}},
		{"/copy", "", [][2]string{{"yes", "PATH, /copy/bwrap, which is brig"}, {"yes", ""}, {"yes", ""}}},
		{"/second:/other", "", [][2]string{{"yes", ""}, {"yes", ""}, {"yes", ""}}},
		{"/chain", "", [][2]string{{"yes", "(a link to /second/bwrap)"}, {"yes", ""}, {"yes", ""}}},
		{"/link", "", [][2]string{{"yes", ""}, {"no", "ln -f /first/brig /link/bwrap"}, {"yes", ""}}},
		{"/other:/second", "", [][2]string{{"no", "/other/bwrap, which is not brig"}, {"no", ""}, {"no", "make install BWRAP=1"}}},
		{"/claude:/second", "/home", [][2]string{{"yes", "/home/.srt-settings.json, /link/bwrap"},
			{"no", "/home/.claude/settings.json, /other/bwrap"}, {"yes", ""}, {"yes", ""}}},
	} {
		path := at("bin") + strings.ReplaceAll(":"+c.path, ":/", ":"+dir+"/")
		list := checkAgents(lookAgents(path, dir+c.home))
		if len(list) != len(c.want) {
			t.Fatalf("%q: %+v", c.path, list)
		}
		for i, x := range list {
			text, uses := strings.ReplaceAll((x.Why+" "+x.Fix).String(), dir, ""), "no"
			if x.State == Present && x.Fix == "" && strings.Contains(text, " uses brig: ") {
				uses = "yes"
			}
			if uses != c.want[i][0] || !strings.Contains(text, c.want[i][1]) {
				t.Errorf("%q, %s: %s, %q; want %q", c.path, x.Name, x.State, text, c.want[i])
			}
		}
	}
}
