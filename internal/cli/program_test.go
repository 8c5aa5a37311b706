package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// The test binary is the programs whose names are in a variable.
func TestMain(m *testing.M) {
	if p := map[string]*Program{"jailer": jailer(), "server": server()}[os.Getenv("CLI_PROGRAM")]; p != nil {
		os.Exit(p.Main(os.Args[1:], Stdio{Name: p.Name, In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	os.Exit(m.Run())
}

// call returns the exit code of a program, its answer and its messages.
func call(t *testing.T, p *Program, args ...string) (code int, out, err string) {
	t.Helper()
	std := Stdio{Name: p.Name}
	dir := t.TempDir()
	for name, to := range map[string]**os.File{"out": &std.Out, "err": &std.Err} {
		f := must.Get(os.Create(filepath.Join(dir, name)))(t)
		defer f.Close()
		*to = f
	}
	code = p.Main(args, std)
	read := func(name string) string {
		text := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
		return string(text)
	}
	return code, read("out"), read("err")
}

func TestCommands(t *testing.T) {
	long := strings.Repeat("x", 80)
	for _, x := range []struct{ program, line, out, err string }{
		{"jailer", "run --bind a b id", "bind a b\nid\n", "jailer: 1 flags\n"},
		{"jailer", "run --nett", "", `jailer: "--nett" is not a flag; did you mean --net?` + "\n"},
		{"jailer", "", "", "jailer: there is no command; write jailer run -- COMMAND, or jailer help\n"},
		{"jailer", "version", "jailer 1.2\n", ""},
		{"jailer", "-V", "jailer 1.2\n", ""},
		{"jailer", "version --json", `{"version":"1.2"}` + "\n", ""},
		{"jailer", "version x", "", `jailer: version: "x" is not a flag of it; write jailer version or jailer version --json` + "\n"},
		{"jailer", "rum", "", `jailer: "rum" is not a command of jailer; did you mean jailer run?` + "\n"},
		{"jailer", "frobnicate", "", `jailer: "frobnicate" is not a command of jailer; write jailer run -- "frobnicate"` + "\n"},
		{"jailer", "--tty", "", `jailer: "--tty" comes too early; flags follow the command, as in jailer run --tty -- id` + "\n"},
		{"jailer", "help net", "about the net\n", ""},
		{"jailer", "help limit", "", `jailer: help: "limit" is neither a command of jailer nor a topic; did you mean limits?` + "\n"},
		{"jailer", "help \x1b", "", `jailer: help: "\x1b" is neither a command of jailer nor a topic; write one of run, show, gc, policy, version, help, completion, man, net, limits` + "\n"},
		{"jailer", "man x", "", `jailer: man: "x" is not wanted; write jailer man alone` + "\n"},
		{"jailer", "completion", "", "jailer: completion: it takes the name of one shell; write jailer completion bash, zsh or fish\n"},
		{"jailer", "completion bsh", "", `jailer: completion: "bsh" is not a known shell; did you mean bash?` + "\n"},
		{"jailer", "completion bash zsh", "", "jailer: completion: it takes the name of one shell; write jailer completion bash, zsh or fish\n"},
		{"server", "help token", "the help of token\n", ""},
		{"server", long, "", `server: "` + long[:64] + `"... (80 bytes) is not a command of server; write one of serve, mcp, token, version, help, completion, man` + "\n"},
		{"server", "help serv", "", `server: help: "serv" is not a command of server; did you mean serve?` + "\n"},
	} {
		p := map[string]*Program{"jailer": jailer(), "server": server()}[x.program]
		code, out, err := call(t, p, strings.Fields(x.line)...)
		want := 0
		if x.out == "" {
			want = ExitUsage
		}
		if code != want || out != x.out || err != x.err {
			t.Errorf("%s %s: %d\n%s%swant %d\n%s%s", x.program, x.line, code, out, err, want, x.out, x.err)
		}
	}
}

// The commands that each program has print what the table makes, and help in each of its forms.
func TestHelpForms(t *testing.T) {
	for _, p := range []*Program{jailer(), server()} {
		for line, want := range map[string]string{
			"help": p.Help(), "-h": p.Help(), "--help": p.Help(), "help --help": p.Help(),
			"help version": p.CommandHelp("version"), "version -h": p.CommandHelp("version"),
			"man --help": p.CommandHelp("man"), "completion -h": p.CommandHelp("completion"),
			"man": p.ManualPage(), "completion zsh": p.Completion("zsh"),
		} {
			if code, out, err := call(t, p, strings.Fields(line)...); code != 0 || out != want || err != "" {
				t.Errorf("%s %s: %d, %s%s", p.Name, line, code, out, err)
			}
		}
		for _, c := range p.all() {
			for l := range strings.SplitSeq(p.CommandHelp(c.Name), "\n") {
				if len(l) > HelpWidth {
					t.Errorf("%s: %d columns: %s", c.Name, len(l), l)
				}
			}
		}
	}
}

func TestFailAndEmit(t *testing.T) {
	r, w, err := os.Pipe()
	must.Do(t, err)
	std := Stdio{Name: "x", Err: w}
	if code := std.Fail(strings.Split("a b c d e f g h i j k l", " ")...); code != ExitUsage {
		t.Error(code)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	std.Out = full
	if code := std.Emit("y"); code != ExitUsage {
		t.Error(code)
	}
	w.Close()
	var text [500]byte
	n, _ := r.Read(text[:])
	want := "x: a\nx: b\nx: c\nx: d\nx: e\nx: f\nx: g\nx: h\nx: i\nx: j\nx: and 2 more problems\n" +
		"x: cannot write to stdout: no space left on device; give it a reader or more room\n"
	if string(text[:n]) != want {
		t.Errorf("%s", text[:n])
	}
	if std.Fail("gone") != ExitUsage || Reason(errors.New("a")) != "a" { // Err is closed
		t.Error("the code depends on Err")
	}
}

// Bash completion is run in a real bash.
func TestBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	self, err := os.Executable()
	must.Do(t, err)
	for line, want := range map[string]string{
		"jailer ru":                    "run",
		"jailer run --no":              "--no-init",
		"jailer run --net h":           "host",
		"jailer run --net = h":         "host",
		"jailer run -n h":              "host",
		"jailer show --bind a b -n no": "none",
		"jailer run --tty -- --net":    "",
		"jailer run id --net":          "",
		"jailer gc --j":                "--json",
		"jailer policy li":             "list lint",
		"jailer help lim":              "limits",
		"jailer completion f":          "fish",
		"server serve --too":           "",
		"server mcp --too":             "--tools",
		"server serve --log j":         "json",
		"server serve --log = j":       "json",
		"server serve --listen ''":     "",
		"server token m":               "mint",
		"server serve --strict --con":  "--config",
		"server mcp --log text --lis":  "--listen",
		"server completion z":          "zsh",
	} {
		name, _, _ := strings.Cut(line, " ")
		p := map[string]*Program{"jailer": jailer(), "server": server()}[name]
		script := name + `() { CLI_PROGRAM=` + name + ` ` + self + ` "$@"; }` + "\n" + p.Completion("bash") + "\nCOMP_WORDS=(" + line + ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_" + name + "\necho \"${COMPREPLY[*]}\"\n"
		cmd := exec.Command(bash, "--norc", "-c", script)
		cmd.Dir = t.TempDir()
		if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%s: %q, %v; want %q", line, out, err, want)
		}
	}
}

// zsh and fish at least accept their scripts, where they are installed.
func TestOtherShells(t *testing.T) {
	for _, shell := range []string{"zsh", "fish"} {
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("no %s here", shell)
			continue
		}
		cmd := exec.Command(shell, "-n")
		cmd.Stdin = strings.NewReader(jailer().Completion(shell))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
}

// What is offered is known by the words before it.
func TestComplete(t *testing.T) {
	for line, want := range map[string]string{
		"":                          "run show gc policy version help completion man",
		"run --filter":              "--filter",
		"run --filter ":             "strict none \tfiles",
		"run --filter=":             "--filter=strict --filter=none \tfiles",
		"run --bind a b ":           "\tcommand 4",
		"run --bind a ":             "\tfiles",
		"run --root=1g l":           "\tcommand 2",
		"run --root = 1g l":         "\tcommand 4",
		"run -n=h":                  "-n=host",
		"run -- ls -":               "\tcommand 2",
		"run ls -":                  "\tcommand 1",
		"run - -":                   "\tcommand 1",
		"policy lint ":              "\tfiles --help",
		"policy -":                  "--help",
		"nothing ":                  "",
		"gc --j":                    "--json",
		"show --env A=b --net none": "none",
	} {
		var got []string
		for offer := range strings.Lines(jailer().Complete(strings.Split(line, " "))) {
			if offer = strings.TrimSuffix(offer, "\n"); offer[0] != '\t' {
				offer, _, _ = strings.Cut(offer, "\t")
			}
			got = append(got, offer)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
