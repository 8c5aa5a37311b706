package verbs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	for line, want := range map[string]string{ // the exit code, and what was printed
		"":                  "125 x: there is no command; write one of show, keep, differ, or --help\n",
		"help":              "0 the help",
		"--help":            "0 the help",
		"show -h":           "0 the help",
		"show a -h":         "0 the help",
		"show a":            "0 a",
		"show a b":          "0 a b",
		"show --json a":     "0 a json",
		"show -json=true a": "0 a json",
		"show a --json b":   "0 a b json",
		"show":              "125 x: show: write x show FILE...; --help has examples\n",
		"keep a":            "125 x: keep: write x keep; --help has examples\n",
		"show a --jsn":      "125 x: show: \"--jsn\" is not a flag; did you mean --json?\n",
		"show -jsn=1 a":     "125 x: show: \"-jsn\" is not a flag; did you mean --json?\n",
		"show --colour a":   "125 x: show: \"--colour\" is not a flag; write one of --json\n",
		"show --json=2 a":   "125 x: show: --json: invalid boolean value \"2\": parse error; x --help tells what it takes\n",
		"show --=2 a":       "125 x: show: bad flag syntax: --=2; x --help lists the flags\n",
		"show \x1b[m -\x1b": "125 x: show: \"-\\x1b\" is not a flag; write one of --json\n",
		"keep --json":       "125 x: keep: \"--json\" is not a flag; x keep has none\n",
		"show bad":          "125 x: show: it is \\x1bbad\nreally\n",
		"show worse":        "3 x: it is worse\n",
		"keep":              "0 kept",
		"differ":            "1 ",
		"shw":               "125 x: \"shw\" is not a command of x; did you mean show?\n",
		"frobnicate":        "125 x: \"frobnicate\" is not a command of x; write one of show, keep, differ\n",
		"\x1b[m":            "125 x: \"\\x1b[m\" is not a command of x; write one of show, keep, differ\n",
	} {
		var out bytes.Buffer
		asJSON, worse := false, errors.New("worse")
		s := Set{Name: "x", Usage: "the help", Verbs: []Verb{
			{Name: "show", Args: "FILE...", Least: 1, Most: 2, Flags: "json", Run: func(args []string) error {
				text := strings.Join(args, " ")
				switch {
				case text == "bad":
					return errors.New("it is \x1bbad\nreally")
				case text == "worse":
					return worse
				case asJSON:
					text += " json"
				}
				return Print(&out, "%s", text)
			}},
			{Name: "keep", Run: func([]string) error { return Print(&out, "kept") }},
			{Name: "differ", Run: func([]string) error { return Exit(1) }},
		}, Failed: func(err error) (int, string) {
			if errors.Is(err, worse) {
				return 3, "it is worse"
			}
			return ExitUsage, err.Error()
		}}
		s.Flags.BoolVar(&asJSON, "json", false, "")
		code := s.Main(strings.Fields(line), &out, &out)
		if got := fmt.Sprint(code, " ", out.String()); got != want {
			t.Errorf("%q: %q; want %q", line, got, want)
		}
	}
}

// A command that cannot print its answer, or why it has failed, does not succeed.
func TestClosedStreams(t *testing.T) {
	closed, w := io.Pipe()
	closed.Close()
	var errs bytes.Buffer
	s := Set{Name: "x", Failed: func(error) (int, string) { return 1, "no" }}
	if code := s.Main([]string{"--help"}, w, &errs); code != 1 || errs.String() != "x: no\n" {
		t.Errorf("%d %q", code, errs.String())
	}
	if code := s.Main([]string{"--help"}, w, w); code != ExitUsage {
		t.Error(code)
	}
}
