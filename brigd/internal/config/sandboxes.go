package config

import (
	"cmp"
	"time"

	"brig/brigd/engine"
	"brig/brigd/workspace"
	"brig/internal/cli"
	"brig/nsjail"
)

// Sandboxes are the settings of how many sandboxes there are, how large, and where they are kept.
type Sandboxes struct {
	workspace.StoreOptions // a MaxBytesPerAgent of 0 is half of MaxBytes

	Inodes    int
	Store     string
	SaveEvery time.Duration
	BoxIdle   time.Duration
}

func defaultSandboxes() Sandboxes {
	return Sandboxes{StoreOptions: workspace.StoreOptions{Max: 64, MaxPerAgent: 16, MaxBytes: 4 << 30,
		DefaultSize: 128 << 20, MaxSize: 1 << 30, DefaultTTL: 30 * time.Minute, MaxTTL: 24 * time.Hour},
		Inodes: 16384, SaveEvery: engine.DefaultSaveEvery,
		BoxIdle: 5 * time.Minute}
}

func (b *Sandboxes) flags() []cli.Flag {
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
		{Name: "sandbox-inodes", Path: "sandboxes.inodes", Args: "N", To: &b.Inodes, Min: 16, Max: 1 << 30,
			Help: "the number of files and directories of a sandbox whose request names none"},
		{Name: "sandbox-ttl", Path: "sandboxes.ttl", Args: "TIME", To: &b.DefaultTTL, Min: 1, Max: maxTime,
			Help: "the time after which an unused sandbox is removed, if its request names none"},
		{Name: "sandbox-max-ttl", Path: "sandboxes.max_ttl", Args: "TIME", To: &b.MaxTTL, Min: 1, Max: maxTime,
			Help: "the longest such time that a request may name"},
		{Name: "sandbox-store", Path: "sandboxes.store", Args: "DIR", To: &b.Store,
			Help: "keep sandboxes and snapshots in this directory (mode 0700) and restore them from it, also after a kill; " +
				"without it they end with brigd"},
		{Name: "sandbox-save", Path: "sandboxes.save_every", Args: "TIME", To: &b.SaveEvery, Min: 0.1, Max: maxTime,
			Help: "how often a changed sandbox is saved; a kill loses what was written since"},
		{Name: "box-idle", Path: "sandboxes.box_idle", Args: "TIME", To: &b.BoxIdle, Max: maxTime,
			Help: "the time after which a living sandbox is frozen that no call uses and whose processes neither write nor " +
				"work; 0 is never"},
	}
}

// AgentBytes returns how many bytes the sandboxes of one agent may hold together.
func (b *Sandboxes) AgentBytes() int64 { return cmp.Or(b.MaxBytesPerAgent, b.MaxBytes/2) }

func (b *Sandboxes) check() error {
	size, agents, total := nsjail.Bytes(b.MaxSize), nsjail.Bytes(b.AgentBytes()), nsjail.Bytes(b.MaxBytes)
	return cmp.Or(
		wrong(b.DefaultSize > b.MaxSize, "sandboxes.size", more, nsjail.Bytes(b.DefaultSize), "sandbox-max-size", size),
		wrong(size > agents, "sandboxes.max_size", moreThanAll, size, "sandbox-bytes-per-agent", agents, "one agent's"),
		wrong(agents > total, "sandboxes.bytes_per_agent", moreThanAll, agents, "sandbox-bytes", total, "all"),
		wrong(b.DefaultTTL > b.MaxTTL, "sandboxes.ttl", more, b.DefaultTTL, "sandbox-max-ttl", b.MaxTTL))
}

func (b *Sandboxes) checkStore(g given) error {
	return g.useless(b.Store == "", " is about a store, and there is none; add --sandbox-store DIR",
		"sandboxes.save_every")
}
