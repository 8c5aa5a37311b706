package engine

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"brig/brigd/job"
	"brig/brigd/policy"
	"brig/brigd/token"
	"brig/brigd/workspace"
)

// Grant is what a verified capability token allows.
type Grant struct {
	token    *token.Token
	policies []*policy.Policy
}

// id returns the token's id for logs, or "" without a token.
func (g *Grant) id() string {
	if g == nil {
		return ""
	}
	return g.token.ID()
}

// policiesOf returns the policies that must all allow a caller's request.
func (e *Engine) policiesOf(c Caller) []*policy.Policy {
	if c.Grant == nil && c.Rules == nil {
		return e.opts.Policies
	}
	list := slices.Concat(e.opts.Policies, c.ruled())
	if c.Grant != nil {
		list = append(list, c.Grant.policies...)
	}
	return list
}

// each returns the first refusal by a policy.
func (e *Engine) each(c Caller, ask func(*policy.Policy) *job.Refusal) *job.Refusal {
	for _, p := range e.policiesOf(c) {
		if no := ask(p); no != nil {
			return no
		}
	}
	return nil
}

// decide checks and narrows a Job by all policies.
func (e *Engine) decide(c Caller, j *job.Job, r *Request) {
	policy.DecideAll(j, e.policiesOf(c)...)
	if no := e.checkInputs(c, r.Stdin, r.Files); no != nil {
		j.Refuse(no)
	}
	e.show(j)
}

// checkInputs returns the first refusal of a request's inputs by a policy.
func (e *Engine) checkInputs(c Caller, stdin string, files map[string]File) *job.Refusal {
	sizes := make([]int64, 0, len(files))
	for _, f := range files {
		sizes = append(sizes, int64(len(f.Data)))
	}
	slices.Sort(sizes) // the same refusal for the same request
	return e.each(c, func(p *policy.Policy) *job.Refusal {
		return cmp.Or(p.CheckStdin(int64(len(stdin))), p.CheckFiles(sizes))
	})
}

// spend counts the run in the token's ledger. It is called after all other checks have passed.
func (e *Engine) spend(c Caller, j *job.Job) {
	if c.Counted || j.Verdict.Refusal != nil {
		return
	}
	if no := e.Count(c); no != nil {
		j.Refuse(no)
	}
}

// Count counts a run in the ledger of the caller's token, if there is one. Run does it unless the Caller is Counted.
func (e *Engine) Count(c Caller) *job.Refusal {
	if c.Grant == nil {
		return nil
	}
	return asRefusal(e.opts.Ledger.Spend(c.Grant.token, time.Now()), "token", "token_refused")
}

// Bearer returns the token itself, which is secret, or "" without one.
func (g *Grant) Bearer() string {
	if g == nil {
		return ""
	}
	return g.token.Text()
}

// bounded limits a stream of standard input to the stdin_bytes of the policies.
func (e *Engine) bounded(c Caller, in io.Reader) io.Reader {
	for _, p := range e.policiesOf(c) {
		if n := int64(p.Inputs.StdinBytes); n > 0 {
			in = io.LimitReader(in, n)
		}
	}
	return in
}

// Local is the agent of a request that names none, from a caller without a token or name. "uid-" and a number are other
// local users. A token cannot act for these agents.
const Local = "default"

// agentOf returns the agent of a request: the token's agent, or else the one that the request names.
func agentOf(c Caller, asked string) (string, *job.Refusal) {
	if c.Agent != "" && asked != "" && asked != c.Agent {
		return "", refuse("auth", "other_agent", "agent_id", "the request names another agent than its token",
			"leave agent_id out")
	}
	agent := cmp.Or(c.Agent, asked, c.Name())
	if c.Grant != nil && (agent == Local || strings.HasPrefix(agent, "uid-")) {
		return "", refuse("auth", "agent_reserved", "agent_id",
			fmt.Sprintf("the agent %q is a local caller, whom no token stands for", agent), "name another agent")
	}
	if err := workspace.CheckAgent(agent); err != nil {
		return "", asRefusal(err, "request", "bad_agent")
	}
	return agent, nil
}

func refuse(layer, code, rule, message string, next ...string) *job.Refusal {
	return &job.Refusal{Message: message, Code: code, Layer: layer, Rule: rule, NextSteps: next}
}

// asRefusal converts an error to a Refusal: the one that it wraps, or a new one. It returns nil for nil.
func asRefusal(err error, layer, code string) *job.Refusal {
	var no *job.Refusal
	if err == nil || errors.As(err, &no) {
		return no
	}
	return refuse(layer, code, "", err.Error())
}

// IDs returns the ids of the token's blocks, the first one's first. They begin with the ids of the token from which it
// was derived.
func (g *Grant) IDs() []string {
	if g == nil {
		return nil
	}
	return g.token.IDs()
}

// Covers reports whether the holder may act for the token with this chain of ids: the grant's own token, or one derived
// from it. Without a grant, every chain is covered.
func (g *Grant) Covers(chain []string) bool {
	own := g.IDs()
	return len(own) <= len(chain) && slices.Equal(own, chain[:len(own)])
}
