package main

import (
	"context"

	"brig/cmd/brig/internal/console"
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

// printPlan runs `brig explain`: it prints the plan that run would perform.
func printPlan(inv *invocation, std *console.Console) int {
	if inv.seccompTable {
		return filterTable(inv, std)
	}
	if inv.netTable {
		return policyText(inv, std)
	}
	git, err := openGit(context.Background(), inv, std)
	if err != nil {
		return std.Fail(describe(inv, err))
	}
	p, host, err := git.plan()
	if err != nil {
		return std.Fail(describe(inv, err))
	}
	defer host.Close()
	drop, steps := p.Steps()
	j := plan{Drop: drop, Passed: p.Passed, Clone: p.CloneFlags(), Steps: steps, Enforced: inFlagsAll(p.Enforced),
		Notes: inFlagsEach(p.Notes)}
	if p.Wall > 0 {
		j.Wall = p.Wall.String()
	}
	return std.Answer(inv.json, j, p.In(inFlags))
}

// filterTable runs `brig explain --seccomp`.
func filterTable(inv *invocation, std *console.Console) int {
	table, err := explain.FilterTable(inv.spec.Seccomp, !inv.spec.NoInit)
	if err != nil {
		return std.Fail(describe(inv, err))
	}
	return std.Emit(table)
}
