package policycmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/brigd/internal/schema"
	"brig/brigd/lang"
	"brig/brigd/policy"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

func TestLintKnowsTheLanguages(t *testing.T) {
	said := func(name string) bool {
		return slices.ContainsFunc(policy.Lint(&policy.Policy{Languages: []string{name}}), func(f policy.Finding) bool { return f.Path == "languages[0]" })
	}
	for _, l := range lang.Find().List() {
		if said(l.Name) {
			t.Error(l.Name, "is not known")
		}
	}
	if !said("py") {
		t.Error("an alias passes for a name")
	}
}

// run is one command with its exit code and what it printed.
func run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, bad bytes.Buffer
	code = Run(args, strings.NewReader(stdin), &out, &bad)
	return code, out.String(), bad.String()
}

// profiles writes an operator's directory of profiles.
func profiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"mine.json":   `{"extends":"minimal","description":"my\u001b[31m own","limits":{"wall":"5s","memory":"1g"},"commands":["cat","ls"]}`,
		"wide.json":   `{"commands":["bash","*","no-such-command",{"command":"find"},{"command":"cat","deny":[["x"]]}],"network":{"modes":["host","egress"],"egress":{"allow":["*","tcp://a.example:443","10.0.0.0/8:443"]}},"seccomp":["unconfined"],"paths":{"write":["/"]},"features":["cgroup_files"]}`,
		"bad.json":    `{"commands":["cat"],"limits":{"memroy":"1g"}}`,
		"preset.json": `{"commands":["cat"],"seccomp":["defualt"]}`,
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

