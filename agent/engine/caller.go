package engine

// anybody is the agent of a caller whose token names none and who names none.
const anybody = "anybody"

// Name is the agent of a caller who names none in the request: the caller's own, Local for the zero Caller, or
// "anybody" for a token that names no agent.
func (c Caller) Name() string {
	switch {
	case c.Agent != "":
		return c.Agent
	case c.Grant != nil:
		return anybody
	}
	return Local
}

// Key identifies a caller for the bounds on one caller: its Name, unless it has a token whose first block names no
// agent. The holder of such a token chooses an agent for each request, and may narrow the token to any agent. Key is
// then made of the id of that first block, which all tokens derived from it share. No agent has such a name.
func (c Caller) Key() string {
	if c.Grant != nil && c.Grant.token.Blocks()[0].Agent == "" {
		return "token " + c.Grant.token.IDs()[0]
	}
	return c.Name()
}
