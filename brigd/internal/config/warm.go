package config

import (
	"slices"
	"strconv"
	"strings"

	"brig/brigd/engine"
	"brig/internal/words"
)

// checkWarm parses Warm: LANGUAGE=N, and perhaps ,imports= with names that are separated by commas.
func (c *Config) checkWarm() error {
	for _, text := range c.Warm {
		head, imports, named := strings.Cut(text, ",imports=")
		language, count, _ := strings.Cut(head, "=")
		n, err := strconv.Atoi(count)
		w := engine.Warm{Language: strings.TrimSpace(language), Count: n}
		if named {
			w.Imports = strings.Split(imports, ",")
		}
		if err != nil || n < 1 || n > engine.MaxWarm || w.Language == "" || slices.Contains(w.Imports, "") {
			return c.wrong(true, "jails.warm",
				": %s is no language with a number from 1 to %d; write as in python=4 or python=4,imports=json,re",
				words.Quote(text), engine.MaxWarm)
		}
		c.Engine.Warm = append(c.Engine.Warm, w)
	}
	return nil
}
