package config

import (
	"slices"
	"strings"

	"brig/brigd/engine"
	"brig/brigd/share"
	"brig/internal/words"
)

// checkShares parses Shares.
func (c *Config) checkShares() error {
	for _, text := range c.Shares {
		s, err := share.Parse(text)
		if err != nil {
			return c.wrong(true, "jails.shares", ": %w", err)
		}
		c.Engine.Shares = append(c.Engine.Shares, s)
	}
	return nil
}

// HasCOW reports whether there is a share whose changes are kept apart.
func (c *Config) HasCOW() bool {
	return slices.ContainsFunc(c.Engine.Shares, func(s share.Share) bool { return s.Mode == "cow" })
}

// checkLanguages parses Languages: LANGUAGE=PATH, and perhaps ,share=NAME.
func (c *Config) checkLanguages() error {
	for _, text := range c.Languages {
		head, name, named := strings.Cut(text, ",share=")
		language, path, ok := strings.Cut(head, "=")
		if !ok || language == "" || path == "" || named && name == "" {
			return c.wrong(true, "jails.languages",
				": %s is not LANGUAGE=PATH; write as in python=/venv/bin/python,share=venv", words.Quote(text))
		}
		c.Engine.Interpreters = append(c.Engine.Interpreters, engine.Interpreter{Language: language, Path: path, Share: name})
	}
	return nil
}
