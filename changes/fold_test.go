package changes

import (
	"strings"
	"testing"
)

// What git itself keeps is one line, and what it would execute or follow is shown.
func TestFold(t *testing.T) {
	up := files{".git/objects/ab/cd": "x", ".git/HEAD": "ref: refs/heads/x\n", ".git/MERGE_MODE": "i", ".git/logs/HEAD": "l\n", "a": "a\n",
		".git/hooks/pre-commit": "evil\n", ".git/config": "[core]\n", ".git/MERGE_MSG": "->../a", "sub/.git/MERGE_MODE": "o\n",
		".git/objects/info/alternates": "/x\n", "index": "mine\n"}
	w := newWorld(t, files{}, up)
	set := w.capture()
	got := w.diff(set, DiffOptions{Fold: true})
	for _, part := range []string{"# .git: 10 changes of git's own data", "# sub/.git: 2 changes", "b/.git/hooks/pre-commit", "b/.git/config",
		"b/.git/MERGE_MSG", "b/.git/objects/info/alternates", "b/index", "b/a"} {
		if !strings.Contains(got, part) {
			t.Errorf("no %q in\n%s", part, got)
		}
	}
	if strings.Contains(got, "b/.git/HEAD") || !strings.Contains(w.diff(set, DiffOptions{Fold: true, Paths: []string{".git"}}), "b/.git/HEAD") {
		t.Error(got)
	}
}
