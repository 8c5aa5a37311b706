package tools

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"brig/brigd/engine"
	"brig/internal/test/must"
)

// parse reads a file with one tool, whose parts are indented by four spaces.
func parse(t *testing.T, tool string) *Tool {
	t.Helper()
	set := must.Get(Parse("t.yaml", []byte("tools:\n  - name: x\n    description: d\n"+tool)))(t)
	return set.Tools[0]
}

// argv is what a call becomes.
func argv(t *testing.T, tool *Tool, args string) []string {
	t.Helper()
	r, no := tool.Request([]byte(args))
	if no != nil {
		t.Fatalf("%s: %+v", args, no)
	}
	return append(r.Cmd, r.Args...)
}

const echo = `    parameters:
      - {name: a, type: string}
      - {name: n, type: integer, min: -5, max: 10}
      - {name: f, type: number}
      - {name: b, type: boolean}
      - {name: l, type: array, items: string}
      - {name: o, type: object}
      - {name: d, default: "{{a}}"}
    script:
      command: printf
      args: ["%s", --, "{{a}}", "x{{a}}y{{ d }}", "{{n}}", "{{f}}", "{{b}}", "{{l...}}", "{{o}}", "{{{{a}}", {when: b, args: [-b]}]
`

func TestArgv(t *testing.T) {
	tool := parse(t, echo)
	for args, want := range map[string][]string{
		`{}`:                           {"printf", "%s", "--", "{{a}}"},
		`{"a":"v"}`:                    {"printf", "%s", "--", "v", "xvy{{a}}", "{{a}}"},
		`{"a":"{{d}}","d":"{{n...}}"}`: {"printf", "%s", "--", "{{d}}", "x{{d}}y{{n...}}", "{{a}}"},
		`{"a":"$(id) ` + "`id`" + ` ; \"q\" 'q'\n-x","d":""}`: {"printf", "%s", "--", "$(id) `id` ; \"q\" 'q'\n-x", "x$(id) `id` ; \"q\" 'q'\n-xy", "{{a}}"},
		`{"n":7.0,"f":1e3,"b":true}`:                          {"printf", "%s", "--", "7", "1000", "true", "{{a}}", "-b"},
		`{"b":false,"n":null}`:                                {"printf", "%s", "--", "false", "{{a}}"},
		`{"l":["","-x","a b","{{a}}"]}`:                       {"printf", "%s", "--", "", "-x", "a b", "{{a}}", "{{a}}"},
		`{"l":[]}`:                                            {"printf", "%s", "--", "{{a}}"},
		`{"o":{"k": [1, "}}"]}}`:                              {"printf", "%s", "--", `{"k":[1,"}}"]}`, "{{a}}"},
		``:                                                    {"printf", "%s", "--", "{{a}}"},
	} {
		if got := argv(t, tool, args); !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", args, got, want)
		}
	}
}

// TestHostileValues sends what no tool may get.
func TestHostileValues(t *testing.T) {
	tool := parse(t, echo)
	for args, want := range map[string]string{
		`{"a":"x\u0000y"}`:         "NUL",
		`{"a":1}`:                  "the number 1",
		`{"a":["x"]}`:              "a list",
		`{"n":"7"}`:                "a text",
		`{"n":1.5}`:                "whole number",
		`{"n":11}`:                 "more than 10",
		`{"n":-6}`:                 "less than -5",
		`{"n":1e999}`:              "Write a number",
		`{"n":0x10}`:               "",
		`{"b":"true"}`:             "true or false",
		`{"l":"a"}`:                "a list",
		`{"l":[1]}`:                "element 0",
		`{"l":[["a"]]}`:            "element 0",
		`{"l":[null]}`:             "element 0",
		`{"o":[]}`:                 "an object",
		`{"z":1}`:                  "not a parameter",
		`{"A":"x"}`:                "Did you mean a?",
		`{"a":"x","a":"y"}`:        "twice",
		`{"a":"\ud800"}`:           "",
		`[]`:                       "object",
		`"a"`:                      "object",
		`{`:                        "",
		"{\"a\":\"\xff\"}":         "UTF-8",
		`{} {}`:                    "data after",
		`{"l":[` + many(1001):      "1001 elements",
		`{"o":` + nested(64) + `}`: "deep",
		`{"a":"` + strings.Repeat("x", maxElement+1) + `"}`: "too long",
	} {
		r, no := tool.Request([]byte(args))
		if no == nil {
			t.Errorf("%.80s: accepted as %.200q", args, r.Cmd)
			continue
		}
		text, _ := json.Marshal(no)
		if !strings.Contains(string(text), want) && !strings.Contains(strings.ToLower(no.Message), want) || no.Layer != "request" || len(no.NextSteps) == 0 {
			t.Errorf("%.80s: want %q in %s", args, want, text)
		}
		if len(text) > 1000 {
			t.Errorf("%.80s: the answer has %d bytes", args, len(text))
		}
	}
}

