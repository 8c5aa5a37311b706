package api

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"brig/brigd/engine"
	"brig/brigd/job"
)

// Another agent's things are unknown.
func TestCrossAgent(t *testing.T) {
	f := newFake()
	g := newRig(t, Options{Engine: f})
	var box engine.SandboxInfo
	g.do(201, "POST", "/v1/sandboxes", `{"agent_id":"alice"}`).into(t, &box)
	at := "/v1/sandboxes/" + box.ID
	alice, bob := []string{"X-Agent-Id", "alice"}, []string{"X-Agent-Id", "bob"}
	g.do(200, "PUT", at+"/files/work/a", "x", alice...)
	for _, who := range [][]string{bob, nil} {
		g.refused(404, "not_found", "GET", at, "", who...)
		g.refused(404, "not_found", "DELETE", at, "", who...)
		g.refused(404, "not_found", "GET", at+"/files", "", who...)
		g.refused(404, "not_found", "GET", at+"/files/work/a", "", who...)
		g.refused(404, "not_found", "PUT", at+"/files/work/a", "y", who...)
		g.refused(404, "not_found", "DELETE", at+"/files/work/a", "", who...)
		g.refused(404, "sandbox_unknown", "POST", at+"/exec", `{"cmd":["id"]}`, who...)
		g.refused(404, "sandbox_unknown", "POST", "/v1/run", `{"cmd":["id"],"sandbox":"`+box.ID+`"}`, who...)
		if r := g.do(200, "GET", "/v1/sandboxes", "", who...); strings.Contains(string(r.text), box.ID) {
			t.Errorf("%s", r.text)
		}
	}
	g.refused(403, "agent_mismatch", "POST", at+"/exec", `{"cmd":["id"],"agent_id":"alice"}`, bob...)
	if r := g.do(200, "GET", at+"/files/work/a", "", alice...); string(r.text) != "x" {
		t.Errorf("%q", r.text)
	}
	g.refused(400, "invalid_agent", "GET", "/v1/sandboxes", "", "X-Agent-Id", "a b")
}

// verify knows one token.
func verify(token string, _ time.Time) (engine.Caller, *job.Refusal) {
	if token != "good" {
		return engine.Caller{}, no("token", "token_signature", "", "the token was altered", "ask for another")
	}
	return engine.Caller{Agent: "alice"}, nil
}

func TestAuthentication(t *testing.T) {
	f := newFake()
	g := newRig(t, Options{Engine: f, Authenticate: bearer(verify)})
	for _, bad := range []string{"Bearer bad", "Bearer", "Basic YTpi", "Bearer  ", "good"} {
		r := g.do(401, "POST", "/v1/run", `{"code":"say"}`, "Authorization", bad)
		if r.Header.Get("WWW-Authenticate") != `Bearer realm="brigd", error="invalid_token"` || f.Last != nil || f.Made != 0 {
			t.Errorf("%s: %v", bad, r.Header)
		}
	}
	good := []string{"Authorization", "bearer good"}
	g.do(200, "POST", "/v1/run", `{"code":"say"}`, good...)
	if f.Caller.Agent != "alice" {
		t.Errorf("%+v", f.Caller)
	}
	g.do(200, "POST", "/v1/run", `{"code":"say","agent_id":"alice"}`, good...)
	g.refused(403, "agent_mismatch", "POST", "/v1/run", `{"code":"say","agent_id":"bob"}`, good...)
	g.refused(403, "agent_mismatch", "POST", "/v1/run", `{"code":"say"}`, append(good, "X-Agent-Id", "bob")...)
	two := g.raw("unix", "GET /v1/sandboxes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nAuthorization: Bearer bad\r\nConnection: close\r\n\r\n")
	if len(two) != 1 || two[0].StatusCode != 401 {
		t.Errorf("two tokens: %v", two)
	}
}

