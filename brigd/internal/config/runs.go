package config

import (
	"brig/brigd/engine"
	"brig/internal/cli"
	"brig/nsjail"
)

// Runs are the settings of the limits of a run.
type Runs struct {
	Timeout, MaxTimeout nsjail.Duration
	Memory, MaxOutput   nsjail.Bytes
}

func defaultRuns() Runs {
	return Runs{Timeout: engine.DefaultTimeout, MaxTimeout: engine.DefaultMaxTimeout, MaxOutput: engine.DefaultMaxOutput}
}

func (r *Runs) flags() []cli.Flag {
	return []cli.Flag{
		{Name: "timeout", Path: "jails.timeout", Args: "TIME", To: &r.Timeout, Min: 0.001, Max: maxTime,
			Help: "the time limit of a run whose request names none"},
		{Name: "max-timeout", Path: "jails.max_timeout", Args: "TIME", To: &r.MaxTimeout, Min: 0.001, Max: maxTime,
			Help: "the largest time limit that a request may name"},
		{Name: "memory", Path: "jails.memory", Args: "SIZE", To: &r.Memory, Max: maxBytes,
			Help: "the memory limit of a run whose request names none; 0 is no limit"},
		{Name: "max-output", Path: "jails.max_output", Args: "SIZE", To: &r.MaxOutput, Min: 1, Max: 1 << 30,
			Help: "the most bytes of stdout and of stderr that are returned"},
	}
}

func (r *Runs) check() error {
	return wrong(r.Timeout > r.MaxTimeout, "jails.timeout", more, r.Timeout, "max-timeout", r.MaxTimeout)
}
