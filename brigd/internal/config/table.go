package config

import (
	"slices"

	"brig/internal/cli"
)

// table returns the flags of a command, serve or mcp, in the order of help. They set fields of c.
func table(c *Config, command string) []cli.Flag {
	list := slices.Concat(
		cli.InGroup("Sockets", slices.Concat(c.Sockets.flags(), c.HTTP.flags())),
		cli.InGroup("Rules", slices.Concat(c.Rules.flags(), c.Audit.flags(), stateFlags(&c.StateDir))),
		cli.InGroup("Jails", slices.Concat(c.Jails.flags(), c.Warm.flags(), c.Shares.flags(), c.Images.flags(),
			c.Languages.flags(), c.Runs.flags())),
		cli.InGroup("Sandboxes", c.Sandboxes.flags()), cli.InGroup("Callers", c.Gate.flags()),
		cli.InGroup("Operation", c.Operation.flags()), cli.InGroup("Queue", c.JetStream.flags()))
	if command == "mcp" {
		list = append(list, cli.InGroup("MCP", c.MCP.flags())...)
	}
	for i := range list {
		c.given.complete(&list[i])
	}
	read := func([]string) error { return nil } // Parse has read it
	return append(list, cli.Flag{Name: "config", Args: "FILE", Many: true, Files: true, Set: read,
		Help: "read settings from this JSON file"})
}
