package config

import (
	"strings"

	"brig/brigd/engine"
	"brig/internal/cli"
	"brig/internal/words"
)

// Languages are the settings of the programs that run code.
type Languages struct {
	Written      []string
	Interpreters []engine.Interpreter // what is in Written
}

func (l *Languages) flags() []cli.Flag {
	return []cli.Flag{
		{Name: "language", Path: "jails.languages", Args: "LANGUAGE=PATH[,share=NAME]", To: &l.Written,
			Help: "run code in this language by the program at PATH of the jail; the jail shows this share, which holds it, " +
				"read-only at its own path, so that a virtual environment works; may be repeated"},
	}
}

// check parses Written: LANGUAGE=PATH, and perhaps ,share=NAME.
func (l *Languages) check() error {
	for _, text := range l.Written {
		head, name, named := strings.Cut(text, ",share=")
		language, path, ok := strings.Cut(head, "=")
		if !ok || language == "" || path == "" || named && name == "" {
			return wrong(true, "jails.languages",
				": %s is not LANGUAGE=PATH; write as in python=/venv/bin/python,share=venv", words.Quote(text))
		}
		l.Interpreters = append(l.Interpreters, engine.Interpreter{Language: language, Path: path, Share: name})
	}
	return nil
}
