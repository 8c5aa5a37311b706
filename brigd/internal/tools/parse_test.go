package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"brig/brigd/internal/schema"
	"brig/internal/test/must"
)

// TestMistakes: each names its line and field, and what to write instead.
func TestMistakes(t *testing.T) {
	const head = "tools:\n  - name: x\n    description: d\n" // three lines
	const ok = "    script: {command: cat}\n"
	for text, want := range map[string]string{
		"":                      "empty",
		"# nothing":             "empty",
		"[]":                    "t.yaml:1: the file: it is a list",
		"name: x":               "no list of tools",
		"tools: {a: 1}":         "t.yaml:1: tools: it is a mapping",
		"tools: [1]":            "tools[0]: it is the number 1",
		"tools: []\ntools: []":  "t.yaml:2: tools: the key is there twice",
		"tools: []\nextra: 1":   "extra: there is no such key",
		"tools: []\n---\na: 1":  "second document",
		"tools: []\nsandbox: ":  "it has no value",
		"\ttools: []":           "t.yaml: line 1",
		"tools:\n- a: &x 1":     "anchors",
		"tools:\n- a: *x":       "unknown anchor",
		"tools: !!python/x []":  "the tag",
		"tools: !!binary aGk=":  "the tag",
		"tools: []\n<<: {a: 1}": "'<<'",
		"tools: []\n? [a]\n: 1": "a key is a list",

		head:                               "it does nothing",
		head + ok + "    name: y\n":        "tools[0].name: the key is there twice",
		head + ok + "    sandbox: false\n": "t.yaml:5: tools[0].sandbox: every tool runs in the jail",
		head + ok + "    sandbox: {type: docker}\n":                                        `"docker" is not what runs tools here: write brig`,
		head + ok + "    image: a:b\n":                                                     "tools[0].image: write it under sandbox",
		head + ok + "    sandbox: {image: 'a:{{b}}'}\n":                                    "tools[0].sandbox.image: what is shown cannot be a parameter",
		head + ok + "    sandbox: {privileged: true}\n":                                    "no privileges",
		head + ok + "    sandbox: {volumes: [a]}\n":                                        "Name one under mounts",
		head + ok + "    sandbox: {readonly_root: false}\n":                                "always read-only",
		head + ok + "    sandbox: {network: host}\n":                                       "names no place",
		head + ok + "    sandbox: {network: bridge}\n":                                     "names no place",
		head + ok + "    sandbox: {network: none, allow: [a.b:1]}\n":                       "network: restricted",
		head + ok + "    sandbox: {network: [a.b:1], allow: [a.b:1]}\n":                    "keep one list",
		head + ok + "    sandbox: {network: ['a b']}\n":                                    "sandbox.network[0]",
		head + ok + "    sandbox: {allow: ['{{x}}:1']}\n":                                  "cannot be a parameter",
		head + ok + "    sandbox: {mounts: [{share: a}]}\n":                                "no share or no target",
		head + ok + "    sandbox: {mounts: [{share: '{{x}}', target: /data}]}\n":           "cannot be a parameter",
		head + ok + "    sandbox: {mounts: [{share: a, target: /data, protect: b}]}\n":     "mounts[0].protect: it is the text",
		head + ok + "    sandbox: {mounts: {share: a}}\n":                                  "write a list",
		head + ok + "    sandbox: {memory: lots}\n":                                        "a size such as 512m",
		head + ok + "    sandbox: {memory: 0}\n":                                           "not more than 0",
		head + ok + "    sandbox: {timeout: -1s}\n":                                        "not more than 0",
		head + ok + "    sandbox: {cpus: many}\n":                                          "a number such as",
		head + ok + "    sandbox: {tiemout: 3}\n":                                          "did you mean timeout?",
		head + ok + "    sandbox: 7\n":                                                     "it is the number 7",
		head + ok + "    parameters: {a: 1}\n":                                             "write a list",
		head + ok + "    parameters: [{name: 'a b'}]\n":                                    "no name of a parameter",
		head + ok + "    parameters: [{name: a}, {name: a}]\n":                             "already",
		head + ok + "    parameters: [{type: string}]\n":                                   "parameters[0].name: it is missing",
		head + ok + "    parameters: [{name: a, type: str}]\n":                             "not among",
		head + ok + "    parameters: [{name: a, required: 1}]\n":                           "true or false",
		head + ok + "    parameters: [{name: a, pattern: '('}]\n":                          "regular expression",
		head + ok + "    parameters: [{name: a, min: 1}]\n":                                "only for a number",
		head + ok + "    parameters: [{name: a, type: integer, min_length: 1}]\n":          "only for a string",
		head + ok + "    parameters: [{name: a, type: integer, default: x}]\n":             "write a number",
		head + ok + "    parameters: [{name: a, type: integer, max: 3, default: 4}]\n":     "more than 3",
		head + ok + "    parameters: [{name: a, enum: [x], default: y}]\n":                 "not among",
		head + ok + "    parameters: [{name: a, required: true, default: y}]\n":            "required: remove",
		head + ok + "    parameters: [{name: a, type: object, default: {1: {2: .nan}}}]\n": "no JSON form",
		head + "    script: {command: 'a{{x}}'}\n":                                         "cannot be a parameter",
		head + "    script: {args: [a]}\n":                                                 "script.command: it is missing",
		head + "    script: {command: cat, args: ['{{x}}']}\n":                             "not among the tool's parameters",
		head + "    script: {command: cat, args: ['{{ a b }}']}\n":                         "is no parameter",
		head + "    script: {command: cat, args: ['{{']}\n":                                "is no parameter",
		head + "    script: {command: cat, args: [[a]]}\n":                                 "write a text",
		head + "    script: {command: cat, args: [{when: z, args: [a]}]}\n":                "not among",
		head + "    script: {command: cat, args: [{args: [a]}]}\n":                         "it needs when",
		head + "    script: {command: cat, args: a}\n":                                     "write a list",
		head + "    script: {command: cat, env: {'A=B': c}}\n":                             "name of a variable",
		head + "    script: {command: cat, files: {../x: c}}\n":                            "relative path",
		head + "    script: {command: cat, files: {/x: c}}\n":                              "relative path",
		head + "    script: {command: cat, cwd: work}\n":                                   "absolute path",
		head + "    script: {command: cat, shell: true}\n":                                 "no shell reads",
		head + "    script: {command: \"a\\0b\"}\n":                                        "NUL",
		head + ok + "    language: python\n    code: x\n":                                  "write one of them",
		head + "    language: python\n":                                                    "it does nothing",
		head + ok + "    stdin: x\n":                                                       "under script",
		"tools:\n  - name: 'a b'\n    description: d\n" + ok:                               "no name of a tool",
		"tools:\n  - name: \"a\\e[2J\"\n    description: d\n" + ok:                         "no name of a tool",
		"tools:\n  - name: " + strings.Repeat("a", 65) + "\n    description: d\n" + ok:     "no name of a tool",
		"tools:\n  - description: d\n" + ok:                                                "name: it is missing",
		"tools:\n  - name: a\n" + ok:                                                       "description: it is missing",
		head + ok + "  - name: x\n    description: e\n" + ok:                               "in line 2 already",
		"tools: " + strings.Repeat("[", 40) + strings.Repeat("]", 40):                      "nested",
		head + ok + "    parameters: [{name: a}]\n    read_only: maybe\n":                  "true or false",
	} {
		_, err := Parse("t.yaml", []byte(text))
		if err == nil {
			t.Errorf("accepted:\n%s", text)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n says %v\nwants %s", text, err, want)
		}
	}
}

