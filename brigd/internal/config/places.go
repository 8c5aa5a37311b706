package config

import "strings"

// Place is where a setting acts if runs go through a queue.
type Place string

// Places of settings. The brigd that takes a request is the front, and the one that runs it the worker; one with slots
// and HTTP is both.
const (
	Front  Place = "front"  // in the brigd that takes a request
	Worker Place = "worker" // in the brigd that runs it
	Each   Place = "both"   // in each for itself: what it serves, writes and connects to
	// Travels is of what a front demands of a run: it goes with each job and each request about a sandbox, and the
	// worker holds it besides its own (engine.Rules).
	Travels Place = "both, and a front's goes with the run"
)

// places has each setting, by its key in the file. A setting without a row is refused by a test: whoever adds one
// decides where it acts, since what bounds a run and acts only at the front bounds nothing.
var places = map[string]Place{
	"listen": Each, "allow_uids": Each, "auth.token_keys": Each, "auth.api_key_file": Each, "auth.require_token": Each,
	"tls.cert": Each, "tls.key": Each, "tls.client_ca": Each, "http.hosts": Each, "http.origins": Each,
	"http.port_host": Each, "http.max_connections": Each, "http.max_requests": Each, "http.max_body": Each,
	"http.max_file": Each,

	"policies": Travels, "policy_dir": Each, "state_dir": Each,
	"audit.path": Each, "audit.sync": Each, "audit.max_bytes": Each, "audit.keep": Each, "audit.key": Each,
	"audit.argv": Each,

	"jails.spec": Travels, "jails.system": Travels,
	"jails.timeout": Travels, "jails.max_timeout": Travels, "jails.memory": Travels,
	"jails.max_output": Travels, "jails.shares": Travels, "jails.images": Travels,
	"jails.image_store": Each, "jails.pool": Worker, "jails.optional": Travels, "jails.go_cache": Worker,
	"jails.warm": Worker, "jails.changes_dir": Worker, "jails.allow_apply": Worker, "jails.languages": Worker,

	"sandboxes.max": Travels, "sandboxes.per_agent": Travels, "sandboxes.total_bytes": Travels,
	"sandboxes.bytes_per_agent": Travels, "sandboxes.max_size": Travels, "sandboxes.max_ttl": Travels,
	"sandboxes.size": Worker, "sandboxes.inodes": Worker, "sandboxes.ttl": Worker, "sandboxes.store": Worker,
	"sandboxes.save_every": Worker, "sandboxes.box_idle": Worker,

	"queue.running": Worker, "queue.per_caller": Worker, "queue.waiting": Front, "queue.waiting_per_caller": Front,
	"queue.rate": Front, "queue.burst": Front,

	"drain_timeout": Each, "log.format": Each, "log.level": Each,

	"jetstream.at": Each, "jetstream.server_config": Each, "jetstream.creds": Each, "jetstream.ca": Each,
	"jetstream.cert": Each, "jetstream.key": Each, "jetstream.plain": Each, "jetstream.slots": Worker,
	"jetstream.worker": Worker, "jetstream.replicas": Each, "jetstream.ack_wait": Each, "jetstream.max_deliver": Each,
	"jetstream.keep_results": Each,

	"mcp.http": Front, "mcp.tools": Front, "mcp.output_schemas": Front, "mcp.agent": Front,
}

// Elsewhere returns the settings that are given and act only in another brigd of the queue, as they were written.
func (c *Config) Elsewhere() string {
	other := Place("")
	switch {
	case c.JetStream.At == "":
	case c.Command == "worker":
		other = Front
	case c.Slots() == 0:
		other = Worker
	}
	var names []string
	for _, f := range table(c, "mcp") {
		if f.Path != "" && places[f.Path] == other && c.Set(f.Path) {
			names = append(names, c.name(f.Path))
		}
	}
	return strings.Join(names, ", ")
}
