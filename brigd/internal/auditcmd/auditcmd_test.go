package auditcmd

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"brig/brigd/audit"
	"brig/brigd/job"
	"brig/brigd/token"
	"brig/internal/test/must"
	"brig/nsjail"
)

func cli(t *testing.T, code int, args ...string) (out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	if got := Run(args, nil, &o, &e); got != code {
		t.Fatalf("%q: exit code %d, want %d\n%s%s", args, got, code, o.String(), e.String())
	}
	return o.String(), e.String()
}

type executor func(j *job.Job) (*nsjail.Result, error)

func (f executor) Execute(_ context.Context, j *job.Job) (*nsjail.Result, error) { return f(j) }

// written is a log of three runs, one of them refused, one with a hostile name.
func written(t *testing.T, key ed25519.PrivateKey) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := must.Get(audit.Open(audit.Options{Path: path, Key: key}))(t)
	e := audit.Wrap(executor(func(j *job.Job) (*nsjail.Result, error) {
		if j.Verdict.Refusal != nil {
			return nil, j.Verdict.Refusal
		}
		return &nsjail.Result{Status: nsjail.StatusFailed, ExitCode: 3, Usage: nsjail.NoUsage()}, nil
	}), l)
	no := &job.Job{ID: "r2", Agent: "b", Token: "t2"}
	no.Refuse(&job.Refusal{Message: "not that", Code: "command_not_allowed", Layer: "policy"})
	for _, j := range []*job.Job{{ID: "r1", Agent: "a"}, no, {ID: "r3 ok\n\x1b[31m\u202e", Agent: "a", Language: "\u009b2J"}} {
		if _, err := e.Execute(context.Background(), j); err != nil && !errors.As(err, new(*job.Refusal)) {
			t.Fatal(err)
		}
	}
	must.Do(t, l.Close())
	return path
}

func TestVerify(t *testing.T) {
	path := written(t, nil)
	out, _ := cli(t, 0, "verify", path)
	anchor := regexp.MustCompile(`anchor (\d+:[0-9a-f]{64})`).FindStringSubmatch(out)
	if anchor == nil || !strings.Contains(out, "2 runs started, 2 ended, 1 refused") {
		t.Fatal(out)
	}
	cli(t, 0, "verify", "--anchor", anchor[1], path)
	out, _ = cli(t, 0, "verify", "--json", path)
	var r audit.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Started != 2 {
		t.Error(out, err)
	}
	data := must.Get(os.ReadFile(path))(t)
	lines := bytes.SplitAfter(data, []byte("\n"))
	for what, c := range map[string]struct {
		data []byte
		says string
		args []string
	}{
		"cut off at its end": {bytes.Join(lines[:5], nil), "missing", []string{"--anchor", anchor[1]}},
		"a line removed":     {bytes.Join(append(lines[:2:2], lines[3:]...), nil), "line 3", nil},
		"edited":             {bytes.Replace(data, []byte(`"r2"`), []byte(`"r9"`), 1), "altered", nil},
	} {
		must.Do(t, os.WriteFile(path, c.data, 0o600))
		_, errs := cli(t, 1, append(append([]string{"verify"}, c.args...), path)...)
		if !strings.Contains(errs, c.says) {
			t.Errorf("%s: %s", what, errs)
		}
	}
	must.Do(t, os.WriteFile(path, bytes.Replace(data, []byte(`"r2"`), []byte(`"r9"`), 1), 0o600))
	cli(t, 1, "show", path)
	for _, args := range [][]string{nil, {"verfy"}, {"verify"}, {"verify", path + "none"}, {"verify", "--anchor", "x", path}, {"verify", "--anchor", "5:zz", path},
		{"verify", "--key", path, path}, {"show", "--since", "soon", path}, {"show", "--last", "0", path}, {"show", filepath.Dir(path)}} {
		if _, errs := cli(t, 125, args...); errs == "" {
			t.Errorf("%q: no word", args)
		}
	}
	if out, _ := cli(t, 0, "--help"); !strings.Contains(out, "Usage: brigd audit") {
		t.Error(out)
	}
}

func TestVerifySigned(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	path := written(t, private)
	must.Do(t, token.WritePublicKey(path+".pub", public))
	if out, _ := cli(t, 0, "verify", "--key", path+".pub", path); !strings.Contains(out, "signed up to number") {
		t.Error(out)
	}
	if _, errs := cli(t, 1, "verify", "--key", path+".pub", written(t, nil)); !strings.Contains(errs, "no checkpoint") {
		t.Error(errs)
	}
}

func TestShow(t *testing.T) {
	path := written(t, nil)
	for _, c := range []struct {
		args []string
		rows int
		says string
	}{
		{nil, 7, "policy command_not_allowed"},
		{[]string{"--run", "r1"}, 2, "failed"},
		{[]string{"--agent", "a"}, 4, `r3\u0020ok\u000a\u001b[31m\u202e`},
		{[]string{"--status", "refused"}, 1, "r2"},
		{[]string{"--token", "t2", "--event", "run.refused"}, 1, "token t2"},
		{[]string{"--agent", "a", "--status", "failed", "--last", "1"}, 1, "r3"},
		{[]string{"--since", "1h"}, 7, ""},
		{[]string{"--until", "1h"}, 0, ""},
		{[]string{"--since", "2999-01-01T00:00:00Z"}, 0, ""},
	} {
		out, _ := cli(t, 0, append(append([]string{"show"}, c.args...), path)...)
		if n := strings.Count(out, "\n") - 1; n != c.rows || !strings.Contains(out, c.says) {
			t.Errorf("%q: %d rows\n%s", c.args, n, out)
		}
		if strings.ContainsFunc(out, func(r rune) bool { return r != '\n' && (r < 0x20 || r > 0x7e) }) {
			t.Errorf("%q: a character that acts on a terminal\n%q", c.args, out)
		}
	}
	data, err := os.ReadFile(path)
	if out, _ := cli(t, 0, "show", "--json", path); err != nil || out != string(data) {
		t.Errorf("%s\n%s", out, data)
	}
}
