package gitview

import (
	"fmt"
	"slices"
	"strings"

	"brig/internal/words"
	"brig/nsjail/spec"
)

// Report is what has become of what a run has written to one git directory.
type Report struct {
	// Dir is the git directory, or the part of one that the run was shown, below its mount's source.
	Dir string `json:"dir"`
	// Target is where the payload saw it.
	Target string `json:"target"`
	// Files and Removed are the files that were brought to the host, and those that were removed there.
	Files   int `json:"files"`
	Removed int `json:"removed,omitempty"`
	// LeftBehind are the first of what did not come to the host, and Left is how many these are: hooks, settings, links
	// and everything else that is no data.
	LeftBehind []string `json:"left_behind,omitempty"`
	Left       int      `json:"left,omitempty"`
	// Conflicts are files that the host has changed while the payload ran, or holds a lock of git's on. They are the
	// host's.
	Conflicts []string `json:"conflicts,omitempty"`
	// ReadOnly is why the payload could write nothing there, if there is no view.
	ReadOnly string `json:"read_only,omitempty"`
	// Error is why not all data came to the host.
	Error string `json:"error,omitempty"`

	seen map[string]bool
}

const maxNamed = 100

// stay notes what stays behind.
func (r *Report) stay(name string) {
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	if r.seen[name] {
		return
	}
	r.Left++
	if len(r.seen) < maxNamed {
		r.seen[name] = true
		r.LeftBehind = append(r.LeftBehind, words.Printable(name))
	}
}

// conflict notes what the host has changed.
func (r *Report) conflict(name string) {
	if name = words.Printable(name); len(r.Conflicts) < maxNamed && !slices.Contains(r.Conflicts, name) {
		r.Conflicts = append(r.Conflicts, name)
	}
}

func (r *Report) empty() bool {
	return r.Files+r.Removed+r.Left+len(r.Conflicts) == 0 && r.Error == ""
}

// Lines returns what a user has to know, a line each; none if all has come to the host.
func (r *Report) Lines() (lines []words.Text) {
	dir, all := words.Printable(r.Dir), words.Set("git", spec.GitRW)
	if r.Error != "" {
		lines = append(lines, words.Textf("%s: not all of the run's commits could be kept: %s", dir, r.Error))
	}
	if r.ReadOnly != "" {
		lines = append(lines, words.Textf("%s: it was read-only, since %s; %s shows it writable", dir, r.ReadOnly, all))
	}
	if len(r.Conflicts) > 0 {
		lines = append(lines, words.Textf("%s: the host has changed %s while the command ran, and keeps its own; the run's "+
			"objects are there: git fsck --lost-found", dir, first(r.Conflicts, len(r.Conflicts))))
	}
	if r.Left > 0 {
		lines = append(lines, words.Textf("%s: %s stayed behind: only commits, branches and what belongs to them leave a "+
			"jail; %s keeps all", dir, first(r.LeftBehind, r.Left), all))
	}
	return lines
}

// first names the first of a list of n.
func first(list []string, n int) string {
	const most = 4
	text := strings.Join(list[:min(len(list), most)], ", ")
	if n > most {
		text += fmt.Sprintf(" and %d more", n-most)
	}
	return text
}
