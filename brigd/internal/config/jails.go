package config

import (
	"brig/internal/cli"
	"brig/nsjail/spec"
)

// Jails are the settings of how jails are made: what every one begins with, and what is kept ready.
type Jails struct {
	SpecFile string
	Pool     int
	System   spec.System
	Optional []string
}

func (j *Jails) flags() []cli.Flag {
	return []cli.Flag{
		{Name: "spec", Path: "jails.spec", Args: "FILE", To: &j.SpecFile,
			Help: "what every jail begins with: the JSON of brig spec, without a command and mounts"},
		{Name: "pool", Path: "jails.pool", Args: "N", To: &j.Pool, Max: 4096,
			Help: "the number of network namespaces to keep ready"},
		{Name: "system", Path: "jails.system", Args: "MODE", To: (*string)(&j.System),
			Help: "how jails without an image show this machine's /usr: by overlays of their own (private, the default), or " +
				"by read-only binds (shared), which are faster, and through which locks and watches cross"},
		{Name: "optional", Path: "jails.optional", Args: "A,B", To: &j.Optional,
			Help: "mechanisms that a jail may do without where this machine lacks them, as in memory,cpus for a user " +
				"without a control group; may be repeated"},
	}
}
