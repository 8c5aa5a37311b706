package config

import "brig/nsjail"

// row is a setting.
type row struct {
	flag, path string
	arg        string // the name of the value in the help; "" for a switch
	group      string // the heading in the help; "" for that of the row before
	help       string
	to         any      // *string, *[]string, *int, *float64, *bool, *nsjail.Bytes, *nsjail.Duration
	min, max   float64  // of a number; unbounded if both are 0
	words      []string // the allowed values of a text
	only       string   // the only command with this setting
}

const (
	maxCount = 1 << 20
	maxBytes = 1 << 50
	maxTime  = 366 * 24 * 3600 // seconds
)

// table returns all settings of c, in the order of help.
func table(c *Config) []row {
	list := []row{
		{flag: "listen", path: "listen", arg: "WHERE", group: "Sockets", to: &c.Listen,
			help: "unix:PATH, unix for the default path, or tcp:HOST:PORT, which needs proof of who calls; may be repeated"},
		{flag: "allow-uid", path: "allow_uids", arg: "UID", to: &c.AllowUIDs,
			help: "let this user connect to Unix sockets, too, as agent uid-UID; may be repeated"},
		{flag: "token-key", path: "auth.token_keys", arg: "FILE", to: &c.TokenKeys,
			help: "accept capability tokens signed with this public key (brigd token); may be repeated"},
		{flag: "api-key-file", path: "auth.api_key_file", arg: "FILE", to: &c.APIKeyFile,
			help: "accept the bearer keys in this file: a line AGENT KEY, or AGENT sha256:HEX, for each"},
		{flag: "require-token", path: "auth.require_token", to: &c.RequireToken,
			help: "ask for a token or key at Unix sockets, too"},
		{flag: "tls-cert", path: "tls.cert", arg: "FILE", to: &c.TLSCert,
			help: "TCP speaks TLS, with this certificate and its chain, in PEM"},
		{flag: "tls-key", path: "tls.key", arg: "FILE", to: &c.TLSKey, help: "the certificate's private key, in PEM"},
		{flag: "client-ca", path: "tls.client_ca", arg: "FILE", to: &c.ClientCA,
			help: "ask TCP clients for a certificate of this authority; its common name is the agent where no token says so"},
		{flag: "host", path: "http.hosts", arg: "NAME", to: &c.Hosts,
			help: "a name by which TCP clients may call this server, besides localhost and its address; may be repeated"},
		{flag: "origin", path: "http.origins", arg: "URL", to: &c.Origins,
			help: "a web page's origin, as in https://example.org, whose scripts may call; may be repeated"},
		{flag: "max-connections", path: "http.max_connections", arg: "N", to: &c.MaxConnections, min: 1, max: maxCount,
			help: "connections open at once, by TCP and again at Unix sockets"},
		{flag: "max-requests", path: "http.max_requests", arg: "N", to: &c.MaxRequests, min: 1, max: maxCount,
			help: "HTTP requests under way at once, of which one caller has half of what the others leave"},
		{flag: "max-body", path: "http.max_body", arg: "SIZE", to: &c.MaxBody, min: 1024, max: 1 << 30,
			help: "the largest JSON request"},
		{flag: "max-file", path: "http.max_file", arg: "SIZE", to: &c.MaxFile, min: 1, max: maxBytes,
			help: "the largest file that is put or read"},
	}
	list = append(list, ruleRows(c)...)
	list = append(list, boundRows(c)...)
	return append(list,
		row{flag: "drain-timeout", path: "drain_timeout", arg: "TIME", group: "Operation", to: &c.DrainTimeout,
			max: maxTime, help: "at SIGTERM, let what runs go on for so long; a second signal ends it at once"},
		row{flag: "log-format", path: "log.format", arg: "FORMAT", to: &c.LogFormat, words: []string{"text", "json"},
			help: "text or json, on stderr"},
		row{flag: "log-level", path: "log.level", arg: "LEVEL", to: &c.LogLevel, words: []string{"debug", "info", "warn",
			"error"}, help: "debug, info, warn or error"},
		row{flag: "http", path: "mcp.http", group: "MCP", to: &c.HTTP, only: "mcp",
			help: "serve MCP by HTTP at /mcp, at --listen, instead of on stdin and stdout"},
		row{flag: "tools", path: "mcp.tools", arg: "FILE", only: "mcp", to: &c.Tools,
			help: "offer the tools that this YAML file declares, too: docs/tools.example.yaml is one; gantz has the same form"},
		row{flag: "agent", path: "mcp.agent", arg: "NAME", only: "mcp", to: &c.Agent,
			help: "on whose behalf the client on stdin asks; $BRIGD_TOKEN, a capability token, says so too and bounds it"},
	)
}

