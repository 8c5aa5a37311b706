package gitview

import (
	"fmt"

	"brig/internal/words"
	"brig/nsjail/spec"
)

// Notes returns what the user has to know of the git directories before the start, a line each.
func (v *View) Notes() (notes []words.Text) {
	if v == nil || v.Spec.Repositories == nil {
		return nil
	}
	if list := v.Spec.Repositories.Unsearched; len(list) > 0 {
		p, more := list[0], ""
		if len(list) > 1 {
			more = fmt.Sprintf(" (and %d more)", len(list)-1)
		}
		notes = append(notes, words.Textf("git: %s %s%s; %s", words.Quote(p.Path), p.Why, more, p.Remedy))
	}
	if n := len(v.beyond); n > 0 {
		more := ""
		if n > 1 {
			more = fmt.Sprintf(" and %d more", n-1)
		}
		notes = append(notes, words.Textf("git: %s%s of %d git directories: read-only, since a jail has at most %d copies; ",
			words.Quote(v.beyond[0]), more, n+len(v.views), maxViews)+words.Set("git", spec.GitRW)+" shows them writable")
	}
	return notes
}

// Tell adds to what enforces each mechanism that git directories are views.
func (v *View) Tell(enforced map[string]words.Text) {
	if v == nil || len(v.views) == 0 || enforced == nil {
		return
	}
	text := words.Text("copies, whose data is brought back:")
	for _, w := range v.views {
		text += " " + words.Plain(words.Quote(w.target))
	}
	if was := enforced["protect"]; was != "" {
		text = was + "; " + text
	}
	enforced["protect"] = text
}
