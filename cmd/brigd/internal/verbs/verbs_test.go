package verbs

import (
	"errors"
	"flag"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	for line, want := range map[string]string{ // what show got, or an error
		"":                  "error: there is no command; write show or keep, or --help",
		"help":              "error: " + flag.ErrHelp.Error(),
		"--help":            "error: " + flag.ErrHelp.Error(),
		"show -h":           "error: " + flag.ErrHelp.Error(),
		"show a -h":         "error: " + flag.ErrHelp.Error(),
		"show":              "",
		"show a b":          "a b",
		"show --json a":     "a json",
		"show -json=true a": "a json",
		"show a --json b":   "a b json",
		"show a --jsn":      "error: show: flag provided but not defined: -jsn; x --help lists the flags",
		"show bad":          "error: it is bad",
		"keep a":            "kept",
		"shw":               `error: "shw" is not a verb; did you mean show?`,
		"frobnicate":        `error: "frobnicate" is not a verb; write one of show, keep`,
		"\x1b[m":            `error: "\x1b[m" is not a verb; write one of show, keep`,
	} {
		var got string
		asJSON := false
		s := Set{Name: "x", None: "show or keep", Is: "a verb", All: true, Mixed: true, Verbs: []Verb{
			{Name: "show", Flags: func(f *flag.FlagSet) { f.BoolVar(&asJSON, "json", false, "") }, Run: func(args []string) error {
				if got = strings.Join(args, " "); asJSON {
					got += " json"
				}
				if got == "bad" {
					return errors.New("it is bad")
				}
				return nil
			}},
			{Name: "keep", Run: func([]string) error { got = "kept"; return nil }},
		}}
		if err := s.Run(strings.Fields(line)); err != nil {
			got = "error: " + err.Error()
		}
		if got != want {
			t.Errorf("%q: %s; want %s", line, got, want)
		}
	}
	s := Set{Name: "x", Is: "a verb", Verbs: []Verb{{Name: "show", Run: func(args []string) error { return errors.New(strings.Join(args, " ")) }}}}
	for line, want := range map[string]string{"frobnicate": `"frobnicate" is not a verb`, "shw": `"shw" is not a verb; did you mean show?`, "show a -b": "a -b"} {
		if err := s.Run(strings.Fields(line)); err == nil || err.Error() != want {
			t.Errorf("%q: %v; want %s", line, err, want)
		}
	}
}
