package config

import (
	"brig/brigd/audit"
	"brig/internal/cli"
)

// Audit are the settings of the audit log. Without a Path there is none.
type Audit struct {
	audit.Options
	KeyFile string // the file with Options.Key
}

func defaultAudit() Audit {
	return Audit{Options: audit.Options{Sync: audit.SyncInterval, MaxBytes: 64 << 20}}
}

func (a *Audit) flags() []cli.Flag {
	return []cli.Flag{
		{Name: "audit", Path: "audit.path", Args: "FILE", To: &a.Path,
			Help: "append an event before and after every run to this log, and before each change of a sandbox from outside; " +
				"a run that cannot be logged is refused"},
		{Name: "audit-sync", Path: "audit.sync", Args: "WHEN", To: &a.Sync, Words: []string{"always", "interval",
			"never"}, Help: "when events must have reached the disk: always, interval (within a second) or never"},
		{Name: "audit-max", Path: "audit.max_bytes", Args: "SIZE", To: &a.MaxBytes, Min: 1 << 20, Max: maxBytes,
			Help: "begin a new file at this size"},
		{Name: "audit-keep", Path: "audit.keep", Args: "N", To: &a.Keep, Max: maxCount,
			Help: "the number of full files to keep; 0 keeps all"},
		{Name: "audit-key", Path: "audit.key", Args: "FILE", To: &a.KeyFile,
			Help: "sign the log's checkpoints with this private key (brigd token keygen makes one)"},
		{Name: "audit-argv", Path: "audit.argv", To: &a.Argv,
			Help: "log the arguments of commands, not only their digest, and messages that may repeat them; they may " +
				"contain secrets"},
	}
}

func (a *Audit) check(g given) error {
	return g.useless(a.Path == "", " is about an audit log, and there is none; add --audit FILE",
		"audit.sync", "audit.max_bytes", "audit.keep", "audit.key", "audit.argv")
}
