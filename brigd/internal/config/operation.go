package config

import (
	"time"

	"brig/internal/cli"
	"brig/nsjail"
)

// Operation are the settings of how brigd ends, and of what it writes on stderr.
type Operation struct {
	DrainTimeout        nsjail.Duration
	LogFormat, LogLevel string
}

func defaultOperation() Operation {
	return Operation{DrainTimeout: nsjail.Duration(30 * time.Second), LogFormat: "text", LogLevel: "info"}
}

func (o *Operation) flags() []cli.Flag {
	return []cli.Flag{
		{Name: "drain-timeout", Path: "drain_timeout", Args: "TIME", To: &o.DrainTimeout,
			Max: maxTime, Help: "the time that running jails have after SIGTERM; a second signal ends them at once"},
		{Name: "log-format", Path: "log.format", Args: "FORMAT", To: &o.LogFormat, Words: []string{"text", "json"},
			Help: "text or json, on stderr"},
		{Name: "log-level", Path: "log.level", Args: "LEVEL", To: &o.LogLevel, Words: []string{"debug", "info", "warn",
			"error"}, Help: "debug, info, warn or error"},
	}
}
