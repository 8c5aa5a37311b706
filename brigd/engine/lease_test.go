package engine

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/brigd/audit"
	"brig/brigd/token"
	"brig/internal/test/must"
	"brig/nsjail"
)

// guarded is an engine that takes tokens, and what makes them.
type guarded struct {
	*Engine
	t      *testing.T
	ledger *token.Ledger
	log    string
	state  string
	key    ed25519.PrivateKey
	opts   Options
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	return newGuardedWith(t, Options{})
}

func newGuardedWith(t *testing.T, o Options) *guarded {
	t.Helper()
	dir := t.TempDir()
	g := &guarded{t: t, log: filepath.Join(dir, "audit.jsonl"), state: filepath.Join(dir, "state")}
	log := must.Get(audit.Open(audit.Options{Path: g.log}))(t)
	t.Cleanup(func() { _ = log.Close() })
	g.ledger = must.Get(token.OpenLedger(g.state))(t)
	t.Cleanup(func() { _ = g.ledger.Close() })
	pub, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	g.key = key
	o.Ledger, o.TokenKeys, o.Audit = g.ledger, []ed25519.PublicKey{pub}, log
	g.opts, g.Engine = o, newEngine(t, o)
	return g
}

func (g *guarded) mint(b token.Block) *token.Token {
	g.t.Helper()
	return must.Get(token.Mint(g.key, b))(g.t)
}

func (g *guarded) narrow(from *token.Token, b token.Block) *token.Token {
	g.t.Helper()
	return must.Get(token.Attenuate(from, b))(g.t)
}

func (g *guarded) caller(tok *token.Token) Caller {
	g.t.Helper()
	c, no := g.Authenticate(tok.Text(), time.Now())
	if no != nil {
		g.t.Fatal(no)
	}
	return c
}

func (g *guarded) sandbox(c Caller) string {
	g.t.Helper()
	box := must.Get(g.CreateSandbox(context.Background(), c, &SandboxRequest{}))(g.t)
	return box.ID
}

// The holder of a narrowed token cannot reach the sandboxes of its parent: code left there would run with the parent's
// rights.
func TestNarrowedTokensHaveTheirOwnSandboxes(t *testing.T) {
	g := newGuarded(t)
	bot := g.mint(token.Block{Agent: "bot"})
	narrow := g.caller(g.narrow(bot, token.Block{Policy: json.RawMessage(`{"open":true,"languages":[]}`)}))
	sister := g.caller(g.narrow(bot, token.Block{Note: "another"}))
	wide := g.caller(bot)
	parents, own := g.sandbox(wide), g.sandbox(narrow)
	local := Caller{}
	for name, c := range map[string]struct {
		by   Caller
		box  string
		sees bool
	}{
		"a narrowed token, its parent's": {narrow, parents, false},
		"a narrowed token, its own":      {narrow, own, true},
		"the parent, the narrower one's": {wide, own, true},
		"the parent, its own":            {wide, parents, true},
		"a sister":                       {sister, own, false},
		"another of the same agent":      {g.caller(g.mint(token.Block{Agent: "bot"})), parents, false},
		"the local owner":                {local, parents, true},
		"the local owner as bot":         {Caller{Agent: "bot"}, own, true},
		"another local user":             {Caller{Agent: "uid-1"}, own, false},
	} {
		_, err := g.PutFile(c.by, c.box, "json.py", strings.NewReader("print('mine')"), 0)
		_, _, listed := g.ListFiles(c.by, c.box, "/work", false, "")
		a := g.Run(context.Background(), c.by, &Request{Sandbox: c.box, Cmd: []string{"true"}}, nil)
		seen := slices.ContainsFunc(listSandboxes(g.Engine, c.by), func(i SandboxInfo) bool { return i.ID == c.box })
		if (err == nil) != c.sees || (listed == nil) != c.sees || (a.Status == "ok") != c.sees || seen != c.sees {
			t.Errorf("%s: put %v, list %v, run %s %v, seen %v", name, err, listed, a.Status, a.Error, seen)
		}
		if !c.sees {
			unknown := g.DeleteSandbox(c.by, "sb_none")
			no := g.DeleteSandbox(c.by, c.box)
			if no == nil || strings.ReplaceAll(no.Error(), c.box, "sb_none") != unknown.Error() {
				t.Errorf("%s: %v is told from %v", name, no, unknown)
			}
		}
	}
}