// By TCP, requests without credentials, for another host name, or from a browser's page are refused.
func TestTCP(t *testing.T) {
	f := newFake()
	open := newRig(t, Options{Engine: f})
	guarded := newRig(t, Options{Engine: f, Authenticate: bearer(verify), Hosts: []string{"brig.example"},
		Origins: []string{"https://good.example"},
		Health:  func() map[string]string { return map[string]string{"secret": "x"} }})
	careless := newRig(t, Options{Engine: f,
		Authenticate: func(*http.Request) (engine.Caller, *job.Refusal) { return engine.Caller{}, nil }})
	get := func(g *rig, path, headers string) int {
		t.Helper()
		answers := g.raw("tcp", "GET "+path+" HTTP/1.1\r\n"+headers+"Connection: close\r\n\r\n")
		if len(answers) != 1 {
			t.Fatalf("%d answers", len(answers))
		}
		if text, _ := io.ReadAll(answers[0].Body); bytes.Contains(text, []byte("secret")) &&
			!strings.Contains(headers, "good") {
			t.Errorf("%s", text)
		}
		return answers[0].StatusCode
	}
	auth := "Authorization: Bearer good\r\n"
	for _, c := range []struct {
		g       *rig
		path    string
		headers string
		want    int
	}{
		{open, "/v1/version", "Host: localhost\r\n", 401},
		{open, "/v1/version", "Host: localhost\r\n" + auth, 401},
		{open, "/nothing", "Host: localhost\r\n", 401},
		{open, "/metrics", "Host: localhost\r\n", 401},
		{open, "/openapi.json", "Host: localhost\r\n", 401},
		{open, "/healthz", "Host: localhost\r\n", 200},
		{careless, "/v1/sandboxes", "Host: localhost\r\n", 401},
		{guarded, "/v1/sandboxes", "Host: localhost\r\n", 401},
		{guarded, "/v1/sandboxes", "Host: localhost\r\n" + auth, 200},
		{guarded, "/v1/sandboxes", "Host: localhost:80\r\n" + auth, 200},
		{guarded, "/v1/sandboxes", "Host: " + guarded.tcp + "\r\n" + auth, 200},
		{guarded, "/v1/sandboxes", "Host: BRIG.example:1\r\n" + auth, 200},
		{guarded, "/v1/sandboxes", "Host: attacker.example\r\n" + auth, 421},
		{guarded, "/v1/sandboxes", "Host: 10.0.0.1\r\n" + auth, 421},
		{guarded, "/v1/sandboxes", "Host: \r\n" + auth, 421},
		{guarded, "/healthz", "Host: attacker.example\r\n", 421},
		{guarded, "/healthz", "Host: localhost\r\n", 200},
		{guarded, "/v1/sandboxes", "Host: localhost\r\nOrigin: https://evil.example\r\n" + auth, 403},
		{guarded, "/v1/sandboxes", "Host: localhost\r\nOrigin: null\r\n" + auth, 403},
		{guarded, "/v1/sandboxes", "Host: localhost\r\nOrigin: https://good.example\r\n" + auth, 200},
		{guarded, "/v1/sandboxes", "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n" + auth, 403},
		{guarded, "/v1/sandboxes", "Host: localhost\r\nSec-Fetch-Site: none\r\n" + auth, 200},
	} {
		if got := get(c.g, c.path, c.headers); got != c.want {
			t.Errorf("%s %q: %d, not %d", c.path, c.headers, got, c.want)
		}
	}
	pre := guarded.raw("tcp", "OPTIONS /v1/run HTTP/1.1\r\nHost: localhost\r\nOrigin: https://good.example\r\nConnection: close\r\n\r\n")
	if len(pre) != 1 || pre[0].StatusCode != 204 || pre[0].Header.Get("Access-Control-Allow-Methods") != "POST" {
		t.Errorf("%v", pre)
	}
	guarded.refused(403, "origin_not_allowed", "GET", "/v1/version", "", "Origin", "https://evil.example")
}
