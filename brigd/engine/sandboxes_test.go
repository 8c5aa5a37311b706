package engine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"brig/brigd/policy"
	"brig/brigd/token"
	"brig/internal/test/must"
)

// codeOf returns the code of an error that is a Refusal; "" for nil.
func codeOf(err error) string {
	if err == nil {
		return ""
	}
	if no := asRefusal(err, "", "no refusal"); no != nil {
		return no.Code
	}
	return "no refusal"
}

// A policy allows each operation on sandboxes separately.
func TestOperationsOfAPolicy(t *testing.T) {
	ctx, me := context.Background(), Caller{Agent: "me"}
	operations := map[string]func(e *Engine, id string) error{
		"put": func(e *Engine, id string) error {
			_, err := e.PutFile(me, id, "f", strings.NewReader("x"), 0)
			return err
		},
		"get": func(e *Engine, id string) error {
			f, _, err := e.GetFile(me, id, "/work/there")
			if err == nil {
				err = f.Close()
			}
			return err
		},
		"list": func(e *Engine, id string) error {
			_, _, err := e.ListFiles(me, id, "/work", false, "")
			_, err2 := e.Allowed(me, id, "/work/there", false)
			return errors.Join(err, err2)
		},
		"delete": func(e *Engine, id string) error { return e.DeleteSandbox(me, id) },
		"create": func(e *Engine, _ string) error {
			_, err := e.CreateSandbox(ctx, me, &SandboxRequest{})
			return err
		},
	}
	for without := range operations {
		var list []string
		for op := range operations {
			if op != without {
				list = append(list, op)
			}
		}
		text := must.Get(json.Marshal(map[string]any{"open": true, "sandbox": map[string]any{"operations": list}}))(t)
		p := &policy.Policy{Open: true}
		e := newEngine(t, Options{Policies: []*policy.Policy{p}})
		box := must.Get(e.CreateSandbox(ctx, me, &SandboxRequest{}))(t)
		must.Get(e.PutFile(me, box.ID, "there", strings.NewReader("x"), 0))(t)
		e.access.policies = policies{parsed(t, string(text))}
		for _, op := range []string{"put", "get", "list", "create", "delete"} { // delete is the last
			want := ""
			if op == without {
				want = "operation_not_allowed"
			}
			if got := codeOf(operations[op](e, box.ID)); got != want {
				t.Errorf("without %s, %s: %q", without, op, got)
			}
		}
	}
}

func TestSandboxRequestsThatAreRefused(t *testing.T) {
	e := newEngine(t, Options{Policies: []*policy.Policy{parsed(t,
		`{"open": true, "sandbox": {"disk": "1m", "inodes": 50, "ttl": "1m"}, "inputs": {"file_bytes": 10}}`)}})
	ctx := context.Background()
	for name, c := range map[string]struct {
		caller Caller
		r      SandboxRequest
		code   string
	}{
		"a negative disk": {Caller{}, SandboxRequest{Disk: -1}, "negative_limit"},
		"negative inodes": {Caller{}, SandboxRequest{Inodes: -1}, "negative_limit"},
		"a negative time": {Caller{}, SandboxRequest{TTL: -1}, "negative_limit"},
		"another agent":   {Caller{Agent: "me"}, SandboxRequest{Agent: "you"}, "other_agent"},
		"a file's name":   {Caller{}, SandboxRequest{Files: map[string]File{"../x": {}}}, "bad_file_name"},
		"a file's size": {Caller{}, SandboxRequest{Files: map[string]File{"x": {Data: make([]byte, 11)}}},
			"input_too_large"},
		"as it should be":   {Caller{}, SandboxRequest{Files: map[string]File{"x": {Data: make([]byte, 10)}}}, ""},
		"more than allowed": {Caller{}, SandboxRequest{Disk: 1 << 30, Inodes: 1 << 20, TTL: Seconds(time.Hour)}, ""},
	} {
		box, err := e.CreateSandbox(ctx, c.caller, &c.r)
		if codeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && (box.Disk > 1<<20 || box.Inodes > 50 || time.Until(box.Expires) > time.Minute) {
			t.Errorf("%s: %+v", name, box)
		}
	}
	if list := listSandboxes(e, Caller{}); len(list) != 2 {
		t.Errorf("what was refused has left %d sandboxes", len(list)-2)
	}
	for what, err := range map[string]error{
		"get": func() error { _, err := e.Sandbox(Caller{}, "sb_x"); return err }(),
		"put": func() error { _, err := e.PutFile(Caller{}, "sb_x", "f", strings.NewReader(""), 0); return err }(),
		"end": e.DeleteSandbox(Caller{}, "sb_x"), "delete": e.DeleteFile(Caller{}, "sb_x", "/work/f"),
	} {
		if codeOf(err) != "not_found" {
			t.Errorf("%s of a sandbox that is not there: %v", what, err)
		}
	}
}