// What a token has begun ends when it is revoked, also by another process.
func TestRevokedWhileItRuns(t *testing.T) {
	g := newGuarded(t)
	bot := g.mint(token.Block{Agent: "bot"})
	wide, narrow := g.caller(bot), g.caller(g.narrow(bot, token.Block{Note: "one"}))
	kept, lost := g.sandbox(wide), g.sandbox(narrow)
	for _, c := range []struct {
		by  Caller
		box string
	}{{narrow, lost}, {g.caller(g.narrow(bot, token.Block{Note: "two"})), ""}} {
		a := g.Run(context.Background(), c.by,
			&Request{Sandbox: c.box, Cmd: []string{"sleep", "600"}, Timeout: Seconds(time.Hour)}, func(Event) {
				if err := token.Revoke(g.state, c.by.Grant.IDs()[1], "test", time.Time{}); err != nil {
					t.Error(err)
				}
			})
		if a.Status != string(nsjail.StatusCancelled) {
			t.Errorf("in %q: %+v %+v", c.box, a, a.Error)
		}
	}
	g.leases.Look(time.Now())
	if _, err := g.Sandbox(Caller{}, lost); err == nil {
		t.Error("the sandbox of a revoked token is there")
	}
	if _, err := g.Sandbox(wide, kept); err != nil {
		t.Errorf("the parent's sandbox: %v", err)
	}
	if _, err := g.CreateSandbox(context.Background(), narrow, &SandboxRequest{}); err == nil {
		t.Error("a revoked token makes a sandbox")
	}
	if found := lines(t, g.log)[audit.SandboxDelete]; len(found) != 1 || found[0]["sandbox"] != lost ||
		found[0]["note"] != token.CodeRevoked {
		t.Errorf("%v", found)
	}
}

// A run ends with its token, and so does a sandbox.
func TestExpiredWhileItRuns(t *testing.T) {
	g := newGuarded(t)
	end := time.Now().Add(2 * time.Second).Truncate(time.Second)
	c := g.caller(g.mint(token.Block{Agent: "bot", Expires: end}))
	id := g.sandbox(c)
	if i, err := g.Sandbox(c, id); err != nil || !i.Expires.Equal(end) {
		t.Errorf("%+v %v", i, err)
	}
	a := g.Run(context.Background(), c, &Request{Cmd: []string{"sleep", "600"}, Timeout: Seconds(24 * time.Hour)}, nil)
	if a.Status != "timeout" || !strings.Contains(strings.Join(a.Narrowed, " "), "the token expires") {
		t.Errorf("%+v %+v", a, a.Error)
	}
	g.leases.Look(end)
	if _, err := g.Sandbox(Caller{}, id); err == nil {
		t.Error("the sandbox of an expired token is there")
	}
	if a := g.Run(context.Background(), Caller{}, &Request{Cmd: []string{"true"}}, nil); a.Status != "ok" ||
		len(a.Narrowed) > 0 {
		t.Errorf("without a token: %+v %+v", a, a.Error)
	}
}

// While the ledger cannot be read, runs end, and sandboxes stay.
func TestLedgerThatCannotTell(t *testing.T) {
	g := newGuarded(t)
	c := g.caller(g.mint(token.Block{Agent: "bot"}))
	id := g.sandbox(c)
	a := g.Run(context.Background(), c, &Request{Cmd: []string{"sleep", "600"}},
		func(Event) { _ = os.Remove(g.state + "/revoked") })
	if a.Status != string(nsjail.StatusCancelled) {
		t.Errorf("%+v %+v", a, a.Error)
	}
	if _, err := g.Sandbox(Caller{}, id); err != nil {
		t.Errorf("the sandbox is gone: %v", err)
	}
}
