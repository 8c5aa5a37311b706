package config

import (
	"cmp"

	"brig/brigd/internal/listen"
	"brig/internal/cli"
	"brig/internal/words"
)

// MCP are the settings of brigd mcp.
type MCP struct {
	HTTP          bool
	Tools         string
	OutputSchemas string // off or on
	Agent         string
}

func (m *MCP) flags() []cli.Flag {
	return []cli.Flag{
		{Name: "http", Path: "mcp.http", To: &m.HTTP,
			Help: "serve MCP by HTTP at /mcp, at --listen, instead of on stdin and stdout"},
		{Name: "tools", Path: "mcp.tools", Args: "FILE", To: &m.Tools,
			Help: "offer the tools that this YAML file declares, too: /usr/share/doc/brig/docs/tools.example.yaml is one; " +
				"gantz has the same form"},
		{Name: "output-schemas", Path: "mcp.output_schemas", Args: "off|on", To: &m.OutputSchemas, Words: []string{"off",
			"on"}, Help: "tell in the list of tools what form their structured content has, 34 KB more for each model to read"},
		{Name: "agent", Path: "mcp.agent", Args: "NAME", To: &m.Agent,
			Help: "the agent for which the client on stdin acts; $BRIGD_TOKEN, a capability token, may name it and bounds it"},
	}
}

func (m *MCP) check(g given, command string) error {
	return cmp.Or(
		g.useless(command == "mcp" && !m.HTTP,
			" is about sockets, and MCP is served on stdin and stdout; add --http, or leave it out",
			"listen", "allow_uids", "auth.api_key_file", "auth.require_token", "tls.cert", "http.hosts", "http.origins",
			"http.port_host"),
		g.useless(m.HTTP, " is for stdin and stdout; by HTTP the socket, key or token says who asks: leave it out",
			"mcp.agent"),
		wrong(m.Agent != "" && !listen.GoodAgent(m.Agent), "mcp.agent",
			": %s is no agent's name; write letters, digits and . _ -, beginning with a letter or digit, at most 64",
			words.Quote(m.Agent)))
}