func many(n int) string { return strings.TrimSuffix(strings.Repeat(`"x",`, n), ",") + "]}" }

func nested(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }

// TestOptions is about values that a command could read as options.
func TestOptions(t *testing.T) {
	const one = "    parameters: [{name: a}, {name: l, type: array}, {name: n, type: number}, {name: free, allow_dash: true}, {name: r, required: true}]\n"
	for _, c := range []struct {
		script, args string
		ok           bool
	}{
		{`{command: cat, args: ["{{a}}"]}`, `{"a":"-n"}`, false},
		{`{command: cat, args: ["{{a}}"]}`, `{"a":"--version"}`, false},
		{`{command: cat, args: ["{{a}}"]}`, `{"a":"-"}`, false},
		{`{command: cat, args: ["{{a}}.txt"]}`, `{"a":"-n"}`, false},
		{`{command: cat, args: ["{{a}}"]}`, `{"a":"./-n"}`, true},
		{`{command: cat, args: ["./{{a}}"]}`, `{"a":"-n"}`, true},
		{`{command: cat, args: [--, "{{a}}"]}`, `{"a":"-n"}`, true},
		{`{command: cat, args: ["{{a}}", --]}`, `{"a":"-n"}`, false},
		{`{command: cat, args: ["{{l...}}"]}`, `{"l":["x","-n"]}`, false},
		{`{command: cat, args: [--, "{{l...}}"]}`, `{"l":["x","-n"]}`, true},
		{`{command: head, args: ["{{n}}"]}`, `{"n":-5}`, false},
		{`{command: head, args: ["-n{{n}}"]}`, `{"n":-5}`, true},
		{`{command: cat, args: ["{{free}}"]}`, `{"free":"-n"}`, true},
		{`{command: cat, args: [{when: a, args: ["{{a}}"]}]}`, `{"a":"-n"}`, false},
		{`{command: cat, args: [--, {when: a, args: ["{{a}}"]}]}`, `{"a":"-n"}`, true},
		{`{command: python3, args: [-c, "{{r}}"]}`, `{"r":"-1"}`, true},
		{`{command: python3, args: [{when: a, args: [-c, "{{a}}"]}]}`, `{"a":"-1"}`, true},
		{`{command: python3, args: [{when: l, args: [-c, "1"]}, "{{a}}"]}`, `{"a":"-c"}`, false},
		{`{command: cat, args: [{when: l, args: [--]}, "{{a}}"]}`, `{"a":"-n"}`, false},
		{`{command: python3, args: ["{{a}}"]}`, `{"a":"-c"}`, false},
		{`{command: sh, args: [-c, "cat \"$1\"", sh, "{{a}}"]}`, `{"a":"-n"}`, true},
		{`{command: perl, args: [-e, "print 1", "{{a}}"]}`, `{"a":"-n"}`, false},
		{`{command: sh, args: [-e, "{{r}}"]}`, `{"r":"-c"}`, false},
		{`{command: grep, args: [-e, "{{r}}"]}`, `{"r":"-c"}`, false},
	} {
		if !strings.Contains(c.args, `"r"`) {
			c.args = strings.Replace(c.args, "{", `{"r":"r",`, 1)
		}
		_, no := parse(t, one+"    script: "+c.script+"\n").Request([]byte(c.args))
		if (no == nil) != c.ok {
			t.Errorf("%s %s: %+v", c.script, c.args, no)
		}
		if no != nil && no.Code != "option_injection" {
			t.Errorf("%s: %+v", c.script, no)
		}
	}
}

