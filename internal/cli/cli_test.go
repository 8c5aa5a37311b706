package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/golden"
)

// options are what the flags of a jailer's command have set.
type options struct {
	list       []string // each call, as "name value..."
	tty, table bool
}

func (o *options) note(name string) func([]string) error {
	return func(v []string) error {
		o.list = append(o.list, strings.TrimSpace(name+" "+strings.Join(v, " ")))
		return nil
	}
}

// flags has a row of each form.
func (o *options) flags() []Flag {
	return append(InGroup("Files", []Flag{
		{Name: "bind", Args: "SRC DST", Many: true, Files: true, Set: o.note("bind"), Help: "show SRC at DST, it's writable"},
		{Name: "env", Short: 'e', Args: "NAME[=VALUE]", Many: true, Set: o.note("env"), Help: "set a variable"},
		{Name: "root", Args: "SIZE", Path: "root", Set: o.note("root"), Bare: o.note("bare root"), Help: "a root of SIZE"},
	}), InGroup("Isolation", []Flag{
		{Name: "filter", Args: "FILE|NAME", Files: true, Words: []string{"strict", "none"}, Set: o.note("filter"), Bare: Switch(&o.table, true), Greedy: true,
			Help: "the filter of calls; alone, print it in a sentence that is long enough to need a second line of help"},
		{Name: "net", Short: 'n', Args: "none|host", Words: []string{"none", "host"}, Set: o.note("net"), Help: "the network: none [default] or host"},
		{Name: "tty", Short: 't', Set: Switch(&o.tty, true), Help: "a terminal"},
		{Name: "init", Path: "no_init", Set: o.note("init"), Help: "an init"},
		{Name: "no-init", Path: "no_init", Set: o.note("no-init"), Help: "no init"},
	})...)
}

func hints() []Hint {
	return []Hint{{"-v --volume", "write --bind SRC DST"}, {"--unshare-*", "that is always so"}}
}

// jailer is a program like brig.
func jailer() *Program {
	return &Program{
		Name: "jailer", Version: "1.2", Summary: "run things",
		Commands: []Command{
			{Name: "run", Args: "[FLAG...] [--] COMMAND", What: "run a command", Kind: Payload, Flags: new(options).flags, Run: runJailer,
				After: func(h *Help) { h.WriteString("\nExit codes:\n"); h.Row("0", "good", 14) }},
			{Name: "show", Args: "[FLAG...] [--] COMMAND", What: "show what run would do", Kind: Payload, Flags: new(options).flags, Run: runJailer},
			{Name: "gc", Args: "[--json]", What: "collect", About: "\nIt takes no time.\n", Flags: func() []Flag { return []Flag{JSON(nil)} }},
			{Name: "policy", Args: "list|lint [ARG...]", What: "look at policies"},
		},
		Examples: func() []Example {
			return []Example{{"jailer run -- id", "a command"}, {"curl x", "the same from afar"}, {"jailer show -- id", "only look"}}
		},
		Topics: []Topic{{"net", func() string { return "about the net\n" }}, {"limits", nil}},
		Try:    "jailer run -- COMMAND", TryFlag: "jailer run --tty -- id", Otherwise: "write jailer run -- ", HelpEnd: "That is all.",
		Manual: Manual{Section: "1", Book: "User Commands", Description: "It runs 'things'.", Options: "Flags.", Of: "run",
			Rest: func(m *Page) { m.Section("SEE ALSO", "id(1)", ".second"); m.Verbatim("  a\n\n  b\n") }},
	}
}

func runJailer(args []string, std Stdio) int {
	var o options
	rest, help, err := (&Table{Flags: o.flags(), Hints: hints}).Parse(args)
	switch {
	case err != nil:
		return std.Fail(strings.Split(err.Error(), "\n")...)
	case help:
		return std.Emit(jailer().CommandHelp("run"))
	}
	std.Say("%d flags", len(o.list))
	return std.Emit(strings.Join(append(o.list, rest...), "\n") + "\n")
}

// server is a program like brigd.
func server() *Program {
	flags := func(more ...Flag) func() []Flag {
		return func() []Flag {
			return append([]Flag{
				{Name: "listen", Args: "WHERE", Group: "Sockets", Path: "listen", Help: "tcp:HOST:PORT or a path"},
				{Name: "key", Args: "FILE", Group: "Sockets", Path: "auth.key", Files: true, Help: "the server's key"},
				{Name: "log", Args: "FORMAT", Group: "Log", Path: "log", Words: []string{"text", "json"}, Help: "text or json"},
				{Name: "strict", Group: "Log", Path: "strict", Help: "refuse"},
				{Name: "config", Args: "FILE", Files: true, Help: "a file of settings"},
			}, more...)
		}
	}
	return &Program{
		Name: "server", Version: "1.2", Summary: "serve things", WordsOnly: true,
		Commands: []Command{
			{Name: "serve", Args: "[FLAG...]", What: "serve HTTP", Kind: Service, Flags: flags()},
			{Name: "mcp", Args: "[FLAG...]", What: "serve MCP", Kind: Service, Flags: flags(Flag{Name: "tools", Args: "FILE", Group: "MCP", Path: "tools", Files: true, Help: "tools"})},
			{Name: "token", Args: "mint|show [ARG...]", What: "make tokens", Text: "the help of token\n"},
		},
		Examples: func() []Example { return []Example{{"server serve", "serve"}, {"curl x", "ask"}} },
		Try:      "server serve", TryFlag: "server serve --log json", HelpEnd: "That is all.",
		Manual: Manual{Section: "8", Book: "Administration", Of: "mcp", Rest: func(*Page) {}},
	}
}

// TestGolden compares what the tables make with a file for each program.
func TestGolden(t *testing.T) {
	for _, p := range []*Program{jailer(), server()} {
		text := "-- help --\n" + p.Help()
		for _, c := range p.all() {
			text += "-- help " + c.Name + " --\n" + p.CommandHelp(c.Name)
		}
		text += "-- man --\n" + p.ManualPage()
		for _, shell := range []string{"bash", "zsh", "fish"} {
			text += "-- " + shell + " --\n" + p.Completion(shell)
		}
		golden.File(t, filepath.Join("testdata", p.Name+".txt"), text)
	}
}
