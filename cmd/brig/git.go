package main

import (
	"context"

	"brig/cmd/brig/internal/console"
	"brig/gitview"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/explain"
)

// gitDirs are the git directories that a run sees copy-on-write.
type gitDirs struct {
	inv  *invocation
	view *gitview.View // nil if there are none
	std  *console.Console
	note words.Text
}

// openGit prepares them.
func openGit(ctx context.Context, inv *invocation, std *console.Console) (g *gitDirs, err error) {
	g = &gitDirs{inv: inv, std: std}
	g.view, err = gitview.Prepare(ctx, &inv.spec)
	return g, err
}

// spec returns the Spec to start.
func (g *gitDirs) spec() nsjail.Spec {
	if g.view == nil {
		return g.inv.spec
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
	g.std.Say("%s", note.In(inFlags))
	next := runner.CommandSpec(ctx, g.view.Spec)
	next.Stdin, next.Stdout, next.Stderr, next.NetworkLog = c.Stdin, c.Stdout, c.Stderr, c.NetworkLog
	next.Spec.Limits = c.Spec.Limits
	return next
}

// plan returns the plan of a run, as brig explain shows it.
func (g *gitDirs) plan() (p *explain.Plan, host *explain.Host, err error) {
	for {
		s := g.spec()
		if host, err = explain.Look(&s); err == nil {
			if p, err = (&explain.Mode{Forked: true}).Resolve(&s, host); err == nil {
				g.view.Tell(p.Enforced)
				return p, host, nil
			}
			host.Close()
		}
		note, ok := g.view.Fallback(err)
		if !ok {
			return nil, nil, err
		}
		g.std.Say("%s", note.In(inFlags))
	}
}

// bringBack brings back what the run has written, and tells what has stayed behind. The code is 0 unless it failed.
func (g *gitDirs) bringBack(r *reported) (code int) {
	if g.note != "" {
		r.Notes = append(r.Notes, g.note)
	}
	g.view.Tell(r.Enforced)
	r.Git = g.view.BringBack(r.Result)
	for _, report := range r.Git {
		for _, line := range report.Lines() {
			if report.Error != "" || !g.inv.json {
				g.std.Say("%s", line.In(inFlags))
			}
		}
		if report.Error != "" {
			code = exitKept
		}
	}
	return code
}