// TestTemplatesThatInject are refused when the file is read: a value would become code, or an option's name.
func TestTemplatesThatInject(t *testing.T) {
	for _, script := range []string{
		`{command: bash, args: [-c, "echo {{a}}"]}`,
		`{command: /bin/sh, args: [-ec, "{{a}}; ls"]}`,
		`{command: env, args: [bash, -c, "ls {{a}}"]}`,
		`{command: timeout, args: ["5", sh, -c, "ls {{a}}"]}`,
		`{command: python3, args: [-I, -c, "print('{{a}}')"]}`,
		`{command: node, args: [--eval, "f({{a}})"]}`,
		`{command: perl, args: [-ne, "print if /{{a}}/"]}`,
		`{command: cat, args: ["-{{a}}"]}`,
		`{command: cat, args: ["--{{a}}=x"]}`,
		`{command: cat, args: ["{{l}}"]}`,
		`{command: cat, args: ["x{{l...}}"]}`,
		`{command: cat, args: ["{{a...}}"]}`,
		// The same with words that may be left out.
		`{command: bash, args: [{when: a, args: [-c, "echo {{a}}"]}]}`,
		`{command: bash, args: [{when: l, args: [-c]}, "echo {{a}}"]}`,
		`{command: bash, args: [-c, {when: l, args: [x]}, "echo {{a}}"]}`,
		`{command: bash, args: [-c, "{{a}}", "{{l...}}"]}`,
		`{command: grep, args: [-e, "{{a}}", --, "{{l...}}"]}`,
		`{command: grep, args: [-e, "x{{a}}", --, "{{l...}}"]}`,
		`{command: grep, args: [-e, "{{l...}}", --, x]}`,
		`{command: grep, args: [{when: l, args: [-e, "{{a}}"]}, --, x]}`,
	} {
		_, err := Parse("t.yaml", []byte("tools:\n  - name: x\n    description: d\n    parameters: [{name: a}, {name: l, type: array}]\n    script: "+script+"\n"))
		if err == nil {
			t.Errorf("accepted: %s", script)
		}
	}
	_, err := Parse("t.yaml", []byte("tools:\n  - name: x\n    description: d\n    parameters: [{name: a}]\n    language: python\n    code: print('{{a}}')\n"))
	if err == nil || !strings.Contains(err.Error(), "tools[0].code") {
		t.Error(err)
	}
}

