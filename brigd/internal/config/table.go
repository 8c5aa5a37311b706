package config

import (
	"slices"

	"brig/internal/cli"
)

const (
	maxCount = 1 << 20
	maxBytes = 1 << 50
	maxTime  = 366 * 24 * 3600 // seconds
)

// table returns the flags of a command, serve or mcp, in the order of help. They set fields of c.
func table(c *Config, command string) []cli.Flag {
	list := slices.Concat(cli.InGroup("Sockets", socketFlags(c)), cli.InGroup("Rules", ruleFlags(c)),
		cli.InGroup("Jails", jailFlags(c)), cli.InGroup("Sandboxes", sandboxFlags(c)),
		cli.InGroup("Callers", callerFlags(c)), cli.InGroup("Operation", operationFlags(c)))
	list = append(list, cli.InGroup("Queue", jetstreamFlags(c))...)
	if command == "mcp" {
		list = append(list, cli.InGroup("MCP", mcpFlags(c))...)
	}
	for i := range list {
		c.complete(&list[i])
	}
	read := func([]string) error { return nil } // Parse has read it
	return append(list, cli.Flag{Name: "config", Args: "FILE", Many: true, Files: true, Set: read,
		Help: "read settings from this JSON file"})
}

func socketFlags(c *Config) []cli.Flag {
	return []cli.Flag{
		{Name: "listen", Path: "listen", Args: "WHERE", To: &c.Listen,
			Help: "unix:PATH, unix for the default path, or tcp:HOST:PORT, which needs proof of who calls; may be repeated"},
		{Name: "allow-uid", Path: "allow_uids", Args: "UID", To: &c.AllowUIDs,
			Help: "let this user connect to Unix sockets, too, as agent uid-UID; may be repeated"},
		{Name: "token-key", Path: "auth.token_keys", Args: "FILE", To: &c.TokenKeys,
			Help: "accept capability tokens signed with this public key (brigd token); may be repeated"},
		{Name: "api-key-file", Path: "auth.api_key_file", Args: "FILE", To: &c.APIKeyFile,
			Help: "accept the bearer keys in this file: a line AGENT KEY, or AGENT sha256:HEX, for each"},
		{Name: "require-token", Path: "auth.require_token", To: &c.RequireToken,
			Help: "ask for a token or key at Unix sockets, too"},
		{Name: "tls-cert", Path: "tls.cert", Args: "FILE", To: &c.TLS.Cert,
			Help: "TCP speaks TLS, with this certificate and its chain, in PEM"},
		{Name: "tls-key", Path: "tls.key", Args: "FILE", To: &c.TLS.Key, Help: "the certificate's private key, in PEM"},
		{Name: "client-ca", Path: "tls.client_ca", Args: "FILE", To: &c.TLS.ClientCA,
			Help: "ask TCP clients for a certificate of this authority; its common name is the agent if no token names one"},
		{Name: "host", Path: "http.hosts", Args: "NAME", To: &c.Hosts,
			Help: "a name by which TCP clients may call this server, besides localhost and its address; may be repeated"},
		{Name: "origin", Path: "http.origins", Args: "URL", To: &c.Origins,
			Help: "a web page's origin, as in https://example.org, whose scripts may call; may be repeated"},
		{Name: "max-connections", Path: "http.max_connections", Args: "N", To: &c.MaxConnections, Min: 1, Max: maxCount,
			Help: "connections open at once, by TCP and again at Unix sockets"},
		{Name: "max-requests", Path: "http.max_requests", Args: "N", To: &c.MaxRequests, Min: 1, Max: maxCount,
			Help: "HTTP requests at once; one caller may have half of what the others leave"},
		{Name: "max-body", Path: "http.max_body", Args: "SIZE", To: &c.MaxBody, Min: 1024, Max: 1 << 30,
			Help: "the largest JSON request"},
		{Name: "max-file", Path: "http.max_file", Args: "SIZE", To: &c.MaxFile, Min: 1, Max: maxBytes,
			Help: "the largest file that is put or read"},
	}
}

func ruleFlags(c *Config) []cli.Flag {
	return []cli.Flag{
		{Name: "policy", Path: "policies", Args: "NAME|FILE", To: &c.Policies,
			Help: "a policy that every run must satisfy: a profile's name, or a file (with a / or .json); may be repeated"},
		{Name: "policy-dir", Path: "policy_dir", Args: "DIR", To: &c.PolicyDir,
			Help: "look for profiles here before the built-in ones"},
		{Name: "audit", Path: "audit.path", Args: "FILE", To: &c.Audit.Path,
			Help: "append an event before and after every run to this log, and before each change of a sandbox from outside; " +
				"a run that cannot be logged is refused"},
		{Name: "audit-sync", Path: "audit.sync", Args: "WHEN", To: &c.Audit.Sync, Words: []string{"always", "interval",
			"never"}, Help: "when events must have reached the disk: always, interval (within a second) or never"},
		{Name: "audit-max", Path: "audit.max_bytes", Args: "SIZE", To: &c.Audit.MaxBytes, Min: 1 << 20, Max: maxBytes,
			Help: "begin a new file at this size"},
		{Name: "audit-keep", Path: "audit.keep", Args: "N", To: &c.Audit.Keep, Max: maxCount,
			Help: "the number of full files to keep; 0 keeps all"},
		{Name: "audit-key", Path: "audit.key", Args: "FILE", To: &c.AuditKey,
			Help: "sign the log's checkpoints with this private key (brigd token keygen makes one)"},
		{Name: "audit-argv", Path: "audit.argv", To: &c.Audit.Argv,
			Help: "log the arguments of commands, not only their digest, and messages that may repeat them; they may " +
				"contain secrets"},
		{Name: "state-dir", Path: "state_dir", Args: "DIR", To: &c.StateDir,
			Help: "where tokens' runs and revocations are kept; needed with --token-key"},
	}
}