func TestCommands(t *testing.T) {
	dir := profiles(t)
	file := filepath.Join(dir, "wide.json")
	spec := filepath.Join(dir, "spec")
	must.Do(t, os.WriteFile(spec, []byte(`{"args":["cat","/input/x"],"limits":{"wall":"1h"},"hostname":"h"}`), 0o644))
	fifo := filepath.Join(t.TempDir(), "fifo")
	must.Do(t, unix.Mkfifo(fifo, 0o600))
	for _, c := range []struct {
		name, stdin string
		args        []string
		code        int
		want        []string // in stdout, or with code 125 in stderr
	}{
		{"help", "", []string{"--help"}, 0, []string{"Usage: brigd policy COMMAND"}},
		{"help of a command", "", []string{"lint", "--help"}, 0, []string{"Exit codes: 0; 1 lint"}},
		{"list", "", []string{"list"}, 0, []string{"minimal          Read and transform text", "python-data ", "any  "}},
		{"list of a directory", "", []string{"list", "--dir", dir}, 0, []string{`mine             my\x1b[31m own`, `bad              cannot be used: profile bad: limits: "memroy" is not a key here`}},
		{"list in JSON", "", []string{"list", "--json"}, 0, []string{`"name": "judge"`}},
		{"show", "", []string{"show", "--dir", dir, "mine"}, 0, []string{`"wall": "5s"`, `"cpu_time": "1m0s"`, `"name": "mine"`}},
		{"show of standard input", `{"extends":"judge","limits":{"wall":"3s"}}`, []string{"show", "-"}, 0, []string{`"wall": "3s"`, `"cpu_time": "10s"`}},
		{"schema", "", []string{"schema"}, 0, []string{"json-schema.org/draft/2020-12"}},
		{"lint", "", []string{"lint", "minimal"}, 0, []string{"minimal: warning: optional: a run may ask to do without memory, cpus", "0 errors"}},
		{"lint strictly", "", []string{"lint", "--strict", "minimal"}, 1, nil},
		{"lint of everything", "", []string{"lint"}, 0, []string{"in 7 policies", "build: warning: commands[0]: any command is allowed"}},
		{"lint of a wide one", "", []string{"lint", file}, 0, []string{
			"commands[0]: bash is a shell: with any arguments it can execute every program", "commands[1]: any command is allowed", "commands[2]: no-such-command is not on this machine",
			"commands[4].deny: whatever it does not list is allowed", "limits.memory: there is no ceiling", "limits.wall: there is no ceiling",
			"network.modes: host is the caller's own network", "every public name is allowed", "in mode tcp, other sites", "10.0.0.0/8:443: it is a wide range", "seccomp[0]: unconfined permits",
			`paths.write[0]: "/" has files`, "features[0]: a run can lift the ceilings"}},
		{"lint of find", `{"commands":["find",{"command":"find","deny_flags":["-exec"]},{"command":"/usr/bin/env","allow":[["a"]],"deny":[["a"]]},"ls",{"command":"ls","flags":["-l"]}],"network":{"egress":{"allow":["a.example"]}},"environment":{"set":["LD_PRELOAD","PATH"],"pass":["API_KEY"]},"limits":{"wall":"1s","grace":"2s"}}`, []string{"lint", "-"}, 0, []string{
			"commands[0]: find is a program with options that execute others", "commands[2].allow[0]: it has no effect", "commands[4]: it has no effect: commands[3] allows ls",
			"network.egress: it has no effect: the mode egress is not allowed", "environment.set[0]: LD_PRELOAD changes", "environment.set[1]: PATH changes", "environment.pass[0]: API_KEY is a secret", "limits.grace: it is longer than wall"}},
		{"lint of an open one", `{"open":true,"languages":["python"]}`, []string{"lint", "-"}, 0, []string{"open: an open policy allows whatever it does not mention", "only one of commands and languages is restricted"}},
		{"lint of an empty one", `{}`, []string{"lint", "-"}, 0, []string{"nothing can be run"}},
		{"lint of a bad one", "", []string{"lint", "--dir", dir, "bad", "mine"}, 1, []string{`bad: error: profile bad: limits: "memroy" is not a key here; did you mean memory?`, "1 errors"}},
		{"lint of a filter", "", []string{"lint", "--dir", dir, "preset"}, 1, []string{`preset: error: seccomp[0]: "defualt" is not a filter; did you mean default?`}},
		{"lint in JSON", "", []string{"lint", "--json", "--dir", dir, "bad"}, 1, []string{`"level": "error"`, `"errors": 1`}},
		{"diff", "", []string{"diff", "--dir", dir, "minimal", "mine"}, 1, []string{"commands                 less: basename, ", "limits.wall              less: 5s instead of 1m0s", "limits.memory            more: 1g instead of 256m"}},
		{"diff of languages", "", []string{"diff", "minimal", "python-data"}, 1, []string{"languages                more: python\n", "sandbox.disk             more: 512m instead of 64m"}},
		{"diff of the same", "", []string{"diff", "minimal", "minimal"}, 0, []string{"minimal allows what minimal allows"}},
		{"diff of network", `{"network":{"modes":["egress"],"egress":{"allow":["a.example:443"],"deny":["b.example"]}}}`, []string{"diff", "--json", "judge", "-"}, 1, []string{`"tls://a.example:443"`, `"now b.example:*"`}},
		{"explain", "", []string{"explain", "browse"}, 0, []string{"Commands that a request may name: cat, ", "What may be reached: tls://*:443.", "wall 2m0s"}},
		{"explain in JSON", "", []string{"explain", "browse", "--json"}, 0, []string{`"means": [`}},
		{"explain a command", "", []string{"explain", "minimal", "--", "cat", "/etc/hosts"}, 0, []string{"allowed\n", "narrowed: minimal: limits where none was asked for: wall 1m0s, cpu_time 1m0s, cpus 1, memory 256m, ", `"memory": "256m"`}},
		{"explain a refusal", "", []string{"explain", "minimal", "--", "bash", "-c", "id"}, 1, []string{"refused: \"bash\" (", "rule:    minimal: commands\n", "next:    Use one of the allowed commands: basename, "}},
		{"explain a refusal in JSON", "", []string{"explain", "--json", "minimal", "--", "bash"}, 1, []string{`"allowed": false`, `"code": "command_not_allowed"`, `"next_steps": [`}},
		{"explain a spec", "", []string{"explain", "--spec", spec, "minimal"}, 0, []string{"wall lowered from 1h0m0s to 1m0s", `"hostname": "h"`}},
		{"explain a spec of standard input", `{"args":["cat"],"net":"host"}`, []string{"explain", "--spec", "-", "minimal"}, 1, []string{"refused: the network mode host is not allowed."}},
		{"explain a language", "", []string{"explain", "--language", "python", "judge"}, 0, []string{"allowed\n"}},
		{"explain another language", "", []string{"explain", "--language", "perl", "judge"}, 1, []string{`code in "perl" is not allowed`}},
		{"no terminal is told anything", "", []string{"explain", "minimal", "--", "\x1b[31mcat"}, 1, []string{`refused: "\x1b[31mcat" is not among`}},

		{"no command", "", nil, 125, []string{"brigd policy: there is no command; write one of list, show"}},
		{"a misspelt one", "", []string{"lnit"}, 125, []string{`"lnit" is not a command of brigd policy; did you mean lint?`}},
		{"a flag of another", "", []string{"list", "--strict"}, 125, []string{`list: "--strict" is not a flag; `}},
		{"one policy for diff", "", []string{"diff", "minimal"}, 125, []string{"diff: write brigd policy diff POLICY POLICY;"}},
		{"none for show", "", []string{"show"}, 125, []string{"show: write brigd policy show POLICY;"}},
		{"two for show", "", []string{"show", "minimal", "build"}, 125, []string{`show: write brigd policy show POLICY;`}},
		{"an unknown profile", "", []string{"show", "nobody"}, 125, []string{"there is no profile nobody; write one of any, browse"}},
		{"a name with ..", "", []string{"show", "..json"}, 125, []string{"no such file"}},
		{"a file that is not there", "", []string{"show", "./nobody"}, 125, []string{"open ./nobody: no such file or directory; name a file"}},
		{"a FIFO", "", []string{"show", fifo}, 125, []string{"no regular file; name one"}},
		{"a FIFO for a spec", "", []string{"explain", "--spec", fifo, "minimal"}, 125, []string{"no regular file; name one"}},
		{"standard input twice", "{}", []string{"diff", "-", "-"}, 125, []string{"standard input can be read once"}},
		{"a spec that is none", "", []string{"explain", "--spec", file, "minimal"}, 125, []string{`wide.json: the spec: "commands" is not a key here`}},
		{"nothing after --", "", []string{"explain", "minimal", "--"}, 125, []string{"there is no command after --"}},
		{"a command for list", "", []string{"list", "--", "id"}, 125, []string{`list: it takes no command after --; remove "id"`}},
	} {
		code, stdout, stderr := run(t, c.stdin, c.args...)
		text := stdout
		if c.code == 125 {
			text = stderr
			if strings.Count(stderr, "\n") != 1 || stdout != "" {
				t.Errorf("%s: not one error: %q %q", c.name, stdout, stderr)
			}
		} else if stderr != "" {
			t.Errorf("%s: stderr %q", c.name, stderr)
		}
		if code != c.code {
			t.Errorf("%s: exit code %d, want %d\n%s%s", c.name, code, c.code, stdout, stderr)
		}
		for _, w := range c.want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: no %q in\n%s", c.name, w, text)
			}
		}
		if strings.ContainsRune(text, 0x1b) {
			t.Errorf("%s: an escape sequence reached the terminal: %q", c.name, text)
		}
		if slices.Contains(c.args, "--json") && c.code != 125 && !json.Valid([]byte(stdout)) {
			t.Errorf("%s: not JSON: %s", c.name, stdout)
		}
	}
}

// The profiles fit the schema by the library's own judgement, and so does what show prints.
func TestProfilesFitTheSchema(t *testing.T) {
	var s schema.Schema
	must.Do(t, json.Unmarshal(policy.SchemaFile, &s))
	resolved := must.Get(s.Resolve(nil))(t)
	check := func(data []byte) error {
		var value any
		must.Do(t, json.Unmarshal(data, &value))
		return resolved.Validate(value)
	}
	for _, name := range policy.BuiltIn() {
		_, text, _ := run(t, "", "show", name)
		if err := check([]byte(text)); err != nil {
			t.Errorf("%s as shown: %v", name, err)
		}
		data := must.Get(os.ReadFile("../../policy/profiles/" + name + ".json"))(t)
		if err := check(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, bad := range []string{`{"limits":{"memroy":1}}`, `{"commands":"cat"}`, `{"network":{"egress":{"allow":[{"mode":"ftp"}]}}}`, `{"limits":{"wall":"soon"}}`} {
		if check([]byte(bad)) == nil {
			t.Error("the schema takes", bad)
		}
	}
}
