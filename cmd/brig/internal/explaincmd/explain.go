// Package explaincmd has brig explain: the plan that brig run performs, its system-call filter, or its network.
package explaincmd

import (
	"context"

	"brig/cmd/brig/internal/console"
	"brig/cmd/brig/internal/rootimage"
	"brig/cmd/brig/internal/wish"
	"brig/gitview"
	"brig/internal/cli"
	egress "brig/netns/egress/policy"
	"brig/nsjail/explain"
	"brig/nsjail/spec"
)

// plan is the JSON form of explain.
type plan struct {
	Drop     []step               `json:"drop,omitempty"`
	Passed   []explain.Passed     `json:"passed,omitempty"`
	Clone    []string             `json:"clone"`
	Steps    []step               `json:"steps"`
	Wall     string               `json:"wall,omitempty"`
	Enforced map[string]spec.Text `json:"enforced"`
	Notes    []spec.Text          `json:"notes,omitempty"`
}

type step = explain.Step

// Explain is brig explain. It has no flags of its own.
type Explain struct{}

// Flags returns none.
func (*Explain) Flags() []cli.Flag { return nil }

// Run prints the plan that run would perform.
func (*Explain) Run(w *wish.Wish, _ rootimage.Root, std *console.Console) int {
	if w.Tables.Seccomp {
		return filterTable(w, std)
	}
	if w.Tables.Net {
		return policyText(w, std)
	}
	var p *explain.Plan
	var host *explain.Host
	err := w.Caches.Look(&w.Spec)
	if err == nil {
		p, host, err = planned(w, std)
	}
	if err != nil {
		return std.Fail(w.Describe(err, std.Words))
	}
	defer host.Close()
	w.Caches.Tell(p.Enforced)
	drop, steps := p.Steps()
	j := plan{Drop: drop, Passed: p.Passed, Clone: p.CloneFlags(), Steps: steps,
		Enforced: console.WordedAll(p.Enforced, std.Words), Notes: console.WordedEach(p.Notes, std.Words)}
	if p.Wall > 0 {
		j.Wall = p.Wall.String()
	}
	return std.Answer(w.Output.JSON, j, p.In(std.Words))
}

// planned returns the plan of a run, with the views of git directories that it would have.
func planned(w *wish.Wish, std *console.Console) (p *explain.Plan, host *explain.Host, err error) {
	view, err := gitview.Prepare(context.Background(), &w.Spec)
	if err != nil {
		return nil, nil, err
	}
	for _, note := range view.Notes() {
		std.Say("%s", note.In(std.Words))
	}
	for {
		s := w.Spec
		if view != nil {
			s = view.Spec
		}
		if host, err = explain.Look(&s); err == nil {
			if p, err = (&explain.Mode{Forked: true}).Resolve(&s, host); err == nil {
				view.Tell(p.Enforced)
				return p, host, nil
			}
			host.Close()
		}
		note, ok := view.Fallback(err)
		if !ok {
			return nil, nil, err
		}
		std.Say("%s", note.In(std.Words))
	}
}

// filterTable runs `brig explain --seccomp`.
func filterTable(w *wish.Wish, std *console.Console) int {
	table, err := explain.FilterTable(w.Spec.Seccomp, !w.Spec.NoInit)
	if err != nil {
		return std.Fail(w.Describe(err, std.Words))
	}
	return std.Emit(table)
}

// policyText runs `brig explain --net`: it prints the resulting policy, and its equivalents for other tools.
func policyText(w *wish.Wish, std *console.Console) int {
	p := w.Spec.Egress
	if p == nil {
		p = &egress.Policy{}
	}
	for _, n := range w.Notes {
		std.Say("%s", n)
	}
	table, nft, kubernetes := p.Table(), p.NFT(), p.Kubernetes("brig")
	answer := struct {
		Policy     *egress.Policy `json:"policy"`
		Rules      []egress.Row   `json:"rules"`
		NFT        string         `json:"nft"`
		Kubernetes string         `json:"kubernetes"`
	}{p, egress.Effective(p), nft, kubernetes}
	return std.Answer(w.Output.JSON, answer, table+"\n# the same for nft(8), as far as it can say it\n"+nft+
		"\n# the same for Kubernetes, as far as it can say it\n"+kubernetes)
}
