package policycmd

import (
	"brig/brigd/internal/verbs"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// small is a policy with short answers. LANGUAGE in it is replaced by a language.
const small = `{"extends": "any", "open": false, "commands": ["cat"], "languages": [LANGUAGE], "limits": {"memory": "1g",
	"wall": "1m", "processes": 5, "cpus": 1, "output_limit": "1m"}, "network": {}, "paths": {"targets": []}}`

func smallWith(language string) string { return strings.Replace(small, "LANGUAGE", language, 1) }

// Every answer is whole, as text and as JSON.
func TestAnswers(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.json": smallWith(""), "b.json": smallWith(`"python"`),
		"c.json": `{"limits": {"wall": 0}}`} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	a, b := filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"diff", "--dir", dir, "a", "b"}, 1,
			"languages                more: python\n"},
		{[]string{"diff", "--dir", dir, "b", "a"}, 1,
			"languages                less: python\n"},
		{[]string{"diff", "--dir", dir, "a", "a"}, 0,
			"a allows what a allows\n"},
		{[]string{"diff", "--json", "--dir", dir, "a", "b"}, 1, `{
  "changes": [
    {
      "field": "languages",
      "more": [
        "python"
      ]
    }
  ],
  "from": "a",
  "to": "b"
}
`},
		{[]string{"diff", a, b, "--json"}, 1, `{
  "changes": [
    {
      "field": "languages",
      "more": [
        "python"
      ]
    }
  ],
  "from": "` + a + `",
  "to": "` + b + `"
}
`},
		{[]string{"diff", "--json", "--dir", dir, "a", "a"}, 0, `{
  "changes": [],
  "from": "a",
  "to": "a"
}
`},
		{[]string{"lint", "--dir", dir, "c"}, 1,
			"c: error: profile c: limits.wall: it is not above 0; write a bound, or leave it out for none\n" +
				"1 errors, 0 warnings in 1 policies\n"},
		{[]string{"lint", "--json", "--dir", dir, "c"}, 1, `{
  "errors": 1,
  "policies": [
    {
      "policy": "c",
      "findings": [
        {
          "level": "error",
          "path": "",
          "message": "profile c: limits.wall: it is not above 0; write a bound, or leave it out for none"
        }
      ]
    }
  ],
  "warnings": 0
}
`},
		{[]string{"explain", "--dir", dir, "a", "--language", "python"}, 1,
			"refused: code in \"python\" is not allowed.\nrule:    a: languages\n" +
				"next:    Run one of the allowed commands instead: cat.\n"},
		{[]string{"explain", "--json", "--dir", dir, "a", "--language", "python"}, 1, `{
  "allowed": false,
  "error": {
    "error": "code in \"python\" is not allowed.",
    "code": "language_not_allowed",
    "layer": "policy",
    "rule": "a: languages",
    "next_steps": [
      "Run one of the allowed commands instead: cat."
    ]
  },
  "narrowed": []
}
`},
	} {
		code, stdout, stderr := run(t, "", c.args...)
		if code != c.code || stdout != c.want || stderr != "" {
			t.Errorf("%q: exit code %d, stderr %q\n%s\nwant %d\n%s", c.args, code, stderr, stdout, c.code, c.want)
		}
	}
}

// closed is an output whose reader has gone: every write fails.
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("closed\x1b") }

// An answer that cannot be written is an error, with the exit code of one.
func TestClosedOutput(t *testing.T) {
	for _, args := range [][]string{{"list"}, {"list", "--json"}, {"schema"}, {"show", "minimal"}, {"--help"},
		{"explain", "minimal", "--", "bash"}, {"diff", "minimal", "build"}} {
		var stderr strings.Builder
		if code := Run(args, strings.NewReader(""), closed{}, &stderr); code != verbs.ExitUsage {
			t.Errorf("%q: exit code %d", args, code)
		}
		if got := stderr.String(); !strings.HasSuffix(got, "cannot write to standard output: closed\\x1b\n") {
			t.Errorf("%q: %q", args, got)
		}
		if code := Run(args, strings.NewReader(""), closed{}, closed{}); code != verbs.ExitUsage {
			t.Errorf("%q, without stderr: exit code %d", args, code)
		}
	}
	if code := Run([]string{"lnit"}, strings.NewReader(""), io.Discard, closed{}); code != verbs.ExitUsage {
		t.Errorf("a wrong command, without stderr: exit code %d", code)
	}
}
