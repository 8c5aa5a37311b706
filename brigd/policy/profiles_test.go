package policy

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"
)

func TestBuiltInProfiles(t *testing.T) {
	names := BuiltIn()
	for _, want := range []string{"any", "browse", "build", "judge", "minimal", "node", "python-data"} {
		if !slices.Contains(names, want) {
			t.Error("there is no profile", want)
		}
	}
	for _, name := range names {
		p, err := LoadProfile("", name)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.Name != name || p.Description == "" {
			t.Errorf("%s: name %q, description %q", name, p.Name, p.Description)
		}
		data := must.Get(p.JSON())(t)
		again, err := Parse(data)
		if err != nil {
			t.Errorf("%s: what JSON writes is not read back: %v", name, err)
			continue
		}
		if second, err := again.JSON(); err != nil || string(second) != string(data) {
			t.Errorf("%s: JSON is not canonical: %v", name, err)
		}
	}
}

func TestInheritance(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	write("mine.json", `{"extends":"minimal","commands":["cat"],"limits":{"wall":"5s"},"description":"x"}`)
	write("minimal.json", `{"commands":["true"],"limits":{"memory":"1g","wall":"9s"},"description":"the operator's"}`)
	write("a.json", `{"extends":"b"}`)
	write("b.json", `{"extends":"a"}`)
	write("self.json", `{"extends":"self"}`)
	write("other.json", `{"name":"another"}`)
	write("lost.json", `{"extends":"nobody"}`)
	write("big.json", strings.Repeat(" ", MaxSize+1))
	for i := range maxDepth + 2 {
		write("d"+string(rune('a'+i))+".json", `{"extends":"d`+string(rune('b'+i))+`"}`)
	}
	p := must.Get(LoadProfile(dir, "mine"))(t)
	// The operator's own minimal comes before the built-in one; each key of limits is replaced by itself.
	if p.Limits.Memory != 1<<30 || p.Limits.Wall.String() != "5s" || len(p.Commands) != 1 ||
		p.Commands[0].Command != "cat" || p.Name != "mine" || p.Description != "x" {
		t.Errorf("%+v", p)
	}
	if text, err := p.JSON(); err != nil || !strings.Contains(string(text), `"seccomp": [
    "default"
  ]`) {
		t.Errorf("what is meant by absence is not shown: %v %s", err, text)
	}
	for name, want := range map[string]string{
		"a": "extends: a -> b -> a extends itself", "self": "extends: self -> self extends itself",
		"other": `profile other: name: it is "another"`,
		"lost":  "there is no profile nobody; write one of any,", "../minimal": "is not a profile's name",
		"/etc/passwd": "is not a profile's name",
		"":            "is not a profile's name", ".hidden": "is not a profile's name", "big": "larger than",
		"da": "more than 16 profiles",
	} {
		if _, err := LoadProfile(dir, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	must.Do(t, os.Symlink("/etc/hostname", filepath.Join(dir, "link.json")))
	if _, err := LoadProfile(dir, "link"); err == nil {
		t.Error("a link that leads out of the directory was followed")
	}
	if _, err := LoadProfile(filepath.Join(dir, "none"), "minimal"); !errors.Is(err, os.ErrNotExist) {
		t.Error("a directory that does not exist:", err)
	}
}

func TestParseErrorsNameThePlace(t *testing.T) {
	for in, want := range map[string]string{
		``:                                     "line 1 column 1: the JSON ends too early",
		`[]`:                                   "the policy: it is a list; write an object",
		`null`:                                 "the policy: it is null; write an object",
		`{} x`:                                 "line 1 column 4: there is data after",
		`{"comands":[]}`:                       `the policy: "comands" is not a key here; did you mean commands?`,
		`{"name":"a","name":"b"}`:              "name: the key is there twice; remove one",
		`{"limits":{"wall":"1s","wall":"2s"}}`: "limits.wall: the key is there twice",
		`{"commands":null}`:                    "commands: it is null; write a list",
		`{"commands":[7]}`:                     "commands[0]: it is the number 7; write a string or an object",
		`{"commands":[[]]}`:                    "commands[0]: it is a list; write a string or an object",
		`{"commands":[{"command":"a","allow":["b"]}]}`:      `commands[0].allow[0]: it is "b"; write a list`,
		`{"commands":[{"alow":[]}]}`:                        `commands[0]: "alow" is not a key here`,
		`{"commands":["./a"]}`:                              `commands[0]: "./a" is neither a name nor an absolute path`,
		`{"commands":["/usr/../bin/a"]}`:                    "is neither a name nor an absolute path",
		`{"commands":["py*"]}`:                              `"py*" is a glob; name each command`,
		`{"commands":["ls -l"]}`:                            "has a blank; name the executable alone",
		`{"commands":[{"command":"a","deny_flags":["o"]}]}`: `commands[0].deny_flags[0]: "o" is not an option`,
		`{"limits":{"memory":0}}`:                           "limits.memory: it is not above 0",
		`{"limits":{"memory":-1}}`:                          `limits.memory: "-1" is not a size`,
		`{"limits":{"memory":"1k"}}`:                        "limits.memory: 1k is less than the kernel's own needs",
		`{"limits":{"cpus":0}}`:                             `limits.cpus: "0" is not between 0 and 65536`,
		`{"limits":{"cpus":1e999}}`:                         `limits.cpus: "1e999" is not between`,
		`{"limits":{"cpus":"NaN"}}`:                         `limits.cpus: it is "NaN"; write a number`,
		`{"limits":{"wall":"-1s"}}`:                         "limits.wall: it is not above 0",
		`{"limits":{"wall":true}}`:                          "limits.wall: it is true; write a duration",
		`{"limits":{"processes":1.5}}`:                      `limits.processes: "1.5" is not a whole number`,
		`{"limits":{"processes":99999999999999999999}}`:     "is not a whole number of at most 63 bits",
		`{"limits":{"refuse":["memroy"]}}`:                  `limits.refuse[0]: "memroy" is not known here; write one of wall,`,
		`{"limits":{"memory_swap":"1g"}}`:                   "there is no ceiling of memory",
		`{"limits":{"memory":"2g","memory_swap":"1g"}}`:     "is below memory",
		`{"network":{"modes":["bridge"]}}`:                  `network.modes[0]: "bridge" is not known here`,
		`{"network":{"egress":{"alow":[]}}}`:                "network.egress",
		`{"network":{"egress":{"allow":["a b"]}}}`:          "network.egress.allow[0]",
		`{"network":{"publish":[0]}}`:                       "network.publish[0]",
		`{"paths":{"read":["data"]}}`:                       `paths.read[0]: "data" is not an absolute path`,
		`{"paths":{"read":["/data/../etc"]}}`:               "is not an absolute path without . and ..",
		`{"paths":{"read":["/data/"]}}`:                     "is not an absolute path without . and ..",
		`{"environment":{"set":["A=B"]}}`:                   `environment.set[0]: "A=B" is not a name`,
		`{"environment":{"set":["[a"]}}`:                    `environment.set[0]: "[a" is not a name`,
		`{"require":["memory"]}`:                            `require[0]: "memory" is a limit for which there is no ceiling here`,
		`{"require":["seccomp"],"optional":["seccomp"]}`:    "is also listed under optional",
		`{"features":["root"]}`:                             `features[0]: "root" is not known here`,
		`{"sandbox":{"operations":["exec"]}}`:               "sandbox.operations[0]",
		`{"name":"Minimal"}`:                                `name: "Minimal" is not a profile's name`,
		`{"languages":[""]}`:                                "languages[0]",
		`{"description":"\u0000"}`:                          "description: it has a NUL",
		`{"description":"\ud800"}`:                          "half of a surrogate pair",
		"{\"description\":\"\xff\"}":                        "the policy is not UTF-8",
		`{"extends":"minimal","extends":"any"}`:             "extends: the key is there twice",
	} {
		if _, err := Parse([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", in, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range BuiltIn() {
		data := must.Get(builtIn.ReadFile("profiles/" + name + ".json"))(f)
		f.Add(data)
	}
	f.Add([]byte(`{"extends":"any","limits":{"wall":0.5,"refuse":["wall"]},"network":{"publish":["8000-8010"]},"commands":[{"command":"git","deny":[["...","-c"]]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(data)
		if err != nil {
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Fatalf("not one safe line: %q", err)
			}
			return
		}
		text := must.Get(p.JSON())(t)
		again, err := Parse(text)
		if err != nil {
			t.Fatalf("its own JSON: %v\n%s", err, text)
		}
		if second, err := again.JSON(); err != nil || string(second) != string(text) {
			t.Fatalf("not canonical: %v\n%s\n%s", err, text, second)
		}
	})
}
