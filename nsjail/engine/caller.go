package engine

// anybody is the agent of a token for any agent that does not say which.
const anybody = "anybody"

// Name is the agent of a caller who asks without naming one: its own, Local for the zero Caller, and "anybody" for a token
// that leaves the agent open.
func (c Caller) Name() string {
	switch {
	case c.Agent != "":
		return c.Agent
	case c.Grant != nil:
		return anybody
	}
	return Local
}

// Key is what bounds on one caller are counted by: its Name, unless it comes with a token whose first block names no agent.
// The holder of such a token chooses an agent for each request, and may narrow the token to any agent: Key is then made of
// the id of that first block, which all of its tokens share. No agent has such a name.
func (c Caller) Key() string {
	if c.Grant != nil && c.Grant.token.Blocks()[0].Agent == "" {
		return "token " + c.Grant.token.IDs()[0]
	}
	return c.Name()
}
