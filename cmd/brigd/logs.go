package main

import (
	"io"
	"log/slog"
	"strings"

	"brig/cmd/brigd/internal/config"
)

// maxLogged bounds a text in the log, in bytes.
const maxLogged = 4096

// newLogger writes lines to w. slog's handlers quote every value, so that no payload's byte acts on a terminal or begins a
// line; what is named like a secret is left out.
func newLogger(w io.Writer, c *config.Config) *slog.Logger {
	var level slog.Level
	switch c.LogLevel {
	case "debug":
		level = slog.LevelDebug
	case "warn":
		level = slog.LevelWarn
	case "error":
		level = slog.LevelError
	}
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: harmless}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// harmless keeps secrets and endless texts out of the log.
func harmless(_ []string, a slog.Attr) slog.Attr {
	switch strings.ToLower(a.Key) {
	case "authorization", "token", "bearer", "key", "secret", "secrets", "password", "env":
		return slog.String(a.Key, "(not logged)")
	}
	if a.Value.Kind() == slog.KindString && len(a.Value.String()) > maxLogged {
		return slog.String(a.Key, a.Value.String()[:maxLogged]+"...")
	}
	return a
}
