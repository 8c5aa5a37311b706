package policy

import (
	"os"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// quiet is a policy that Lint has nothing to say about. Its lines are replaced by those of a case.
const quiet = `{"commands": [%commands], %more "limits":
	{"memory": "1g", "wall": "1m", "processes": 10, "cpus": 1, "output_limit": "1m" %limits}}`

func policyWith(commands, more, limits string) string {
	if commands == "" {
		commands = `{"command": "/usr/bin/printf"}`
	}
	return strings.NewReplacer("%commands", commands, "%more", more, "%limits", limits).Replace(quiet)
}

func TestLint(t *testing.T) {
	link := t.TempDir() + "/link"
	must.Do(t, os.Symlink("/usr/share", link))
	egress := func(rules string) string {
		return `"network": {"modes": ["egress"], "egress": {"allow": [` + rules + `]}},`
	}
	for name, c := range map[string]struct {
		commands, more, limits string
		want                   []string // "level path: part of the message"; none: nothing is found
	}{
		"nothing": {},
		"any command": {commands: `{"command": "*"}`,
			want: []string{"warning commands[0]: any command is allowed"}},
		"a shell": {commands: `{"command": "/usr/bin/sh"}`,
			want: []string{"warning commands[0]: /usr/bin/sh is a shell: with any arguments"}},
		"a shell with one form": {commands: `{"command": "/usr/bin/sh", "allow": [["-c", "date"]]}`},
		"an interpreter": {commands: `{"command": "/usr/bin/awk"}`,
			want: []string{"warning commands[0]: /usr/bin/awk is an interpreter"}},
		"a launcher": {commands: `{"command": "/usr/bin/env"}`,
			want: []string{"warning commands[0]: /usr/bin/env is a launcher of other programs"}},
		"options that execute": {commands: `{"command": "/usr/bin/find"}`,
			want: []string{"warning commands[0]: /usr/bin/find is a program with options that execute others"}},
		"its options denied": {commands: `{"command": "/usr/bin/find", "deny_flags": ["-exec"]}`},
		"beside a shell its options add nothing": {commands: `{"command": "/usr/bin/find"}, {"command": "/usr/bin/sh"}`,
			want: []string{"warning commands[1]: /usr/bin/sh is a shell"}},
		"a command that is not there": {commands: `{"command": "/usr/bin/no-such-program"}`,
			want: []string{"warning commands[0]: /usr/bin/no-such-program is not on this machine"}},
		"a second entry": {commands: `{"command": "/usr/bin/printf"}, {"command": "/usr/bin/printf", "allow": [["x"]]}`,
			want: []string{"warning commands[1]: it has no effect: commands[0] allows /usr/bin/printf with any"}},
		"a form that is denied": {commands: `{"command": "/usr/bin/printf", "allow": [["x"], ["y"]], "deny": [["y"]]}`,
			want: []string{"warning commands[0].allow[1]: it has no effect: deny has the same"}},
		"everything is denied": {commands: `{"command": "/usr/bin/printf", "allow": [["x"]], "deny": [["..."]]}`,
			want: []string{"warning commands[0].allow[0]: it has no effect"}},
		"a list of what is denied": {commands: `{"command": "/usr/bin/printf", "deny": [["x"]]}`,
			want: []string{"warning commands[0].deny: whatever it does not list is allowed"}},
		"languages beside commands": {more: `"languages": ["python"],`,
			want: []string{"warning languages: code can execute every program in the jail"}},
		"an alias of a language": {commands: `{"command": "*"}`, more: `"languages": ["py"],`,
			want: []string{"warning commands[0]: any command", "warning languages[0]: py is not the name of a language"}},
		"a long grace": {limits: `, "grace": "2m"`,
			want: []string{"warning limits.grace: it is longer than wall: a run may last 2m"}},
		"a ceiling that a run may do without": {more: `"optional": ["memory"],`,
			want: []string{"warning optional: a run may ask to do without memory where"}},
		"the host's network": {more: `"network": {"modes": ["host"]},`,
			want: []string{"warning network.modes: host is the caller's own network"}},
		"egress without rules": {more: `"network": {"modes": ["egress"]},`,
			want: []string{"warning network.egress: the mode egress is allowed, and nothing"}},
		"rules without egress": {more: `"network": {"modes": ["none"], "egress": {"allow": ["https://example.org"]}},`,
			want: []string{"warning network.egress: it has no effect: the mode egress is not allowed"}},
		"one name": {more: egress(`"https://example.org"`)},
		"every name": {more: egress(`"https://*"`),
			want: []string{"warning network.egress: tls://*:443: every public name is allowed"}},
		"a wide range": {more: egress(`"tcp://8.0.0.0/8:443"`),
			want: []string{"warning network.egress: tcp://8.0.0.0/8:443: it is a wide range of addresses"}},
		"a private address": {more: egress(`"tcp://192.168.1.1:443"`),
			want: []string{"warning network.egress: tcp://192.168.1.1:443: it is "}},
		"a name by tcp": {more: egress(`"tcp://example.org:22"`),
			want: []string{"warning network.egress: tcp://example.org:22: in mode tcp, other sites"}},
		"publish without a network": {more: `"network": {"modes": ["none"], "publish": ["8080"]},`,
			want: []string{"warning network.publish: it has no effect"}},
		"a wide path": {more: `"paths": {"read": ["/etc"]},`,
			want: []string{`warning paths.read[0]: "/etc" has files that other programs rely on`}},
		"a system's path to write": {more: `"paths": {"write": ["/usr/share"]},`,
			want: []string{`warning paths.write[0]: "/usr/share" has files that other programs rely on`}},
		"a path that is not there": {more: `"paths": {"read": ["/no/such/dir"]},`,
			want: []string{`warning paths.read[0]: "/no/such/dir" is not on this machine`}},
		"a link": {more: `"paths": {"read": ["` + link + `"]},`,
			want: []string{`warning paths.read[0]: "` + link + `" is a link to "/usr/share"`}},
		"a mount over programs": {more: `"paths": {"targets": ["/usr/local"]},`,
			want: []string{`warning paths.targets[0]: a mount at "/usr/local" can replace programs`}},
		"a variable that steers": {more: `"environment": {"set": ["LD_PRELOAD", "LANG"]},`,
			want: []string{"warning environment.set[0]: LD_PRELOAD changes what programs load"}},
		"a secret that is passed": {more: `"environment": {"pass": ["API_TOKEN"]},`,
			want: []string{"warning environment.pass[0]: API_TOKEN is a secret by its name"}},
		"no filter": {more: `"seccomp": ["unconfined"],`,
			want: []string{"warning seccomp[0]: unconfined permits system calls"}},
		"an unknown filter": {more: `"seccomp": ["strictest"],`,
			want: []string{`error seccomp[0]: "strictest" is not a filter; did you mean strict?`}},
		"cgroup files": {more: `"features": ["cgroup_files"],`,
			want: []string{"warning features[0]: a run can lift the ceilings"}},
		"no init": {more: `"features": ["no_init"],`,
			want: []string{"warning features[0]: no_init: "}},
	} {
		text := policyWith(c.commands, c.more, c.limits)
		p, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, f := range Lint(p) {
			got = append(got, f.Level+" "+f.Path+": "+f.Message)
		}
		if len(got) != len(c.want) || !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, c.want)
		}
	}
}

// Each missing ceiling is a warning of its own, and an open policy has none to miss.
func TestLintMissingCeilings(t *testing.T) {
	for text, want := range map[string][]string{
		`{"commands": [{"command": "/usr/bin/printf"}]}`: {"limits.memory", "limits.wall", "limits.processes",
			"limits.cpus", "limits.output_limit"},
		`{"open": true, "commands": [{"command": "/usr/bin/printf"}]}`: {"open", "open"},
		`{"open": true}`: {"open"},
		`{"limits": {"memory": "1g", "wall": "1m", "processes": 1, "cpus": 1, "output": "1m"}}`: {"commands"},
	} {
		var got []string
		for _, f := range Lint(parsed(t, text)) {
			got = append(got, f.Path)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\ngot  %q\nwant %q", text, got, want)
		}
	}
	broken := &Policy{Name: "x", Commands: []Command{{Command: "a\nb"}}}
	if f := Lint(broken); len(f) == 0 || f[0].Level != "error" || f[0].Path == "" {
		t.Errorf("a policy that Check refuses: %+v", f)
	}
}
