package main

import (
	"brig/nsjail"
)

// plan is the JSON form of explain.
type plan struct {
	Drop     []step            `json:"drop,omitempty"`
	Passed   []nsjail.Passed   `json:"passed,omitempty"`
	Clone    []string          `json:"clone"`
	Steps    []step            `json:"steps"`
	Wall     string            `json:"wall,omitempty"`
	Enforced map[string]string `json:"enforced"`
	Notes    []string          `json:"notes,omitempty"`
}

type step = nsjail.Step

// explain is `brig explain`: the same plan that run performs.
func explain(inv *invocation, std stdio) int {
	if inv.seccompTable {
		return filterTable(inv, std)
	}
	if inv.netTable {
		return policyText(inv, std)
	}
	host, err := nsjail.Look(&inv.spec)
	if err != nil {
		return fail(std, describe(inv, err))
	}
	defer host.Close()
	p, err := runMode(inv.args).Resolve(&inv.spec, host)
	if err != nil {
		return fail(std, describe(inv, err))
	}
	if !inv.json {
		return emit(std, p.String())
	}
	drop, steps := p.Steps()
	j := plan{Drop: drop, Passed: p.Passed, Clone: p.CloneFlags(), Steps: steps, Enforced: p.Enforced, Notes: p.Notes}
	if p.Wall > 0 {
		j.Wall = p.Wall.String()
	}
	if err := writeJSON(std.out, j); err != nil {
		return fail(std, "cannot write to stdout: "+reason(err))
	}
	return 0
}

// filterTable is `brig explain --seccomp`.
func filterTable(inv *invocation, std stdio) int {
	table, err := nsjail.FilterTable(inv.spec.Seccomp)
	if err != nil {
		return fail(std, describe(inv, err))
	}
	return emit(std, table)
}