func jailFlags(c *Config) []cli.Flag {
	return []cli.Flag{
		{Name: "spec", Path: "jails.spec", Args: "FILE", To: &c.SpecFile,
			Help: "what every jail begins with: the JSON of brig spec, without a command and mounts"},
		{Name: "pool", Path: "jails.pool", Args: "N", To: &c.Engine.Runner.Pool, Max: 4096,
			Help: "the number of network namespaces to keep ready"},
		{Name: "system", Path: "jails.system", Args: "MODE", To: (*string)(&c.Engine.Base.Rootfs.System),
			Help: "how jails without an image show this machine's /usr: by overlays of their own (private, the default), or " +
				"by read-only binds (shared), which are faster, and through which locks and watches cross"},
		{Name: "optional", Path: "jails.optional", Args: "A,B", To: &c.Optional,
			Help: "mechanisms that a jail may do without where this machine lacks them, as in memory,cpus for a user " +
				"without a control group; may be repeated"},
		{Name: "go-cache", Path: "jails.go_cache", To: &c.GoCache,
			Help: "compile Go's standard library once, in the background, so that each run of Go code need not: a minute " +
				"of one processor and some 110 MiB of memory"},
		{Name: "warm", Path: "jails.warm", Args: "LANGUAGE=N[,imports=A,B]", To: &c.Warm,
			Help: "keep N interpreters of this language started, each in a jail of its own and for one run, with these " +
				"modules loaded: python, javascript or javascript-module; may be repeated"},
		{Name: "share", Path: "jails.shares", Args: "NAME=DIR:MODE", To: &c.Shares,
			Help: "a directory that requests may mount by this name: ro (read-only), cow (a copy whose changes are kept as a " +
				"change set; with ,size=SIZE, ,inodes=N and ,store=disk after it), or rw (writable, without a quota); " +
				",protect=PATH is a path in it that no run can change; may be repeated"},
		{Name: "changes-dir", Path: "jails.changes_dir", Args: "DIR", To: &c.Engine.ChangesDir,
			Help: "where change sets of shares in mode cow are kept, by agent and token; a directory of brigd's if left out"},
		{Name: "allow-apply", Path: "jails.allow_apply", To: &c.Engine.AllowApply,
			Help: "let callers apply their change sets to the shares, and remove them"},
		{Name: "image", Path: "jails.images", Args: "NAME", To: &c.Engine.Images,
			Help: "an image that requests may name as their root (brigd image pull NAME); the name is looked up once, " +
				"when brigd starts; may be repeated"},
		{Name: "image-store", Path: "jails.image_store", Args: "DIR", To: &c.Engine.ImageStore, Files: true,
			Help: "where the images are, instead of /var/lib/brig/images for root, or brig/images in $XDG_DATA_HOME"},
		{Name: "language", Path: "jails.languages", Args: "LANGUAGE=PATH[,share=NAME]", To: &c.Languages,
			Help: "run code in this language by the program at PATH of the jail; the jail shows this share, which holds it, " +
				"read-only at its own path, so that a virtual environment works; may be repeated"},
		{Name: "timeout", Path: "jails.timeout", Args: "TIME", To: &c.Engine.Timeout, Min: 0.001, Max: maxTime,
			Help: "the time limit of a run whose request names none"},
		{Name: "max-timeout", Path: "jails.max_timeout", Args: "TIME", To: &c.Engine.MaxTimeout, Min: 0.001, Max: maxTime,
			Help: "the largest time limit that a request may name"},
		{Name: "memory", Path: "jails.memory", Args: "SIZE", To: &c.Engine.Memory, Max: maxBytes,
			Help: "the memory limit of a run whose request names none; 0 is no limit"},
		{Name: "max-output", Path: "jails.max_output", Args: "SIZE", To: &c.Engine.MaxOutput, Min: 1, Max: 1 << 30,
			Help: "the most bytes of stdout and of stderr that are returned"},
	}
}

