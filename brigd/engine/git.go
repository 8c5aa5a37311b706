package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"brig/brigd/job"
	"brig/gitview"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
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

// gitKey is the context key of a *[]GitDir, which the innermost Executor fills.
type gitKey struct{}

// execute runs a Job, and returns what has become of git directories of its shares.
func (e *Engine) execute(ctx context.Context, j *job.Job) (res *nsjail.Result, git []GitDir, err error) {
	res, err = e.chain.Execute(context.WithValue(ctx, gitKey{}, &git), j)
	return res, git, err
}

// runGit runs a Job with views of the git directories of its writable shares.
func (e *Engine) runGit(ctx context.Context, j *job.Job) (*nsjail.Result, error) {
	run := func(s *nsjail.Spec) (*nsjail.Result, error) {
		inner := *j
		inner.Spec = *s
		res, err := e.jails.Execute(ctx, &inner)
		j.PlanDigest = inner.PlanDigest
		return res, err
	}
	if j.Verdict.Refusal != nil {
		return e.jails.Execute(ctx, j)
	}
	res, list, note, err := gitview.Run(ctx, &j.Spec, run)
	if note != "" && res != nil {
		res.Enforced["git"] = words.Plain(note)
	}
	if to, ok := ctx.Value(gitKey{}).(*[]GitDir); ok {
		for _, r := range list {
			if r.ReadOnly != "" {
				res.Enforced["git"] = words.Plain(r.Target + " is read-only: " + r.ReadOnly)
				continue
			}
			*to = append(*to, GitDir{r.Target, r.Files, r.Removed, r.LeftBehind, r.Left, r.Conflicts, e.hide(r.Error)})
		}
	}
	return res, err
}

// foreign reports whether a text names a path of the host, in quotation marks, that is none of the jail's.
func foreign(text string, shown []Mount) bool {
	for _, part := range strings.Split(text, `"/`)[1:] {
		name, _, _ := strings.Cut("/"+part, `"`)
		if !slices.ContainsFunc(shown, func(m Mount) bool { return sys.Under(name, m.Target) }) {
			return true
		}
	}
	return false
}