// ruleRows returns the settings of policies, tokens and the audit log.
func ruleRows(c *Config) []row {
	return []row{
		{flag: "policy", path: "policies", arg: "NAME|FILE", group: "Rules", to: &c.Policies,
			help: "what every run must be allowed by: a profile's name, or a file (with a / or .json); may be repeated"},
		{flag: "policy-dir", path: "policy_dir", arg: "DIR", to: &c.PolicyDir,
			help: "look for profiles here before the built-in ones"},
		{flag: "audit", path: "audit.path", arg: "FILE", to: &c.AuditPath,
			help: "append an event before and after every run to this log, and before each change of a sandbox from outside; " +
				"what cannot be written down is refused"},
		{flag: "audit-sync", path: "audit.sync", arg: "WHEN", to: &c.AuditSync, words: []string{"always", "interval",
			"never"}, help: "when events must have reached the disk: always, interval (within a second) or never"},
		{flag: "audit-max", path: "audit.max_bytes", arg: "SIZE", to: &c.AuditMaxBytes, min: 1 << 20, max: maxBytes,
			help: "begin a new file at this size"},
		{flag: "audit-keep", path: "audit.keep", arg: "N", to: &c.AuditKeep, max: maxCount,
			help: "keep so many full files; 0 is all"},
		{flag: "audit-key", path: "audit.key", arg: "FILE", to: &c.AuditKey,
			help: "sign the log's checkpoints with this private key (brigd token keygen makes one)"},
		{flag: "audit-argv", path: "audit.argv", to: &c.AuditArgv,
			help: "write down commands in words, not only by their digest, and messages, which may repeat such a word; " +
				"they may hold what nobody should read"},
		{flag: "state-dir", path: "state_dir", arg: "DIR", to: &c.StateDir,
			help: "where tokens' runs and revocations are kept; needed with --token-key"},
	}
}

