// Package config reads the settings of brigd from flags and from a JSON file with the same settings. One table of flags
// (table.go) has a row for each setting, with its place in the file, its bounds and its help.
//
// The file is read strictly: an unknown or repeated key, null, or a value of another kind is an error that names its
// place, since a misspelt protection would be a missing protection. A flag overrides the file; a repeatable flag
// replaces the file's whole list.
package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"time"

	"brig/brigd/audit"
	"brig/brigd/engine"
	"brig/brigd/internal/admit"
	"brig/brigd/internal/listen"
	"brig/brigd/workspace"
	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
)

// Config holds the settings of brigd; table.go explains each.
type Config struct {
	Listen         []string // an empty list means the default Unix socket
	AllowUIDs      []string // each is agent "uid-N"
	UIDs           []int    // the numbers of AllowUIDs
	TokenKeys      []string // files
	RequireToken   bool
	APIKeyFile     string
	TLS            listen.TLSFiles
	Hosts, Origins []string
	MaxConnections int
	MaxRequests    int
	MaxBody        nsjail.Bytes
	MaxFile        nsjail.Bytes
	Policies       []string // files or names of profiles
	PolicyDir      string
	Audit          audit.Options // without a Path there is no audit log
	AuditKey       string        // the file with Audit.Key
	StateDir       string
	SpecFile       string
	Optional       []string
	GoCache        bool
	Warm           []string       // Engine.Warm as it was written
	Shares         []string       // Engine.Shares as they were written
	Languages      []string       // Engine.Interpreters as they were written
	Engine         engine.Options // a MaxBytesPerAgent of 0 is half of the total
	SandboxInodes  int
	Gate           admit.Options
	JetStream      JetStream
	DrainTimeout   nsjail.Duration
	LogFormat      string
	OutputSchemas  string // of brigd mcp: off or on
	LogLevel       string
	Command        string // serve, mcp or worker
	HTTP           bool   // of brigd mcp, as are Tools and Agent
	Tools, Agent   string

	from map[string]string // by Flag.Path: the name under which the setting was given
}

// Default returns the Config that applies without any settings.
func Default() *Config {
	return &Config{MaxConnections: 1024, MaxRequests: 1024, MaxBody: 32 << 20, MaxFile: 256 << 20,
		Audit: audit.Options{Sync: audit.SyncInterval, MaxBytes: 64 << 20},
		Engine: engine.Options{Timeout: engine.DefaultTimeout, MaxTimeout: engine.DefaultMaxTimeout,
			MaxOutput: engine.DefaultMaxOutput, SaveEvery: engine.DefaultSaveEvery,
			Sandboxes: workspace.StoreOptions{Max: 64, MaxPerAgent: 16, MaxBytes: 4 << 30, DefaultSize: 128 << 20,
				MaxSize: 1 << 30, DefaultTTL: 30 * time.Minute, MaxTTL: 24 * time.Hour}},
		SandboxInodes: 16384,
		Gate:          admit.Options{Queue: 1024, QueuePerCaller: 512},
		JetStream: JetStream{Replicas: 1, AckWait: nsjail.Duration(30 * time.Second), MaxDeliver: 3,
			KeepResults: nsjail.Duration(24 * time.Hour)},
		DrainTimeout: nsjail.Duration(30 * time.Second), LogFormat: "text", OutputSchemas: "off", LogLevel: "info",
		from: map[string]string{}}
}

// Places returns how many runs may be under way at once.
func (c *Config) Places() int {
	if c.Gate.Running == 0 {
		return 2 * runtime.NumCPU()
	}
	return c.Gate.Running
}

// AgentBytes returns how many bytes the sandboxes of one agent may hold together.
func (c *Config) AgentBytes() int64 {
	return cmp.Or(c.Engine.Sandboxes.MaxBytesPerAgent, c.Engine.Sandboxes.MaxBytes/2)
}

// Set reports whether a setting, named by its key in the file, was given.
func (c *Config) Set(path string) bool { return c.from[path] != "" }

// name returns the name of a setting for messages: as the user has written it, or else its flag.
func (c *Config) name(path string) string {
	if n := c.from[path]; n != "" {
		return n
	}
	flags := table(c, "mcp") // which has all settings
	return "--" + flags[slices.IndexFunc(flags, func(f cli.Flag) bool { return f.Path == path })].Name
}

// Told returns an error whose text has brigd's flags for the settings that it refers to.
func Told(err error) error {
	flags := table(Default(), "serve")
	return errors.New(words.Message(err).In(func(r words.Ref) (string, bool) {
		i := slices.IndexFunc(flags, func(f cli.Flag) bool { return strings.ReplaceAll(f.Name, "-", "_") == r.Field })
		if i < 0 {
			return "", false
		}
		var members []string
		_ = json.Unmarshal([]byte(r.Value), &members) // the flag alone if there are none
		return strings.TrimSpace("--" + flags[i].Name + " " + strings.Join(members, ",")), true
	}))
}
