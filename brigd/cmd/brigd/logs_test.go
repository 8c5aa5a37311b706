package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"brig/brigd/internal/config"
)

// What a payload or a client has chosen cannot begin a line of the log, act on a terminal, or fill the disk by itself.
func TestLogIsNotForged(t *testing.T) {
	evil := "x\n2026-01-01 level=ERROR msg=forged\r\x1b[2J\u202e\xff\x00" + strings.Repeat("y", 10000)
	for _, format := range []string{"text", "json"} {
		c := config.Default()
		c.Operation.LogFormat = format
		var b bytes.Buffer
		log := newLogger(&b, c)
		log.Info("request", "agent", evil, "error", errors.New(evil), "token", "s3cret", "Authorization", "s3cret")
		log.Debug("not at this level")
		out := b.String()
		if strings.Count(out, "\n") != 1 || strings.ContainsAny(out, "\x1b\r\x00\u202e") || strings.Contains(out, "s3cret") || len(out) > 5*maxLogged {
			t.Errorf("%s: %.300q", format, out)
		}
		if format == "json" && !json.Valid(b.Bytes()) {
			t.Errorf("not JSON: %q", out)
		}
	}
	for level, want := range map[string]int{"debug": 4, "info": 3, "warn": 2, "error": 1} {
		c := config.Default()
		c.Operation.LogLevel = level
		var b bytes.Buffer
		log := newLogger(&b, c)
		log.Debug("d")
		log.Info("i")
		log.Warn("w")
		log.Error("e")
		if n := strings.Count(b.String(), "\n"); n != want {
			t.Errorf("%s: %d lines", level, n)
		}
	}
}
