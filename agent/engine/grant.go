package engine

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"brig/agent/policy"
	"brig/agent/token"
	"brig/agent/workspace"
	"brig/nsjail"
)

// Grant is what a verified capability token allows.
type Grant struct {
	token    *token.Token
	policies []*policy.Policy
}

// id names the token in logs; "" where there is none.
func (g *Grant) id() string {
	if g == nil {
		return ""
	}
	return g.token.ID()
}

// policiesOf are those that must all allow what a caller asks for.
func (e *Engine) policiesOf(c Caller) []*policy.Policy {
	if c.Grant == nil {
		return e.opts.Policies
	}
	return append(slices.Clone(e.opts.Policies), c.Grant.policies...)
}

// each returns the first refusal of the policies.
func (e *Engine) each(c Caller, ask func(*policy.Policy) *nsjail.Refusal) *nsjail.Refusal {
	for _, p := range e.policiesOf(c) {
		if no := ask(p); no != nil {
			return no
		}
	}
	return nil
}

// decide asks every policy.
func (e *Engine) decide(c Caller, j *nsjail.Job, r *Request) {
	policy.DecideAll(j, e.policiesOf(c)...)
	sizes := fileSizes(r.Files)
	if no := e.each(c, func(p *policy.Policy) *nsjail.Refusal {
		if no := p.CheckStdin(int64(len(r.Stdin))); no != nil {
			return no
		}
		return p.CheckFiles(sizes)
	}); no != nil {
		j.Refuse(no)
	}
}

func fileSizes(files map[string]File) []int64 {
	sizes := make([]int64, 0, len(files))
	for _, f := range files {
		sizes = append(sizes, int64(len(f.Data)))
	}
	slices.Sort(sizes) // the same refusal for the same request
	return sizes
}

// spend counts the run of the token, after everything else has allowed it.
func (e *Engine) spend(c Caller, j *nsjail.Job) {
	if c.Grant == nil || j.Verdict.Refusal != nil {
		return
	}
	if err := e.opts.Ledger.Spend(c.Grant.token, time.Now()); err != nil {
		j.Refuse(asRefusal(err, "token", "token_refused"))
	}
}

// bounded ends a stream of standard input where the policies' stdin_bytes end.
func (e *Engine) bounded(c Caller, in io.Reader) io.Reader {
	for _, p := range e.policiesOf(c) {
		if n := int64(p.Inputs.StdinBytes); n > 0 {
			in = io.LimitReader(in, n)
		}
	}
	return in
}

// Local is the agent of a caller who says nothing of one and has no token; "uid-" and a number are other local users. A
// token stands for neither.
const Local = "default"

// agentOf returns on whose behalf a request is: the token's agent, or else the caller's.
func agentOf(c Caller, asked string) (string, *nsjail.Refusal) {
	agent := c.Agent
	switch {
	case agent == "" && asked == "" && c.Grant == nil:
		return Local, nil
	case agent == "" && asked == "":
		agent = anybody
	case agent == "":
		agent = asked
	case asked != "" && asked != agent:
		return "", &nsjail.Refusal{Message: "the request names another agent than its token", Code: "other_agent",
			Layer: "auth", Rule: "agent_id",
			NextSteps: []string{"leave agent_id out"}}
	}
	if c.Grant != nil && (agent == Local || strings.HasPrefix(agent, "uid-")) {
		return "", &nsjail.Refusal{Message: fmt.Sprintf("the agent %q is a local caller, whom no token stands for", agent),
			Code: "agent_reserved", Layer: "auth", Rule: "agent_id",
			NextSteps: []string{"name another agent"}}
	}
	if err := workspace.CheckAgent(agent); err != nil {
		return "", asRefusal(err, "request", "bad_agent")
	}
	return agent, nil
}

// asRefusal returns an error as a Refusal: the one that it wraps, or a new one. It returns nil for nil.
func asRefusal(err error, layer, code string) *nsjail.Refusal {
	var no *nsjail.Refusal
	if err == nil || errors.As(err, &no) {
		return no
	}
	return &nsjail.Refusal{Message: err.Error(), Code: code, Layer: layer}
}

// IDs are the ids of the token's blocks, the first one's first: those of a token that it was made from are their
// beginning.
func (g *Grant) IDs() []string {
	if g == nil {
		return nil
	}
	return g.token.IDs()
}

// Covers reports whether the grant's holder may act for the token with this chain of ids: it is the grant's own token,
// or one made from it. Without a grant every chain is covered.
func (g *Grant) Covers(chain []string) bool {
	own := g.IDs()
	return len(own) <= len(chain) && slices.Equal(own, chain[:len(own)])
}
