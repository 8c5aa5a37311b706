package runcmd

import (
	"context"

	"brig/cmd/brig/internal/console"
	"brig/cmd/brig/internal/report"
	"brig/cmd/brig/internal/verdict"
	"brig/gitview"
	"brig/internal/words"
	"brig/nsjail"
)

// gitDirs are the git directories that a run sees copy-on-write.
type gitDirs struct {
	asked *nsjail.Spec
	view  *gitview.View // nil if there are none
	std   *console.Console
	note  words.Text
}

// openGit prepares them, and tells what has to be known of them.
func openGit(ctx context.Context, asked *nsjail.Spec, std *console.Console) (g *gitDirs, err error) {
	g = &gitDirs{asked: asked, std: std}
	g.view, err = gitview.Prepare(ctx, asked)
	for _, note := range g.view.Notes() {
		std.Say("%s", note.In(std.Words))
	}
	return g, err
}

// spec returns the Spec to start.
func (g *gitDirs) spec() nsjail.Spec {
	if g.view == nil {
		return *g.asked
	}
	return g.view.Spec
}

// again returns the command for a second start, with read-only git directories, if err is why no overlay can be made of
// them, or nil.
func (g *gitDirs) again(ctx context.Context, runner *nsjail.Runner, c *nsjail.Cmd, err error) *nsjail.Cmd {
	note, ok := g.view.Fallback(err)
	if !ok {
		return nil
	}
	g.note = note
	g.std.Say("%s", note.In(g.std.Words))
	next := runner.CommandSpec(ctx, g.view.Spec)
	next.Stdin, next.Stdout, next.Stderr, next.NetworkLog = c.Stdin, c.Stdout, c.Stderr, c.NetworkLog
	next.Spec.Limits = c.Spec.Limits
	return next
}

// bringBack brings back what the run has written, and tells what has stayed behind unless it is to be quiet. The code
// is 0 unless it failed.
func (g *gitDirs) bringBack(r *report.Report, quiet bool) (code int) {
	if g.note != "" {
		r.Notes = append(r.Notes, g.note)
	}
	g.view.Tell(r.Enforced)
	r.Git = g.view.BringBack(r.Result)
	for _, dir := range r.Git {
		for _, line := range dir.Lines() {
			if dir.Error != "" || !quiet {
				g.std.Say("%s", line.In(g.std.Words))
			}
		}
		if dir.Error != "" {
			code = verdict.ExitKept
		}
	}
	return code
}
