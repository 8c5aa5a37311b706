package main

import (
	"io"
	"log/slog"
	"strings"
	"unicode"
	"unicode/utf8"

	"brig/brigd/internal/config"
)

// maxLogged bounds a text in the log, in bytes.
const maxLogged = 4096

// newLogger returns a logger that writes to w. slog's handlers quote every value, so that no byte of a payload can
// control a terminal or begin a line. Attributes named like a secret are left out.
func newLogger(w io.Writer, c *config.Config) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Operation.LogLevel)) // config.Parse takes no other word
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: harmless}
	if c.Operation.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// harmless removes secrets from the log and shortens long texts.
func harmless(_ []string, a slog.Attr) slog.Attr {
	switch strings.ToLower(a.Key) {
	case "authorization", "token", "bearer", "key", "secret", "secrets", "password", "env":
		return slog.String(a.Key, "(not logged)")
	}
	if err, ok := a.Value.Any().(error); ok {
		a.Value = slog.StringValue(err.Error())
	}
	if a.Value.Kind() == slog.KindString {
		a.Value = slog.StringValue(tame(a.Value.String()))
	}
	return a
}

// tame shortens a text and removes invisible non-ASCII characters, such as marks of writing direction, which the JSON
// handler does not escape. The handlers quote the others.
func tame(s string) string {
	if len(s) > maxLogged {
		s = strings.ToValidUTF8(s[:maxLogged], "") + "..."
	}
	return strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf && !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
