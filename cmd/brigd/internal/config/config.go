// Package config reads the settings of brigd from flags and from a JSON file with the same settings. One table
// (table.go) has a row for each setting, with its flag, its place in the file, its kind and its help.
//
// The file is read strictly: an unknown or repeated key, null, or a value of another kind is an error that names its
// place, since a misspelt protection would be a missing protection. A flag overrides the file; a repeatable flag
// replaces the file's whole list.
package config

import (
	"runtime"

	"brig/nsjail"
)

// Config holds the settings of brigd.
type Config struct {
	// Listen are the sockets: unix:PATH, "unix" for the default one, tcp:HOST:PORT. An empty list means the default
	// Unix socket.
	Listen []string
	// AllowUIDs are users that may connect to Unix sockets besides root and the user of brigd, each as agent "uid-N".
	AllowUIDs []string
	// TokenKeys are files of public keys that verify capability tokens. RequireToken requires authentication at Unix
	// sockets, too.
	TokenKeys    []string
	RequireToken bool
	// APIKeyFile has a line AGENT KEY for each static key.
	APIKeyFile string
	// TLSCert, TLSKey and ClientCA are PEM files.
	TLSCert, TLSKey, ClientCA string
	// Hosts and Origins are names and web pages that TCP clients may use, besides those of the loopback interface.
	Hosts, Origins []string
	// MaxConnections and MaxRequests bound the open connections and requests. MaxBody and MaxFile bound the size of a
	// request in bytes.
	MaxConnections, MaxRequests int
	MaxBody, MaxFile            nsjail.Bytes

	// Policies are files or names of profiles. PolicyDir is the directory of the names.
	Policies  []string
	PolicyDir string
	// AuditPath is the audit log, "" for none. AuditSync is when it reaches the disk. AuditMaxBytes and AuditKeep
	// rotate it. AuditKey signs it. AuditArgv records commands in plain text.
	AuditPath, AuditSync, AuditKey string
	AuditArgv                      bool
	AuditMaxBytes                  nsjail.Bytes
	AuditKeep                      int
	// StateDir holds the ledger of tokens.
	StateDir string

	// SpecFile is the base of every jail's Spec. Pool is the number of network namespaces kept ready.
	SpecFile string
	Pool     int
	// Optional are mechanisms that jails may do without if the machine lacks them.
	Optional []string
	// GoCache compiles Go's standard library in advance.
	GoCache bool
	// Timeout, Memory and MaxOutput apply to a request that names none. MaxTimeout is the longest that a request may
	// name.
	Timeout, MaxTimeout nsjail.Duration
	Memory, MaxOutput   nsjail.Bytes

	// The bounds of sandboxes; sizes are in bytes.
	Sandboxes, SandboxesPerAgent       int
	SandboxBytes, SandboxBytesPerAgent nsjail.Bytes // of one agent: 0 is half of the total
	SandboxSize, SandboxMax            nsjail.Bytes
	SandboxInodes                      int
	SandboxTTL, SandboxMaxTTL          nsjail.Duration

	// Running, PerCaller (0 is three quarters of Running), Queue and QueuePerCaller count runs. Rate is how many runs a
	// second a caller may ask for, and Burst how many at once.
	Running, PerCaller, Queue, QueuePerCaller int
	Rate                                      float64
	Burst                                     int

	// DrainTimeout is how long runs may continue after SIGTERM.
	DrainTimeout nsjail.Duration
	// LogFormat is text or json, LogLevel debug, info, warn or error.
	LogFormat, LogLevel string

	// HTTP, Tools and Agent apply to brigd mcp: HTTP instead of stdio, a file of tools, and the agent of the client on
	// stdio.
	HTTP  bool
	Tools string
	Agent string

	from map[string]string // by the path of a row: the name under which the setting was given
}

// Default returns the Config that applies without any settings.
func Default() *Config {
	return &Config{MaxConnections: 1024, MaxRequests: 1024, MaxBody: 32 << 20, MaxFile: 256 << 20,
		AuditSync: "interval", AuditMaxBytes: 64 << 20,
		Timeout: nsjail.Duration(60e9), MaxTimeout: nsjail.Duration(3600e9), MaxOutput: 1 << 20,
		Sandboxes: 64, SandboxesPerAgent: 16, SandboxBytes: 4 << 30, SandboxSize: 128 << 20, SandboxMax: 1 << 30,
		SandboxInodes: 16384,
		SandboxTTL:    nsjail.Duration(1800e9), SandboxMaxTTL: nsjail.Duration(24 * 3600e9),
		Queue: 1024, QueuePerCaller: 512,
		DrainTimeout: nsjail.Duration(30e9), LogFormat: "text", LogLevel: "info",
		from: map[string]string{}}
}

// Places returns how many runs may be under way at once.
func (c *Config) Places() int {
	if c.Running == 0 {
		return 2 * runtime.NumCPU()
	}
	return c.Running
}

// AgentBytes returns how many bytes the sandboxes of one agent may hold together.
func (c *Config) AgentBytes() nsjail.Bytes {
	if c.SandboxBytesPerAgent == 0 {
		return c.SandboxBytes / 2
	}
	return c.SandboxBytesPerAgent
}

// Set reports whether a setting, named by its key in the file, was given.
func (c *Config) Set(path string) bool { return c.from[path] != "" }

// name returns the name of a setting for messages: as the user has written it, or else its flag.
func (c *Config) name(path string) string {
	if n := c.from[path]; n != "" {
		return n
	}
	for _, r := range table(c) {
		if r.path == path {
			return "--" + r.flag
		}
	}
	return path
}
