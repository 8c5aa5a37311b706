package engine

import (
	"fmt"
	"strings"
)

// GitDir is what has become of what a run has written to a git directory of a writable share: the run had a copy of it,
// and only data comes back, such as commits and branches.
type GitDir struct {
	// Target is where the run saw it.
	Target string `json:"target"`
	// Files and Removed are how many files were written and removed in the share.
	Files   int `json:"files"`
	Removed int `json:"removed,omitempty"`
	// LeftBehind are the first of what is no data, such as hooks, settings and links, and Left is how many these are.
	LeftBehind []string `json:"left_behind,omitempty"`
	Left       int      `json:"left,omitempty"`
	// Conflicts are files that somebody else has changed meanwhile.
	Conflicts []string `json:"conflicts,omitempty"`
	// Error is why not all data came to the share.
	Error string `json:"error,omitempty"`
}

// String returns what a caller has to know, a line for each thing; "" if all has come to the share.
func (g *GitDir) String() (text string) {
	if g.Left > 0 {
		text = fmt.Sprintf("Only commits, branches and the like are kept of %s, not %s.\n", g.Target,
			few(g.LeftBehind, g.Left))
	}
	if len(g.Conflicts) > 0 {
		text += fmt.Sprintf("Somebody else has changed these of %s meanwhile, and they stay so: %s.\n", g.Target,
			few(g.Conflicts, len(g.Conflicts)))
	}
	if g.Error != "" {
		text += fmt.Sprintf("Not all commits of %s could be kept: %s.\n", g.Target, g.Error)
	}
	return text
}

// few names the first of a list of n.
func few(list []string, n int) string {
	const most = 8
	text := strings.Join(list[:min(len(list), most)], ", ")
	if n > most {
		text += fmt.Sprintf(" and %d more", n-most)
	}
	return text
}
