package main

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brig/cmd/brig/internal/wish"
	"brig/internal/cli"
	"brig/internal/test/asuser"
	"brig/internal/test/golden"
)

func TestGolden(t *testing.T) {
	if asuser.Second() {
		t.Skip("it does not depend on the user")
	}
	p := program()
	golden.File(t, filepath.Join("..", "..", "docs", "brig.1"), p.ManualPage())
	golden.File(t, "testdata/help.txt", p.Help())
	for _, name := range []string{"run", "explain", "learn", "spec", "convert", "doctor", "gc", "diff", "apply", "discard", "changes"} {
		golden.File(t, "testdata/help-"+name+".txt", p.CommandHelp(name))
	}
	for _, topic := range p.Topics {
		golden.File(t, "testdata/help-"+topic.Name+".txt", topic.Help())
	}
}

func TestHelpFits(t *testing.T) {
	p := program()
	for _, c := range p.Commands {
		for _, line := range strings.Split(p.CommandHelp(c.Name), "\n") {
			if len(line) > cli.HelpWidth {
				t.Errorf("%s: %d columns: %s", c.Name, len(line), line)
			}
		}
	}
	for _, topic := range p.Topics {
		for _, line := range strings.Split(topic.Help(), "\n") {
			if len(line) > cli.HelpWidth {
				t.Errorf("%s: %d columns: %s", topic.Name, len(line), line)
			}
		}
	}
	if !strings.HasPrefix(p.Help(), "Examples:\n") || !strings.HasPrefix(p.CommandHelp("run"), "Examples:\n") {
		t.Error("help does not begin with examples")
	}
}

// A command of brigd is refused with the line to write. brig executes brigd for none of them.
func TestWordsOfBrigd(t *testing.T) {
	for line, want := range map[string]string{
		"serve":             `brig: "serve" is a command of brigd; write brigd serve`,
		"policy list":       `brig: "policy" is a command of brigd; write brigd policy`,
		"queue --help":      `brig: "queue" is a command of brigd; write brigd queue`,
		"help mcp":          `brig: help: "mcp" is a command of brigd; write brigd help mcp`,
		"help image --help": "",
	} {
		out, err := exec.Command(brigBinary(t), strings.Fields(line)...).CombinedOutput()
		code := 0
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			code = exit.ExitCode()
		}
		if want != "" && (string(out) != want+"\n" || code != cli.ExitUsage) || want == "" && code != 0 {
			t.Errorf("%s: %q, %d", line, out, code)
		}
	}
}

// noFiles is a reader of files that are not there.
func noFiles(string, int) ([]byte, error) { return nil, os.ErrNotExist }

// The examples of help are command lines that parse.
func TestExamplesParse(t *testing.T) {
	for _, e := range examples() {
		words := strings.Fields(strings.Split(e[0], " >")[0])
		inv, _, err := wish.Parse(words[1], nil, words[2:], noFiles)
		if err != nil || len(inv.Problems(inFlags)) > 0 {
			t.Errorf("%s: %v", e[0], err)
		}
	}
}

// The completions know where the command of the payload begins.
func TestCompletion(t *testing.T) {
	for line, want := range map[string]string{
		"brig ru":                             "run",
		"brig run --ro-b":                     "--ro-bind --ro-bind-live",
		"brig run --net lo":                   "loopback",
		"brig run --net = lo":                 "loopback",
		"brig explain -e A=b --require secc":  "seccomp",
		"brig run --bind a /b --net no":       "none",
		"brig completion f":                   "fish",
		"brig doctor --j":                     "--json",
		"brig doctor --del":                   "--delegate",
		"brig help lim":                       "limits",
		"brig run --seccomp s":                "strict files",
		"brig gc --cg":                        "--cgroup-parent",
		"brig diff --st":                      "--stat",
		"brig apply --d":                      "--dry-run",
		"brig run -m 64m --require memory_sw": "memory_swap",
		"brig run --hugetlb 2":                "2MB=",
		"brig run --tty -- --memory":          "command 3",
		"brig run ls --memory":                "command 1",
	} {
		var got []string
		for offer := range strings.Lines(program().Complete(strings.Fields(line)[1:])) {
			name, help, _ := strings.Cut(strings.TrimSuffix(offer, "\n"), "\t")
			got = append(got, cmp.Or(name, help))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