func TestEverythingElseOfARequest(t *testing.T) {
	tool := parse(t, `    parameters: [{name: a}, {name: b}]
    sandbox: {network: ["example.org:443"], memory: 64m, timeout: 1.5, cpus: 0.5, fresh: true, mounts: [{share: s, target: /data, path: p, mode: ro, protect: [a/b, c]}], image: 'debian:12'}
    script: {command: cat, stdin: "<{{a}}>", env: {A: "{{a}}", B: "{{b}}", C: 1}, files: {d/in.txt: "{{a}}{{a}}", none: "{{b}}"}, cwd: /tmp}
`)
	r, no := tool.Request([]byte(`{"a":"-\u0001é"}`))
	if no != nil {
		t.Fatal(no)
	}
	if r.Stdin != "<-\x01é>" || len(r.Env) != 2 || r.Env["A"] != "-\x01é" || r.Env["C"] != "1" || len(r.Files) != 1 || string(r.Files["d/in.txt"].Data) != "-\x01é-\x01é" ||
		r.Cwd != "/tmp" || !slices.Equal(r.Network, []string{"example.org:443"}) || r.Memory != 64<<20 || r.Timeout.String() != "1.5s" || r.CPUs != 0.5 || !tool.Fresh ||
		!reflect.DeepEqual(r.Mounts, []engine.Mount{{Share: "s", Target: "/data", Path: "p", Mode: "ro", Protect: []string{"a/b", "c"}}}) || r.Image != "debian:12" {
		t.Errorf("%+v", r)
	}
	if _, no = tool.Request([]byte(`{"a":"x\u0000"}`)); no == nil {
		t.Error("a NUL in the environment")
	}
	r, no = parse(t, "    parameters: [{name: a}]\n    script: {command: cat, stdin: \"{{a}}\"}\n").Request([]byte(`{"a":"x\u0000"}`))
	if no != nil || r.Stdin != "x\x00" {
		t.Error("standard input may hold any byte:", no)
	}
	r, no = parse(t, "    parameters: [{name: a}]\n    language: python\n    code: print(f'{{1}}')\n    args: ['{{a}}']\n").Request([]byte(`{"a":"-x"}`))
	if no != nil || r.Language != "python" || r.Code != "print(f'{{1}}')" || !slices.Equal(r.Args, []string{"-x"}) || r.Cmd != nil {
		t.Errorf("%+v %v", r, no)
	}
}

// TestEnum: a parameter has one of several values, each of which obeys its other rules.
func TestEnum(t *testing.T) {
	tool := parse(t, "    parameters: [{name: a, enum: [x, yy], max_length: 2}]\n    script: {command: cat, args: ['{{a}}']}\n")
	for value, ok := range map[string]bool{"x": true, "yy": true, "xx": false} {
		if _, no := tool.Request([]byte(`{"a":"` + value + `"}`)); (no == nil) != ok {
			t.Errorf("%s: %v", value, no)
		}
	}
}

// TestDefaults: the file's sandbox holds where a tool has none of its own.
func TestDefaults(t *testing.T) {
	set := must.Get(Parse("t.yaml", []byte(`sandbox: {network: restricted, allow: ["example.org:443"], memory: 64m}
tools:
  - {name: a, description: d, script: {command: "true"}}
  - {name: b, description: d, script: {command: "true"}, sandbox: {network: none, timeout: 5}}
  - {name: c, description: d, script: {command: "true"}, sandbox: {network: restricted}}
  - {name: e, description: d, script: {command: "true"}, sandbox: {allow: ["a.example:1"]}}
`)))(t)
	for i, want := range []string{"example.org:443", "", "", "a.example:1"} {
		tool := set.Tools[i]
		if got := strings.Join(tool.Run.Network, ","); got != want || tool.Run.Memory != 64<<20 {
			t.Errorf("%s: %q %v", tool.Name, got, tool.Run)
		}
	}
}

func TestExampleFile(t *testing.T) {
	set := must.Get(Load("../../../docs/tools.example.yaml"))(t)
	var names []string
	for _, tool := range set.Tools {
		names = append(names, tool.Name)
		if s := tool.InputSchema(); s.Type != "object" || len(s.Properties) != len(tool.Params) {
			t.Errorf("%s: %v", tool.Name, s)
		}
	}
	if want := []string{"analyze_code", "search", "count_lines", "column_mean"}; !slices.Equal(names, want) || set.Name != "sandboxed-agent" {
		t.Error(names)
	}
	got := argv(t, set.Tools[1], `{"text":"-x","ignore_case":true,"context":2}`)
	want := []string{"grep", "--recursive", "--line-number", "--fixed-strings", "--ignore-case", "--context=2", "--regexp=-x", "--", "/work"}
	if !slices.Equal(got, want) {
		t.Error(got)
	}
	if _, no := set.Tools[1].Request([]byte(`{"text":"x","path":"/etc/passwd"}`)); no == nil {
		t.Error("the pattern of path does not hold")
	}
}

func TestLoadRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	big := dir + "/big"
	must.Do(t, os.WriteFile(big, []byte("#"+strings.Repeat("x", maxFile)), 0o600))
	for _, path := range []string{dir, dir + "/none", "/dev/zero", big} {
		if _, err := Load(path); err == nil {
			t.Errorf("%s is read", path)
		}
	}
}
