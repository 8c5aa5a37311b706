package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/must"
)

// linked makes a link to a port as soon as something answers there, opens it, and returns the port's origin and the cookie.
func (p *proc) linked(at string, header ...string) (origin, cookie string) {
	p.t.Helper()
	var link struct{ URL string }
	w, text := p.send("POST", at+"/ports/8000", "", header...)
	must.Do(p.t, json.Unmarshal([]byte(text), &link))
	r := must.Get(http.NewRequest("GET", link.URL, nil))(p.t)
	opened := must.Get(p.client.Transport.RoundTrip(r))(p.t)
	opened.Body.Close()
	if w.StatusCode != 200 || opened.StatusCode != 303 || len(opened.Cookies()) != 1 {
		p.t.Fatal(text, opened.Status, opened.Header)
	}
	return "http://" + r.Host, "brig-port=" + opened.Cookies()[0].Value
}

// A link to a port has its maker's rights at that port, as long as the maker has them.
func TestLinksToPorts(t *testing.T) {
	d := dir(t)
	call(t, "", "token", "keygen", "--out", d+"/k")
	wide := strings.TrimSpace(call(t, "", "token", "mint", "--key", d+"/k.key", "--agent", "bot"))
	p := begin(t, nil, "serve", "--listen", "tcp:127.0.0.1:0", "--port-host", "localhost", "--token-key", d+"/k.pub", "--state-dir", d+"/state",
		"--audit", d+"/log")
	p.url, p.key = "http://localhost", wide
	at, _ := p.sandbox(map[string]any{"living": true})
	auth := []string{"Authorization", "Bearer " + wide}
	if w, body := p.send("POST", at+"/processes", `{"shell":"cd /work; echo hello >index.html; exec python3 -m http.server"}`,
		append(auth, "Content-Type", "application/json")...); w.StatusCode != 201 {
		t.Fatal(w.Status, body)
	}
	origin, cookie := p.linked(at, auth...)
	if _, port, _ := strings.Cut(p.addr, "127.0.0.1"); !strings.HasPrefix(origin, "http://8000-sb-") || !strings.HasSuffix(origin, ".localhost"+port) {
		t.Error(origin, p.addr)
	}
	p.url = origin
	w, body := p.send("GET", "/", "", "Cookie", cookie)
	for end := time.Now().Add(20 * time.Second); w.StatusCode == 502 && time.Now().Before(end); w, body = p.send("GET", "/", "", "Cookie", cookie) {
		time.Sleep(10 * time.Millisecond) // it has not listened yet
	}
	if w.StatusCode != 200 || body != "hello\n" {
		t.Error(w.Status, body)
	}
	if w, body := p.send("GET", "/", ""); w.StatusCode != 401 || !strings.Contains(body, "authentication_required") {
		t.Error("without the cookie:", w.Status, body)
	}
	call(t, wide, "token", "revoke", "--state-dir", d+"/state")
	if w, body := p.send("GET", "/", "", "Cookie", cookie); w.StatusCode < 400 || strings.Contains(body, "hello") || !strings.Contains(body, "revoked") {
		t.Error("it outlives the token:", w.Status, body)
	}
	p.signal(syscall.SIGTERM)
	p.end()
	if shown := call(t, "", "audit", "show", d+"/log"); !strings.Contains(shown, "port.open") {
		t.Error(shown)
	}
}