// boundRows returns the limits of jails, sandboxes and callers.
func boundRows(c *Config) []row {
	return []row{
		{flag: "spec", path: "jails.spec", arg: "FILE", group: "Jails", to: &c.SpecFile,
			help: "what every jail begins with: the JSON of brig spec, without a command and mounts"},
		{flag: "pool", path: "jails.pool", arg: "N", to: &c.Pool, max: 4096, help: "keep so many network namespaces ready"},
		{flag: "optional", path: "jails.optional", arg: "A,B", to: &c.Optional,
			help: "mechanisms that a jail may do without where this machine lacks them, as in memory,cpus for a user " +
				"without a control group; may be repeated"},
		{flag: "go-cache", path: "jails.go_cache", to: &c.GoCache,
			help: "compile Go's standard library once, in the background, so that each run of Go code need not: a minute " +
				"of one processor and some 110 MiB of memory"},
		{flag: "timeout", path: "jails.timeout", arg: "TIME", to: &c.Timeout, min: 0.001, max: maxTime,
			help: "how long a run may take whose request does not say"},
		{flag: "max-timeout", path: "jails.max_timeout", arg: "TIME", to: &c.MaxTimeout, min: 0.001, max: maxTime,
			help: "how long a run may take, whatever its request says"},
		{flag: "memory", path: "jails.memory", arg: "SIZE", to: &c.Memory, max: maxBytes,
			help: "how much memory a run may hold whose request does not say; 0 is no limit"},
		{flag: "max-output", path: "jails.max_output", arg: "SIZE", to: &c.MaxOutput, min: 1, max: 1 << 30,
			help: "how much of stdout and of stderr is returned at most"},
		{flag: "sandboxes", path: "sandboxes.max", arg: "N", group: "Sandboxes", to: &c.Sandboxes, min: 1, max: maxCount,
			help: "how many there may be"},
		{flag: "sandboxes-per-agent", path: "sandboxes.per_agent", arg: "N", to: &c.SandboxesPerAgent, min: 1,
			max: maxCount, help: "how many of one agent"},
		{flag: "sandbox-bytes", path: "sandboxes.total_bytes", arg: "SIZE", to: &c.SandboxBytes, min: 1 << 20,
			max: maxBytes, help: "what all may hold together, in memory; each file counts for 1k more"},
		{flag: "sandbox-bytes-per-agent", path: "sandboxes.bytes_per_agent", arg: "SIZE", to: &c.SandboxBytesPerAgent,
			max: maxBytes, help: "what those of one agent may hold together; 0 is half of all"},
		{flag: "sandbox-size", path: "sandboxes.size", arg: "SIZE", to: &c.SandboxSize, min: 1 << 16, max: maxBytes,
			help: "what one may hold whose request does not say"},
		{flag: "sandbox-max-size", path: "sandboxes.max_size", arg: "SIZE", to: &c.SandboxMax, min: 1 << 16,
			max: maxBytes, help: "what one may hold at most"},
		{flag: "sandbox-inodes", path: "sandboxes.inodes", arg: "N", to: &c.SandboxInodes, min: 16, max: 1 << 30,
			help: "how many files and directories one may have whose request does not say"},
		{flag: "sandbox-ttl", path: "sandboxes.ttl", arg: "TIME", to: &c.SandboxTTL, min: 1, max: maxTime,
			help: "how long one lives without being used whose request does not say"},
		{flag: "sandbox-max-ttl", path: "sandboxes.max_ttl", arg: "TIME", to: &c.SandboxMaxTTL, min: 1, max: maxTime,
			help: "how long a request may ask for"},
		{flag: "running", path: "queue.running", arg: "N", group: "Callers", to: &c.Running, min: 1, max: maxCount,
			help: "runs at once"},
		{flag: "per-caller", path: "queue.per_caller", arg: "N", to: &c.PerCaller, max: maxCount,
			help: "runs of one caller at once; 0 is three quarters of all, at least 1"},
		{flag: "queue", path: "queue.waiting", arg: "N", to: &c.Queue, max: maxCount, help: "runs that may wait; 0 is none"},
		{flag: "queue-per-caller", path: "queue.waiting_per_caller", arg: "N", to: &c.QueuePerCaller, max: maxCount,
			help: "runs of one caller that may wait; 0 is as many as all"},
		{flag: "rate", path: "queue.rate", arg: "N", to: &c.Rate, max: 1e6,
			help: "runs a second that one caller may ask for; 0 is no bound"},
		{flag: "burst", path: "queue.burst", arg: "N", to: &c.Burst, max: maxCount,
			help: "how many of them at once; 0 is those of a second"},
	}
}

// set parses text and stores it as the value.
func (r *row) set(text string, first bool) error {
	var err error
	switch to := r.to.(type) {
	case *string:
		if err = r.word(text); err == nil {
			*to = text
		}
	case *[]string:
		if err = r.word(text); err == nil {
			if first {
				*to = nil
			}
			*to = append(*to, text)
		}
	case *bool:
		*to, err = boolean(text)
	case *int:
		*to, err = r.integer(text)
	case *float64:
		*to, err = r.number(text)
	case *nsjail.Bytes:
		if *to, err = nsjail.ParseBytes(text); err == nil {
			err = r.within(float64(*to), nsjail.Bytes(r.min).String(), nsjail.Bytes(r.max).String())
		}
	case *nsjail.Duration:
		if *to, err = nsjail.ParseDuration(text); err == nil {
			err = r.within(float64(*to)/1e9, nsjail.Duration(r.min*1e9).String(), nsjail.Duration(r.max*1e9).String())
		}
	}
	return err
}
