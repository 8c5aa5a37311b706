// Package config reads what brigd is told: by flags, or by a JSON file that says the same. One table (table.go) has a
// row for each setting, with its flag, its place in the file, its kind and its help; nothing else knows them.
//
// The file is read strictly: a key that is unknown or there twice, null, or a value of another kind is an error that
// names its place, since a protection that is misspelt is a protection that is missing. A flag overrides the file; a
// flag that may be repeated replaces the file's whole list.
package config

import (
	"runtime"

	"brig/nsjail"
)

// Config is what brigd does.
type Config struct {
	// Listen are the sockets: unix:PATH, "unix" for the default one, tcp:HOST:PORT. None is the default Unix socket.
	Listen []string
	// AllowUIDs are users that may connect to Unix sockets besides the own one and root, each as agent "uid-N".
	AllowUIDs []string
	// TokenKeys are files of public keys that capability tokens are signed with. RequireToken wants proof at Unix sockets,
	// too.
	TokenKeys    []string
	RequireToken bool
	// APIKeyFile has a line AGENT KEY for each static key.
	APIKeyFile string
	// TLSCert, TLSKey and ClientCA are PEM files.
	TLSCert, TLSKey, ClientCA string
	// Hosts and Origins are names and web pages that TCP clients may use, besides loopback's.
	Hosts, Origins []string
	// MaxConnections and MaxRequests bound what is open at once, MaxBody and MaxFile the size of a request in bytes.
	MaxConnections, MaxRequests int
	MaxBody, MaxFile            nsjail.Bytes

	// Policies are files or names of profiles, and PolicyDir is where the names are looked up.
	Policies  []string
	PolicyDir string
	// AuditPath is the audit log, "" for none; AuditSync when it reaches the disk; AuditMaxBytes and AuditKeep rotate it.
	// AuditKey signs it, and AuditArgv has commands written down in words.
	AuditPath, AuditSync, AuditKey string
	AuditArgv                      bool
	AuditMaxBytes                  nsjail.Bytes
	AuditKeep                      int
	// StateDir holds the ledger of tokens.
	StateDir string

	// SpecFile is what every jail begins with; Pool network namespaces stand ready.
	SpecFile string
	Pool     int
	// Optional are mechanisms that jails may do without where the machine lacks them.
	Optional []string
	// GoCache has Go's standard library compiled ahead.
	GoCache bool
	// Timeout, Memory and MaxOutput are for a request that names none. MaxTimeout is the longest that a request may name.
	Timeout, MaxTimeout nsjail.Duration
	Memory, MaxOutput   nsjail.Bytes

	// The bounds of sandboxes; sizes in bytes.
	Sandboxes, SandboxesPerAgent       int
	SandboxBytes, SandboxBytesPerAgent nsjail.Bytes // of one agent: 0 is half of all
	SandboxSize, SandboxMax            nsjail.Bytes
	SandboxInodes                      int
	SandboxTTL, SandboxMaxTTL          nsjail.Duration

	// Running, PerCaller (0 is three quarters of Running), Queue and QueuePerCaller count runs. Rate is how many runs a
	// second a caller may ask for, and Burst how many at once.
	Running, PerCaller, Queue, QueuePerCaller int
	Rate                                      float64
	Burst                                     int

	// DrainTimeout is how long runs may go on after SIGTERM.
	DrainTimeout nsjail.Duration
	// LogFormat is text or json, LogLevel debug, info, warn or error.
	LogFormat, LogLevel string

	// HTTP, Tools and Agent are for mcp: by HTTP instead of stdio, a file of tools, and on whose behalf stdio's client
	// asks.
	HTTP  bool
	Tools string
	Agent string

	from map[string]string // by a row's path: how the setting was named where it was set
}

// Default is what a Config is before anything is said.
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

// Places is how many runs there are at once.
func (c *Config) Places() int {
	if c.Running == 0 {
		return 2 * runtime.NumCPU()
	}
	return c.Running
}

// AgentBytes returns how much one agent's sandboxes may hold together.
func (c *Config) AgentBytes() nsjail.Bytes {
	if c.SandboxBytesPerAgent == 0 {
		return c.SandboxBytes / 2
	}
	return c.SandboxBytesPerAgent
}

// Set reports whether a setting, named by its key in the file, was given.
func (c *Config) Set(path string) bool { return c.from[path] != "" }

// name is what a message calls a setting: as the user has written it, or else its flag.
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
