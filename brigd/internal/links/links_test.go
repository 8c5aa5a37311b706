package links

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"brig/brigd/engine"
	"brig/internal/test/must"
)

const id = "sb_abcdefghijklmnopqrstuvwx23"

// at returns Links below a name, and their clock.
func at(t *testing.T, name string) (*Links, *time.Time) {
	t.Helper()
	s := must.Get(Parse(name))(t)
	if !s.Complete() {
		s.At(8470, false)
	}
	l, now := New(s), time.Unix(1e9, 0)
	l.now = func() time.Time { return now }
	return l, &now
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{"localhost": "http://*.localhost:8470", "Ports.Example.org": "http://*.ports.example.org:8470",
		"https://ports.example.org": "https://*.ports.example.org", "https://p.example:8443": "https://*.p.example:8443",
		"http://localhost:80": "http://*.localhost:80", "http://dev.localhost": "http://*.dev.localhost"} {
		l, _ := at(t, text)
		if got := strings.Replace(l.origin("x_y", 1), "1-x-y", "*", 1); got != want {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
	}
	for _, text := range []string{"", ".", "a..b", "-a", "127.0.0.1", "::1", "[::1]", "*.example.org", "a_b", "localhost:80", "a/b", "http://example.org",
		"https://example.org/", "https://u@example.org", "https://", "ftp://localhost", "https://a?b", "a.", strings.Repeat("a.", 95) + "b", "ä.example"} {
		if s, err := Parse(text); err == nil {
			t.Errorf("%q is taken: %+v", text, s)
		}
	}
}

// A name is of one port of one sandbox, and no other name is of it.
func TestNames(t *testing.T) {
	l, _ := at(t, "localhost")
	if got := l.origin(id, 65535); got != "http://65535-sb-abcdefghijklmnopqrstuvwx23.localhost:8470" {
		t.Error(got)
	}
	for host, want := range map[string]string{
		"8000-sb-abc.localhost": "sb_abc 8000", "8000-sb-abc.localhost:8470": "sb_abc 8000", "8000-SB-abc.LOCALHOST:1": "sb_abc 8000",
		"0-sb-abc.localhost": "none", "08000-sb-abc.localhost": "none", "65536-sb-abc.localhost": "none", "99999-sb-abc.localhost": "none",
		"8000-sb_abc.localhost": "none", "8000-sb-a-b.localhost": "none", "8000-sb-.localhost": "none", "8000.localhost": "none",
		"x.8000-sb-abc.localhost": "none", "8000-sb-abc.localhost.": "none", "8000-sb-abc..localhost": "none", ".localhost": "none",
		"8000-sb-abc.localhost..:80": "none", "a@8000-sb-abc.localhost": "none", "brigd.localhost": "none",
		"8000-sb-" + strings.Repeat("a", 60) + ".localhost": "none", "localhost": "not below", "localhost:8470": "not below", "": "not below",
		"8000-sb-abc.localhost.evil": "not below", "evillocalhost": "not below", "[::1]:80": "not below", "127.0.0.1": "not below",
	} {
		got := "not below"
		if l.Below(host) {
			got = "none"
		}
		if box, port, ok := l.Port(host); ok {
			got = fmt.Sprint(box, " ", port)
		}
		if got != want {
			t.Errorf("%q: %s, not %s", host, got, want)
		}
	}
	for _, bad := range []string{"sb_a-worker", "sb", "sb_", "SB_a", "sb_a_b", "sb_" + strings.Repeat("a", 60)} {
		if got := l.origin(bad, 8000); got != "" {
			t.Errorf("%s: %s", bad, got)
		}
	}
	var none *Links
	if none.Below("8000-sb-abc.localhost") {
		t.Error("without links there is a name")
	}
}

// visit is a request with a cookie.
func visit(host, cookie string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	r.Host = host
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	return r
}

// A link opens once, at its own name, until its time is over; and so do what it becomes.
func TestLinks(t *testing.T) {
	l, now := at(t, "localhost")
	bob := engine.Caller{Agent: "bob"}
	url, until, no := l.Open(bob, id, 8000)
	host, key, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/?"+param+"=")
	if no != nil || until.Sub(*now) != KeyLife || len(key) != 2*half {
		t.Fatal(url, until, no)
	}
	altered := key[:len(key)-1] + map[bool]string{true: "B", false: "A"}[key[len(key)-1] == 'A']
	for name, c := range map[string][2]string{"no key": {host, ""}, "half": {host, key[:half]}, "altered": {host, altered}, "longer": {host, key + "A"},
		"another port": {strings.Replace(host, "8000", "8001", 1), key}, "another sandbox": {strings.Replace(host, "-abc", "-abd", 1), key},
		"no name": {"localhost", key}, "below it": {"x." + host, key}} {
		if l.redeem(c[0], c[1]) != nil {
			t.Error("redeemed:", name)
		}
	}
	if _, ok := l.Visitor(visit(host, plainName+"="+key)); ok {
		t.Error("a key is a cookie")
	}
	cookie := l.redeem(host, key)
	if cookie == nil || cookie.Name != plainName || cookie.Value == key || cookie.Domain != "" || cookie.Path != "/" || !cookie.HttpOnly ||
		cookie.SameSite != http.SameSiteLaxMode || cookie.Secure || cookie.MaxAge != 8*3600 {
		t.Fatalf("%+v", cookie)
	}
	if l.redeem(host, key) != nil || l.redeem(host, cookie.Value) != nil {
		t.Error("it opens twice")
	}
	of := func(host, cookies string) string {
		c, ok := l.Visitor(visit(host, cookies))
		return fmt.Sprint(c.Agent, ok)
	}
	mine := plainName + "=" + cookie.Value
	for name, c := range map[string]struct{ host, cookies, want string }{
		"its own": {host, mine, "bobtrue"}, "by another TCP port": {host[:len(host)-4] + "1", mine, "bobtrue"},
		"beside a planted one": {host, "a=b; brig-port=x;brig-port=" + key + "; " + mine, "bobtrue"},
		"another port":         {strings.Replace(host, "8000", "8001", 1), mine, "false"}, "another sandbox": {strings.Replace(host, "-abc", "-abd", 1), mine, "false"},
		"brigd's own name": {"localhost:8470", mine, "false"}, "none": {host, "", "false"}, "another name": {host, secureName + "=" + cookie.Value, "false"},
	} {
		if got := of(c.host, c.cookies); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	*now = now.Add(visitLife)
	if got := of(host, mine); got != "false" {
		t.Error("the cookie does not end")
	}
	url, _, _ = l.Open(bob, id, 8000)
	*now = now.Add(KeyLife)
	if _, key, _ = strings.Cut(url, "="); l.redeem(host, key) != nil {
		t.Error("the link does not end")
	}
	tls, _ := at(t, "https://ports.example.org")
	url, _, _ = tls.Open(bob, id, 8000)
	host, key, _ = strings.Cut(strings.TrimPrefix(url, "https://"), "/?"+param+"=")
	if cookie = tls.redeem(host, key); cookie == nil || cookie.Name != secureName || !cookie.Secure || cookie.Domain != "" {
		t.Errorf("%s %+v", url, cookie)
	}
}

// One caller's links leave place for those of others.
func TestLinksAreBounded(t *testing.T) {
	l, now := at(t, "localhost")
	opened := func(agent string) (n int) {
		for ; n <= most; n++ {
			if _, _, no := l.Open(engine.Caller{Agent: agent}, id, 8000); no != nil {
				return n
			}
		}
		return n
	}
	if first, second := opened("bob"), opened("eve"); first > most/part || second < most/part/2 || second > first {
		t.Error(first, second)
	}
	*now = now.Add(KeyLife)
	if n := opened("bob"); n < most/part/2 || len(l.all) != n {
		t.Error("those whose time is over count:", n, len(l.all))
	}
}

func TestCookiesOfAnswers(t *testing.T) {
	const host = "8000-sb-abc.localhost"
	kept := []string{"a=b", "a=b; Path=/; HttpOnly", "a=b; Domain=" + host, "a=b; domain=." + strings.ToUpper(host), "a=b; Domain=", "a=; Secure",
		"xbrig-port=1", "a=brig-port=1", "__Host-a=b"}
	h := http.Header{"Set-Cookie": append([]string{"a=b; Domain=localhost", "a=b;dOmAiN = .localhost", "a=b; Domain=" + host + "; Domain=localhost",
		"a=b; Domain=8001-sb-abc.localhost", "a=b; Domain=example.org", "brig-port=x", " BRIG-Port =x; Path=/a", "__host-brig-port=x", "brig-port", "=brig-port=x",
		" =x", "", ";Domain=localhost", "a=b; Domain=x." + host}, kept...)}
	if Tame(h, host+":8470"); fmt.Sprint(h["Set-Cookie"]) != fmt.Sprint(kept) {
		t.Errorf("%q", h["Set-Cookie"])
	}
}

func TestCookiesOfRequests(t *testing.T) {
	for in, want := range map[string]string{"a=b": "a=b", "brig-port=x": "", "a=b; brig-port=x; c=d;": "a=b; c=d", "__Host-brig-port=x;a": "a", " BRIG-PORT =x; e=": "e=",
		"brig-port": "", "brig-portx=1": "brig-portx=1"} {
		h := http.Header{"Cookie": {in, "brig-port=y"}}
		if Cut(h); h.Get("Cookie") != want || len(h["Cookie"]) > 1 {
			t.Errorf("%q: %q", in, h)
		}
	}
}

// What browsers send by themselves for a page elsewhere is foreign; see the Fetch Metadata specification.
func TestForeign(t *testing.T) {
	const origin = "http://8000-sb-abc.localhost:8470"
	for name, c := range map[string]struct {
		method, headers string
		want            bool
	}{
		"a program":                    {"POST", "", false},
		"typed":                        {"GET", "Sec-Fetch-Site: none|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document", false},
		"its own fetch":                {"GET", "Sec-Fetch-Site: same-origin|Sec-Fetch-Mode: cors|Sec-Fetch-Dest: empty", false},
		"its own POST":                 {"POST", "Sec-Fetch-Site: same-origin|Origin: " + origin, false},
		"its own POST, old browser":    {"POST", "Origin: " + origin, false},
		"its own WebSocket":            {"GET", "Upgrade: websocket|Origin: " + origin, false},
		"its own without an address":   {"POST", "Sec-Fetch-Site: same-origin|Origin: null", false},
		"a link":                       {"GET", "Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document", false},
		"a link of a sibling":          {"GET", "Sec-Fetch-Site: same-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document", false},
		"a form":                       {"POST", "Sec-Fetch-Site: same-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document|Origin: http://8001-sb-abc.localhost:8470", true},
		"a form, old browser":          {"POST", "Origin: http://8001-sb-abc.localhost:8470", true},
		"a form without an address":    {"POST", "Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document|Origin: null", true},
		"null alone":                   {"POST", "Origin: null", true},
		"a navigation by POST":         {"POST", "Sec-Fetch-Site: same-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document", true},
		"a frame":                      {"GET", "Sec-Fetch-Site: same-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: iframe", true},
		"a script":                     {"GET", "Sec-Fetch-Site: same-site|Sec-Fetch-Mode: no-cors|Sec-Fetch-Dest: script", true},
		"an image":                     {"GET", "Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: no-cors|Sec-Fetch-Dest: image", true},
		"fetch":                        {"GET", "Sec-Fetch-Site: same-site|Sec-Fetch-Mode: cors|Sec-Fetch-Dest: empty|Origin: http://x.localhost", true},
		"a WebSocket":                  {"GET", "Upgrade: websocket|Origin: http://localhost:8470", true},
		"a WebSocket, with metadata":   {"GET", "Upgrade: websocket|Sec-Fetch-Site: same-site|Sec-Fetch-Mode: websocket|Origin: http://localhost:8470", true},
		"another scheme":               {"GET", "Origin: https" + strings.TrimPrefix(origin, "http"), true},
		"another TCP port":             {"POST", "Origin: http://8000-sb-abc.localhost:9999", true},
		"two origins":                  {"GET", "Origin: " + origin + "|Origin: " + origin, true},
		"two sites":                    {"GET", "Sec-Fetch-Site: same-origin|Sec-Fetch-Site: cross-site", true},
		"a word of a browser to come":  {"GET", "Sec-Fetch-Site: unheard-of|Sec-Fetch-Mode: cors", true},
		"its origin and a foreign one": {"GET", "Sec-Fetch-Site: cross-site|Origin: null", true},
	} {
		r := httptest.NewRequest(c.method, "/", nil)
		for h := range strings.SplitSeq(c.headers, "|") {
			if name, value, ok := strings.Cut(h, ": "); ok {
				r.Header.Add(name, value)
			}
		}
		if got := Foreign(r, origin); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
