package engine

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
