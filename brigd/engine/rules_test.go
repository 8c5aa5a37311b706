package engine

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brig/brigd/audit"
	"brig/brigd/policy"
	"brig/brigd/token"
	"brig/internal/test/must"
	"brig/nsjail"
)

func parsed(t *testing.T, doc string) *policy.Policy {
	t.Helper()
	return must.Get(policy.Parse([]byte(doc)))(t)
}

// lines are the events of a log, by their kind.
func lines(t *testing.T, path string) map[string][]map[string]any {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	found := map[string][]map[string]any{}
	for line := range strings.Lines(string(text)) {
		var e map[string]any
		must.Do(t, json.Unmarshal([]byte(line), &e))
		found[e["event"].(string)] = append(found[e["event"].(string)], e)
	}
	return found
}

// A run passes the engine's policy and the token's, both narrow it or refuse, and everything is written down.
func TestPolicyTokenAndAudit(t *testing.T) {
	dir := t.TempDir()
	log := must.Get(audit.Open(audit.Options{Path: filepath.Join(dir, "audit.jsonl")}))(t)
	ledger := must.Get(token.OpenLedger(filepath.Join(dir, "state")))(t)
	pub, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t, Options{Policies: []*policy.Policy{parsed(t,
		`{"name":"site","commands":["*"],"languages":["python"],"seccomp":["default"],"network":{"modes":["loopback"]},"environment":{"set":["*"]},"limits":{"wall":"20s"},"sandbox":{"operations":["create","get"]}}`)},
		Audit: log, Ledger: ledger, TokenKeys: []ed25519.PublicKey{pub}})
	tok := must.Get(token.Mint(key, token.Block{Agent: "bot", Runs: 3, Expires: time.Now().Add(time.Hour)}))(t)
	narrow := must.Get(token.Attenuate(tok,
		token.Block{Policy: json.RawMessage(
			`{"name":"echo","commands":["echo"],"seccomp":["default"],"network":{"modes":["loopback"]},"limits":{"wall":"5s"}}`)}))(t)
	c, no := e.Authenticate(narrow.Text(), time.Now())
	if no != nil {
		t.Fatal(no)
	}
	ctx := context.Background()
	a := e.Run(ctx, c, &Request{Cmd: []string{"echo", "hi"}, Timeout: Seconds(time.Hour)}, nil)
	if a.Status != "ok" || a.Stdout != "hi\n" || len(a.Narrowed) < 2 {
		t.Errorf("%+v %+v", a, a.Error)
	}
	for what, r := range map[string]Request{
		"echo: commands":    {Cmd: []string{"/bin/cat", "/etc/hostname"}},
		"echo: languages":   {Language: "python", Code: "1"},
		"site: languages":   {Language: "bash", Code: "true"},
		"site: network":     {Cmd: []string{"echo"}, Network: []string{"example.org:443"}},
		"echo: environment": {Cmd: []string{"echo"}, Env: map[string]string{"X": "y"}},
	} {
		a := e.Run(ctx, c, &r, nil)
		if a.Error == nil || a.Error.Layer != "policy" || !strings.HasPrefix(a.Error.Rule, what) ||
			len(a.Error.NextSteps) == 0 {
			t.Errorf("%s: %+v %+v", what, a, a.Error)
		}
	}
	if _, err := e.CreateSandbox(ctx, c, &SandboxRequest{}); err == nil {
		t.Error("a token whose policy knows no sandboxes made one")
	}
	for range 2 {
		if a := e.Run(ctx, c, &Request{Cmd: []string{"echo"}}, nil); a.Status != "ok" {
			t.Errorf("%+v %+v", a, a.Error)
		}
	}
	if a := e.Run(ctx, c, &Request{Cmd: []string{"echo"}}, nil); a.Error == nil || a.Error.Layer != "token" {
		t.Errorf("a fourth run of three: %+v %+v", a, a.Error)
	}
	if again, no := e.Authenticate(narrow.Text(), time.Now()); no != nil || again.Grant != c.Grant ||
		again.Key() != "bot" {
		t.Errorf("the token is read anew for each request: %v", no)
	}
	if _, no := e.Authenticate(strings.Replace(narrow.Text(), "A", "B", 1), time.Now()); no == nil {
		t.Error("a changed token")
	}
	if _, no := e.Authenticate(narrow.Text(), time.Now().Add(2*time.Hour)); no == nil {
		t.Error("an expired token")
	}
	must.Do(t, token.Revoke(filepath.Join(dir, "state"), tok.ID(), "test", time.Time{}))
	if _, no := e.Authenticate(narrow.Text(), time.Now()); no == nil {
		t.Error("a child of a revoked token")
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	checkLog(t, filepath.Join(dir, "audit.jsonl"), narrow.ID())
	if a := e.Run(ctx, Caller{}, &Request{Cmd: []string{"echo"}}, nil); a.Error == nil || a.Error.Layer != "audit" {
		t.Errorf("a run without an audit log: %+v %+v", a, a.Error)
	}
}

func checkLog(t *testing.T, path, id string) {
	t.Helper()
	if report, err := (audit.VerifyOptions{}).Verify(path); err != nil {
		t.Errorf("%+v %v", report, err)
	}
	found := lines(t, path)
	if len(found[audit.RunStart]) != 3 || len(found[audit.RunEnd]) != 3 || len(found[audit.RunRefused]) != 6 {
		t.Errorf("%d runs begun, %d ended, %d refused", len(found[audit.RunStart]), len(found[audit.RunEnd]),
			len(found[audit.RunRefused]))
	}
	for i, start := range found[audit.RunStart] {
		end := found[audit.RunEnd][i]
		if start["run"] != end["run"] || start["agent"] != "bot" || start["token"] != id ||
			end["status"] != string(nsjail.StatusOK) || len(end["plan_sha256"].(string)) != 64 {
			t.Errorf("%v\n%v", start, end)
		}
	}
}
