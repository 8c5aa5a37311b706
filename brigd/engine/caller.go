package engine

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"strings"

	"brig/brigd/job"
	"brig/brigd/policy"
	"brig/brigd/workspace"
)

// Caller is who asks. The zero Caller may do what the engine's own policy allows, as agent "default".
type Caller struct {
	// Agent is whose sandboxes it sees. A Request's or SandboxRequest's Agent is taken only if this is "".
	Agent string
	// Grant is what a token allows; nil is no token.
	Grant *Grant
	// Counted means that the run is counted in the token's ledger already, by the brigd that put it into a queue.
	Counted bool
	// Rules are what the brigd demands that has taken the request; nil if it is this one.
	Rules *Rules
}

// Name returns the agent of a caller whose request names none: the caller's own, Local for the zero Caller, or
// "anybody" for a token that names no agent.
func (c Caller) Name() string {
	switch {
	case c.Agent != "":
		return c.Agent
	case c.Grant != nil:
		return "anybody"
	}
	return Local
}

// Key identifies a caller for per-caller limits. It is the Name, unless the first block of the caller's token names no
// agent. The holder of such a token chooses an agent for each request, and may narrow the token to any agent. Key then
// contains the id of that first block, which all tokens derived from it share. No agent can have such a name.
func (c Caller) Key() string {
	if c.Grant != nil && c.Grant.token.Blocks()[0].Agent == "" {
		return "token " + c.Grant.token.IDs()[0]
	}
	return c.Name()
}

// agent returns the agent whose sandboxes the caller may use.
func (c Caller) agent() string {
	if c.Agent == "" {
		return workspace.Any
	}
	return c.Agent
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

// ruled returns the policies of a caller's Rules.
func (c Caller) ruled() []*policy.Policy {
	if c.Rules == nil {
		return nil
	}
	return c.Rules.policies
}

// NewID returns a random name with 130 random bits, which cannot be guessed.
func NewID(kind string) string {
	return kind + "_" + strings.ToLower(rand.Text())
}
