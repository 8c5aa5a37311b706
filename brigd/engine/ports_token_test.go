package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"brig/brigd/job"
	"brig/brigd/policy"
	"brig/brigd/token"
	"brig/internal/test/must"
)

// cut reports how a connection ends: nil if it does not in some seconds.
func cut(t *testing.T, c net.Conn) error {
	t.Helper()
	must.Do(t, c.SetReadDeadline(time.Now().Add(5*time.Second)))
	_, err := io.ReadFull(c, make([]byte, 1))
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		return nil
	}
	return err
}

// The ports of a sandbox are its token's as its files are: not a narrower one's. A connection ends with the token.
func TestPortsAndTokens(t *testing.T) {
	g := newGuarded(t)
	bot := g.mint(token.Block{Agent: "bot"})
	wide := g.caller(bot)
	box := must.Get(g.CreateSandbox(t.Context(), wide, &SandboxRequest{Living: true}))(t)
	p := must.Get(g.StartProcess(t.Context(), wide, box.ID,
		&ProcessRequest{Cmd: []string{"python3", "-c", echo, "127.0.0.1", "8000"}}, nil))(t)
	must.Get(g.ProcessOutput(t.Context(), wide, box.ID, p.ID, 0, maxWait))(t)
	for name, c := range map[string]Caller{
		"a narrower token":      g.caller(g.narrow(bot, token.Block{Note: "narrow"})),
		"another of the agent":  g.caller(g.mint(token.Block{Agent: "bot"})),
		"another agent's":       g.caller(g.mint(token.Block{Agent: "eve"})),
		"another local user":    {Agent: "uid-1"},
		"one without the right": g.caller(g.narrow(bot, token.Block{Policy: json.RawMessage(`{"open":true,"sandbox":{"operations":["live"]}}`)})),
	} {
		_, dial := g.DialPort(t.Context(), c, box.ID, 8000)
		_, list := g.Ports(c, box.ID)
		for _, err := range []error{dial, list, g.OpenPort(c, box.ID, 8000)} {
			if no, ok := errors.AsType[*job.Refusal](err); !ok || no.Code != "not_found" && no.Code != "operation_not_allowed" {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	c := must.Get(g.DialPort(t.Context(), wide, box.ID, 8000))(t)
	defer c.Close()
	says(t, c, "hello")
	must.Do(t, token.Revoke(g.state, wide.Grant.IDs()[0], "test", time.Time{}))
	if cut(t, c) == nil {
		t.Error("a connection outlives its token")
	}
	if _, err := g.DialPort(context.Background(), wide, box.ID, 8000); err == nil {
		t.Error("a revoked token connects")
	}
}

// A policy with operations has to list port.
func TestPortPolicies(t *testing.T) {
	for text, want := range map[string]string{
		`{"open":true,"sandbox":{"operations":["create","live"]}}`:        "operation_not_allowed",
		`{"open":true,"sandbox":{"operations":["create","live","port"]}}`: "port_closed",
		`{"open":true}`: "port_closed",
	} {
		e := newEngine(t, Options{Policies: []*policy.Policy{must.Get(policy.Parse([]byte(text)))(t)}})
		box := livingBox(t, e, SandboxRequest{})
		_, err := e.DialPort(t.Context(), Caller{}, box.ID, 8000)
		if no := asRefusal(err, "", ""); no == nil || no.Code != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if err := e.OpenPort(Caller{}, box.ID, 8000); (err == nil) != (want == "port_closed") {
			t.Errorf("%s: a link: %v", text, err)
		}
	}
}