// A token is read once and checked each time.
func TestAuthenticate(t *testing.T) {
	if _, no := newEngine(t, Options{}).Authenticate("brig1.x", time.Now()); no == nil || no.Code != "tokens_unknown" {
		t.Errorf("without keys: %+v", no)
	}
	g := newGuarded(t)
	good := g.mint(token.Block{Agent: "bot", Policy: json.RawMessage(`{"languages":["python"]}`)})
	late := g.mint(token.Block{Expires: time.Now().Add(time.Hour)})
	for name, c := range map[string]struct {
		bearer string
		now    time.Time
		code   string
	}{
		"good":             {good.Text(), time.Now(), ""},
		"again":            {good.Text(), time.Now(), ""},
		"nothing":          {"", time.Now(), token.CodeMalformed},
		"text":             {"secret", time.Now(), token.CodeMalformed},
		"another issuer's": {newGuarded(t).mint(token.Block{}).Text(), time.Now(), token.CodeUntrusted},
		"still valid":      {late.Text(), time.Now(), ""},
		"expired":          {late.Text(), time.Now().Add(2 * time.Hour), token.CodeExpired},
		"a policy's mistake": {g.mint(token.Block{Policy: json.RawMessage(`{"comands":[]}`)}).Text(), time.Now(),
			"token_policy"},
	} {
		caller, no := g.Authenticate(c.bearer, c.now)
		if (no == nil) != (c.code == "") || no != nil && (no.Code != c.code || caller.Grant != nil) {
			t.Errorf("%s: %+v", name, no)
		}
		if no != nil && len(c.bearer) > 20 && strings.Contains(fmt.Sprint(no), c.bearer[6:20]) {
			t.Errorf("%s: the refusal has the token", name)
		}
	}
	first, again := g.caller(good), g.caller(good)
	if first.Grant != again.Grant || first.Agent != "bot" || len(first.Grant.policies) != 1 {
		t.Errorf("%+v %+v", first, again)
	}
	must.Do(t, token.Revoke(g.state, good.ID(), "", time.Time{}))
	if _, no := g.Authenticate(good.Text(), time.Now()); no == nil || no.Code != token.CodeRevoked {
		t.Errorf("revoked: %+v", no)
	}
}

// Bounds are counted by the agent of a token, or else by its first block: narrowing it makes no new caller.
func TestKeyOfACaller(t *testing.T) {
	g := newGuarded(t)
	named, open := g.mint(token.Block{Agent: "bot"}), g.mint(token.Block{})
	narrower := g.narrow(open, token.Block{Agent: "other"})
	if k := g.caller(named).Key(); k != "bot" {
		t.Error(k)
	}
	key := g.caller(open).Key()
	if key != "token "+open.ID() || g.caller(narrower).Key() != key {
		t.Errorf("%q %q", key, g.caller(narrower).Key())
	}
	if (Caller{}).Key() != Local || (Caller{Agent: "a"}).Key() != "a" {
		t.Error("without a token")
	}
	if !(*Grant)(nil).Covers([]string{"x"}) || g.caller(narrower).Grant.Covers(open.IDs()) ||
		!g.caller(open).Grant.Covers(narrower.IDs()) {
		t.Error("a token covers what is made from it, and nothing else")
	}
}

func TestGrantsAreBounded(t *testing.T) {
	s := grants{known: map[[sha256.Size]byte]*Grant{}}
	for i := range maxGrants + 10 {
		s.remember(sha256.Sum256(fmt.Append(nil, i)), &Grant{})
	}
	if len(s.known) != maxGrants || s.find([32]byte{1}) != nil ||
		s.find(sha256.Sum256(fmt.Append(nil, maxGrants+9))) == nil {
		t.Errorf("%d are kept", len(s.known))
	}
}
