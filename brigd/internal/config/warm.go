package config

import (
	"slices"
	"strconv"
	"strings"

	"brig/brigd/engine"
	"brig/internal/cli"
	"brig/internal/words"
)

// Warm are the settings of what is started or compiled before a run needs it.
type Warm struct {
	GoCache      bool
	Written      []string
	Interpreters []engine.Warm // what is in Written
}

func (w *Warm) flags() []cli.Flag {
	return []cli.Flag{
		{Name: "go-cache", Path: "jails.go_cache", To: &w.GoCache,
			Help: "compile Go's standard library once, in the background, so that each run of Go code need not: a minute " +
				"of one processor and some 110 MiB of memory"},
		{Name: "warm", Path: "jails.warm", Args: "LANGUAGE=N[,imports=A,B]", To: &w.Written,
			Help: "keep N interpreters of this language started, each in a jail of its own and for one run, with these " +
				"modules loaded: python, javascript or javascript-module; may be repeated"},
	}
}

// check parses Written: LANGUAGE=N, and perhaps ,imports= with names that are separated by commas.
func (w *Warm) check() error {
	for _, text := range w.Written {
		head, imports, named := strings.Cut(text, ",imports=")
		language, count, _ := strings.Cut(head, "=")
		n, err := strconv.Atoi(count)
		one := engine.Warm{Language: strings.TrimSpace(language), Count: n}
		if named {
			one.Imports = strings.Split(imports, ",")
		}
		if err != nil || n < 1 || n > engine.MaxWarm || one.Language == "" || slices.Contains(one.Imports, "") {
			return wrong(true, "jails.warm",
				": %s is no language with a number from 1 to %d; write as in python=4 or python=4,imports=json,re",
				words.Quote(text), engine.MaxWarm)
		}
		w.Interpreters = append(w.Interpreters, one)
	}
	return nil
}