// TestBombs are small files that mean much.
func TestBombs(t *testing.T) {
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		laughs += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	for name, text := range map[string]string{
		"laughs":   laughs + "tools: *j\n",
		"size":     "tools: []\n#" + strings.Repeat("x", maxFile),
		"depth":    strings.Repeat("[", 100000),
		"maps":     strings.Repeat("{a: ", 20000),
		"mistakes": "tools:\n" + strings.Repeat("  - 1\n", 120),
		"many":     "tools:\n" + strings.Repeat("  - {}\n", 5000),
		"cycle":    "tools: &a [*a]",
	} {
		_, err := Parse("t.yaml", []byte(text))
		if err == nil {
			t.Errorf("%s is read", name)
		} else if len(err.Error()) > 8000 {
			t.Errorf("%s: the answer has %d bytes", name, len(err.Error()))
		}
	}
}

// TestFileSchema: the schema for editors accepts what the reader accepts, as far as shape goes, and has its keys.
func TestFileSchema(t *testing.T) {
	text := must.Get(os.ReadFile("schema.json"))(t)
	var s schema.Schema
	must.Do(t, json.Unmarshal(text, &s))
	check := must.Get(s.Resolve(nil))(t)
	data := must.Get(os.ReadFile("../../../docs/tools.example.yaml"))(t)
	doc := must.Get(document("example", data))(t)
	var v any
	must.Do(t, doc.Decode(&v))
	if err := check.Validate(v); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{`{}`, `{"tools":[{"name":"a b","description":"d","script":{"command":"x"}}]}`, `{"tools":[{"name":"a","description":"d"}]}`,
		`{"tools":[],"sandbox":false}`, `{"tools":[],"sandbox":{"image":1}}`} {
		var v any
		must.Do(t, json.Unmarshal([]byte(bad), &v))
		if check.Validate(v) == nil {
			t.Errorf("the schema accepts %s", bad)
		}
	}
}

// FuzzParse: whatever the file and the call are, there is an answer, and no value becomes more than it may.
func FuzzParse(f *testing.F) {
	example := must.Get(os.ReadFile("../../../docs/tools.example.yaml"))(f)
	f.Add(example, []byte(`{"code":"print(1)"}`))
	f.Add([]byte("tools:\n  - name: x\n    description: d\n"+echo), []byte(`{"a":"{{d}}","l":["-x"]}`))
	f.Add([]byte("tools: &a [*a]"), []byte(`{}`))
	f.Add([]byte("tools:\n- {name: a, description: d, script: {command: '{{{{', args: [{when: a, args: []}]}}"), []byte(`null`))
	f.Fuzz(func(t *testing.T, file, args []byte) {
		set, err := Parse("t.yaml", file)
		if err != nil {
			return
		}
		for _, tool := range set.Tools {
			if _, err := json.Marshal(tool.InputSchema()); err != nil {
				t.Errorf("%s: %v", tool.Name, err)
			}
			r, no := tool.Request(args)
			if (r == nil) == (no == nil) {
				t.Errorf("%s: %v %v", tool.Name, r, no)
			}
			if no == nil && strings.Contains(strings.Join(append(r.Cmd, r.Args...), ""), "\x00") {
				t.Errorf("%s: a NUL in %q", tool.Name, r.Cmd)
			}
		}
	})
}
