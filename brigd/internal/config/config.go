// Package config reads the settings of brigd from flags and from a JSON file with the same settings. Each subject has a
// type with its settings, their flags and their checks; the row of a flag has its place in the file, its bounds and its
// help.
//
// The file is read strictly: an unknown or repeated key, null, or a value of another kind is an error that names its
// place, since a misspelt protection would be a missing protection. A flag overrides the file; a repeatable flag
// replaces the file's whole list.
package config

import "cmp"

// Config holds the settings of brigd, by subject.
type Config struct {
	Command string // serve, mcp or worker

	Sockets   Sockets
	HTTP      HTTP
	Rules     Rules
	Audit     Audit
	StateDir  string
	Jails     Jails
	Warm      Warm
	Shares    Shares
	Images    Images
	Languages Languages
	Runs      Runs
	Sandboxes Sandboxes
	Gate      Gate
	Operation Operation
	JetStream JetStream
	MCP       MCP

	given given
}

// Default returns the Config that applies without any settings.
func Default() *Config {
	return &Config{HTTP: defaultHTTP(), Audit: defaultAudit(), Runs: defaultRuns(), Sandboxes: defaultSandboxes(),
		Gate: defaultGate(), Operation: defaultOperation(), JetStream: defaultJetStream(),
		MCP: MCP{OutputSchemas: "off"}, given: given{}}
}

// Set reports whether a setting, named by its key in the file, was given.
func (c *Config) Set(path string) bool { return c.given.has(path) }

// Slots returns how many runs of the queue this brigd runs at once: 0 if it only asks for runs.
func (c *Config) Slots() int {
	switch {
	case c.JetStream.At == "":
		return 0
	case c.JetStream.Slots > 0:
		return c.JetStream.Slots
	case c.Command == "worker", c.JetStream.Own():
		return 2 * c.Gate.Places() // half of them are on their way here or back while the others run
	}
	return 0
}

// SlotsPerCaller returns how many of the slots one caller may have: the same part as of the places.
func (c *Config) SlotsPerCaller() int {
	return max(1, c.Slots()*c.Gate.CallerPlaces()/c.Gate.Places())
}

// check refuses contradictory settings, in this order.
func (c *Config) check() error {
	g := c.given
	return cmp.Or(
		c.Sockets.checkTLS(),
		c.JetStream.check(g, c.Command, c.Gate.Queue, c.Slots() > 0 && c.Sandboxes.Store != ""),
		c.Sockets.checkListen(g), c.HTTP.check(), c.Sockets.checkUIDs(),
		c.Runs.check(), c.Sandboxes.check(), c.Gate.check(g),
		c.Warm.check(), c.Images.check(g), c.Shares.check(), c.Languages.check(), c.Shares.checkChanges(g),
		c.Sockets.checkTokens(c.StateDir), c.Audit.check(g), c.Sandboxes.checkStore(g), c.MCP.check(g, c.Command))
}
