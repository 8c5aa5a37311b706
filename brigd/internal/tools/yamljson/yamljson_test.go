package yamljson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/must"
)

func TestConvert(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\nb: [x, 0.5, true, null, ~]\nc: '1'": `{"a":1,"b":["x",0.5,true,null,null],"c":"1"}`,
		"a: &x {k: v}\nb: {<<: *x, l: w}\nc: *x":   `{"a":{"k":"v"},"b":{"k":"v","l":"w"},"c":{"k":"v"}}`,
		`{"a": "\u00e9", "b": "on"}`:               `{"a":"é","b":"on"}`,
		"a: 8080:80\nb: 0644\nc: yes":              `{"a":"8080:80","b":420,"c":"yes"}`,
		"- a\n- |\n  x\n  y\n":                     `["a","x\ny\n"]`,
	} {
		out, err := Convert([]byte(text))
		if err != nil || string(out) != want+"\n" {
			t.Errorf("%q: %s, %v; want %s", text, out, err, want)
		}
	}
}

// bomb is a text of levels, each of which has the one below it ten times.
func bomb(leaf string, levels int) string {
	text := "l0: &l0 " + leaf + "\n"
	for i := 1; i <= levels; i++ {
		text += fmt.Sprintf("l%d: &l%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d,", i-1), 10), ","))
	}
	return text
}

// Hostile texts are one short error.
func TestHostile(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "it is empty; write keys with values",
		"# nothing\n":                       "it is empty; write keys with values",
		"a: [":                              "correct the YAML",
		"a: 1\na: 2":                        "already defined at line 1; correct the YAML",
		"a: 1\n---\nb: 2":                   "a second document follows",
		"a: &a [*a]":                        "contains itself; correct the YAML",
		"a: &a {<<: *a}":                    "contains itself; correct the YAML",
		"a: *b":                             "unknown anchor 'b' referenced; correct the YAML",
		"\xff: a":                           "it is not UTF-8",
		"1: a":                              "a key is no text; quote it",
		"a: .inf":                           "a number has no value",
		"a: 2024-01-01":                     `is not a text; quote it`,
		strings.Repeat("a", maxIn+1):        "it has more than 1048576 bytes",
		bomb("x", 9):                        "excessive aliasing",
		bomb(strings.Repeat("x", 1<<19), 3): "with its aliases written out, it has more than 4194304 bytes",
		strings.Repeat("[", 20000):          "exceeded max depth",
		"a: !!binary x":                     "correct the YAML",
	} {
		out, err := Convert([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.80q: %.80s, %v; want %s", text, out, err, want)
		}
	}
}

func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.yaml")
	must.Do(t, os.WriteFile(file, []byte("a: 1"), 0o644))
	for _, c := range []struct {
		args string
		code int
		want string
	}{{file, 0, "{\"a\":1}\n"}, {"-", 0, "[\"in\"]\n"}, {"--help", 0, Usage}, {"", 125, "brigd yaml: it reads one file; write brigd yaml FILE, or -\n"},
		{"/none.yaml", 125, "brigd yaml: open /none.yaml: no such file or directory; name a file that can be read\n"}} {
		var out bytes.Buffer
		if code := Run(strings.Fields(c.args), strings.NewReader("- in"), &out, &out); code != c.code || out.String() != c.want {
			t.Errorf("%q: %d %q; want %d %q", c.args, code, out.String(), c.code, c.want)
		}
	}
}

// FuzzConvert: whatever the text is, the answer is valid JSON within its bound, or one line of error.
func FuzzConvert(f *testing.F) {
	f.Add([]byte("a: &x {k: v, <<: [*x]}\nb: [*x, ? c]"))
	f.Add([]byte(bomb("abc", 3)))
	f.Add([]byte("%YAML 1.1\n---\n!!map {a: !!float 1, ? [b] : c}\n..."))
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := Convert(text)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %q", text, err)
		}
		if err == nil && (!json.Valid(out) || len(out) > maxOut+1) {
			t.Errorf("%q: %d bytes: %.100q", text, len(out), out)
		}
	})
}