func sandboxFlags(c *Config) []cli.Flag {
	b := &c.Engine.Sandboxes
	return []cli.Flag{
		{Name: "sandboxes", Path: "sandboxes.max", Args: "N", To: &b.Max, Min: 1, Max: maxCount,
			Help: "the number of sandboxes at once"},
		{Name: "sandboxes-per-agent", Path: "sandboxes.per_agent", Args: "N", To: &b.MaxPerAgent, Min: 1,
			Max: maxCount, Help: "the number of one agent's sandboxes at once"},
		{Name: "sandbox-bytes", Path: "sandboxes.total_bytes", Args: "SIZE", To: &b.MaxBytes, Min: 1 << 20,
			Max: maxBytes, Help: "the size of all sandboxes together, in memory; each file counts 1k more"},
		{Name: "sandbox-bytes-per-agent", Path: "sandboxes.bytes_per_agent", Args: "SIZE", To: &b.MaxBytesPerAgent,
			Max: maxBytes, Help: "the size of one agent's sandboxes together; 0 is half of all"},
		{Name: "sandbox-size", Path: "sandboxes.size", Args: "SIZE", To: &b.DefaultSize, Min: 1 << 16, Max: maxBytes,
			Help: "the size of a sandbox whose request names none"},
		{Name: "sandbox-max-size", Path: "sandboxes.max_size", Args: "SIZE", To: &b.MaxSize, Min: 1 << 16,
			Max: maxBytes, Help: "the largest size that a request may name"},
		{Name: "sandbox-inodes", Path: "sandboxes.inodes", Args: "N", To: &c.SandboxInodes, Min: 16, Max: 1 << 30,
			Help: "the number of files and directories of a sandbox whose request names none"},
		{Name: "sandbox-ttl", Path: "sandboxes.ttl", Args: "TIME", To: &b.DefaultTTL, Min: 1, Max: maxTime,
			Help: "the time after which an unused sandbox is removed, if its request names none"},
		{Name: "sandbox-max-ttl", Path: "sandboxes.max_ttl", Args: "TIME", To: &b.MaxTTL, Min: 1, Max: maxTime,
			Help: "the longest such time that a request may name"},
		{Name: "sandbox-store", Path: "sandboxes.store", Args: "DIR", To: &c.Engine.Store,
			Help: "keep sandboxes and snapshots in this directory (mode 0700) and restore them from it, also after a kill; " +
				"without it they end with brigd"},
		{Name: "sandbox-save", Path: "sandboxes.save_every", Args: "TIME", To: &c.Engine.SaveEvery, Min: 0.1, Max: maxTime,
			Help: "how often a changed sandbox is saved; a kill loses what was written since"},
	}
}

func callerFlags(c *Config) []cli.Flag {
	g := &c.Gate
	return []cli.Flag{
		{Name: "running", Path: "queue.running", Args: "N", To: &g.Running, Min: 1, Max: maxCount,
			Help: "runs at once"},
		{Name: "per-caller", Path: "queue.per_caller", Args: "N", To: &g.PerCaller, Max: maxCount,
			Help: "runs of one caller at once; 0 is three quarters of all, at least 1"},
		{Name: "queue", Path: "queue.waiting", Args: "N", To: &g.Queue, Max: maxCount, Help: "runs that may wait; 0 is none"},
		{Name: "queue-per-caller", Path: "queue.waiting_per_caller", Args: "N", To: &g.QueuePerCaller, Max: maxCount,
			Help: "runs of one caller that may wait; 0 is as many as all"},
		{Name: "rate", Path: "queue.rate", Args: "N", To: &g.Rate, Max: 1e6,
			Help: "runs a second that one caller may ask for; 0 is no bound"},
		{Name: "burst", Path: "queue.burst", Args: "N", To: &g.Burst, Max: maxCount,
			Help: "runs that one caller may ask for at once; 0 is as many as in a second"},
	}
}

func operationFlags(c *Config) []cli.Flag {
	return []cli.Flag{
		{Name: "drain-timeout", Path: "drain_timeout", Args: "TIME", To: &c.DrainTimeout,
			Max: maxTime, Help: "the time that running jails have after SIGTERM; a second signal ends them at once"},
		{Name: "log-format", Path: "log.format", Args: "FORMAT", To: &c.LogFormat, Words: []string{"text", "json"},
			Help: "text or json, on stderr"},
		{Name: "log-level", Path: "log.level", Args: "LEVEL", To: &c.LogLevel, Words: []string{"debug", "info", "warn",
			"error"}, Help: "debug, info, warn or error"},
	}
}

func mcpFlags(c *Config) []cli.Flag {
	return []cli.Flag{
		{Name: "http", Path: "mcp.http", To: &c.HTTP,
			Help: "serve MCP by HTTP at /mcp, at --listen, instead of on stdin and stdout"},
		{Name: "tools", Path: "mcp.tools", Args: "FILE", To: &c.Tools,
			Help: "offer the tools that this YAML file declares, too: /usr/share/doc/brig/docs/tools.example.yaml is one; " +
				"gantz has the same form"},
		{Name: "output-schemas", Path: "mcp.output_schemas", Args: "off|on", To: &c.OutputSchemas, Words: []string{"off",
			"on"}, Help: "tell in the list of tools what form their structured content has, 34 KB more for each model to read"},
		{Name: "agent", Path: "mcp.agent", Args: "NAME", To: &c.Agent,
			Help: "the agent for which the client on stdin acts; $BRIGD_TOKEN, a capability token, may name it and bounds it"},
	}
}
