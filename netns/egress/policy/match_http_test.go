package policy

import "testing"

func TestCleanPath(t *testing.T) {
	for in, want := range map[string]string{
		"/": "/", "/?x=/../": "/", "/a/b": "/a/b", "/a/": "/a/", "/a?b": "/a", "/.git/..x/x..": "/.git/..x/x..", "/a%20b": "/a b", "/%7Eu": "/~u",
		"/a:b@c=d,e+f&g!$'()*": "/a:b@c=d,e+f&g!$'()*", "/%C3%A4": "/ä", "/%5b%40": "/[@",
	} {
		if got, ok := cleanPath(in); !ok || got != want {
			t.Errorf("%s: %q %v", in, got, ok)
		}
	}
	for _, in := range []string{
		"", "*", "a", "http://x/", "//", "//a", "/a//b", "/a//", "/.", "/..", "/a/../b", "/a/./b", "/a/..", "/...", "/a/..%20/b", "/%20", "/a/.%20./b",
		"/%2e%2e/b", "/%2E./b", "/.%2e/b", "/a%2fb", "/a%2Fb", "/a%5cb", `/a\b`, `/..\b`, "/%252e%252e/", "/%25", "/a;b", "/..;/b", "/a%3bb", "/a%3fb",
		"/a%23b", "/a#b", "/a%00", "/a%0a", "/a%0d%0ab", "/a%7f", "/%61", "/%30", "/%", "/%2", "/%zz", "/a%u002e", "/%c0%ae%c0%ae/", "/%c0%af", "/%ff",
		"/%e0%80%ae", "/%ef%bc%8f", "/%ef%bc%8e%ef%bc%8e/", "/%e2%80%a5/", "/ä", "/a b", "/a\tb", "/a\x00",
	} {
		if got, ok := cleanPath(in); ok {
			t.Errorf("%s: %q", in, got)
		}
	}
}

func TestRequest(t *testing.T) {
	m := matcher(t, requests)
	for _, c := range []struct {
		host, method, path string
		want               Reason
	}{
		{"open.org", "DELETE", "/x/../y", ""},
		{"open.org", "OPTIONS", "*", ""},
		{"api.example", "GET", "/v1", ""},
		{"api.example", "GET", "/v1/", ""},
		{"api.example", "HEAD", "/v1/x/y?q=/../..", ""},
		{"api.example", "GET", "/v1?x", ""},
		{"api.example", "GET", "/v1#x", ReasonPath},
		{"api.example", "GET", "/v10", ReasonPath},
		{"api.example", "GET", "/v", ReasonPath},
		{"api.example", "GET", "/", ReasonPath},
		{"api.example", "GET", "", ReasonPath},
		{"api.example", "GET", "*", ReasonPath},
		{"api.example", "GET", "/V1", ReasonPath},
		{"api.example", "GET", "v1", ReasonPath},
		{"api.example", "PUT", "/v1", ReasonMethod},
		{"api.example", "get", "/v1", ReasonMethod},
		{"api.example", "", "/v1", ReasonMethod},
		// any rule that allows both suffices; none lends its half to another
		{"api.example", "POST", "/hook/1", ""},
		{"api.example", "POST", "/v1", ReasonPath},
		{"api.example", "GET", "/hook", ReasonPath},
		{"www.example", "POST", "/hook", ""},
		{"www.example", "GET", "/hook", ReasonMethod},
		// one path, many spellings
		{"api.example", "GET", "/%76%31/x", ReasonPath},
		{"api.example", "GET", "/v1/../secret", ReasonPath},
		{"api.example", "GET", "/secret/../v1/x", ReasonPath},
		{"api.example", "GET", "/v1/./x", ReasonPath},
		{"api.example", "GET", "/v1/..", ReasonPath},
		{"api.example", "GET", "/v1/%2e%2e/secret", ReasonPath},
		{"api.example", "GET", "/v1/%2E./secret", ReasonPath},
		{"api.example", "GET", "/v1/..;/secret", ReasonPath},
		{"api.example", "GET", "/v1/..;x=1/secret", ReasonPath},
		{"api.example", "GET", "/v1/%252e%252e/secret", ReasonPath},
		{"api.example", "GET", "/v1%2f..%2fsecret", ReasonPath},
		{"api.example", "GET", "/v1/x%2Fy", ReasonPath},
		{"api.example", "GET", `/v1/..\secret`, ReasonPath},
		{"api.example", "GET", "/v1/%5c..%5csecret", ReasonPath},
		{"api.example", "GET", "/v1/%00", ReasonPath},
		{"api.example", "GET", "/v1/%0d%0a", ReasonPath},
		{"api.example", "GET", "/v1/%", ReasonPath},
		{"api.example", "GET", "/v1/%4", ReasonPath},
		{"api.example", "GET", "/v1/%zz", ReasonPath},
		{"api.example", "GET", "/v1/...", ReasonPath},
		{"api.example", "GET", "/v1/.hidden", ""},
		{"api.example", "GET", "/v1//x", ReasonPath},
		{"api.example", "GET", "//v1/x", ReasonPath},
		{"api.example", "GET", "/x//v1", ReasonPath},
		{"api.example", "GET", "/v1;p/x", ReasonPath},
		{"get.org", "GET", "/anything/../at/all", ""},
		{"get.org", "HEAD", "/", ReasonMethod},
		{"path.org", "ANY", "/%c3%bc/x", ""},
		{"path.org", "ANY", "/\u00fc", ReasonPath},
		{"path.org", "ANY", "/%fc", ReasonPath},
		{"root.org", "GET", "/x", ""},
		{"root.org", "GET", "/x/%2e%2e", ReasonPath},
		{"root.org", "OPTIONS", "*", ReasonPath},
	} {
		d := m.Host(c.host, 80)
		if !d.Allow || d.Mode != ModeHTTP {
			t.Fatalf("Host(%s) = %+v", c.host, d)
		}
		if got := m.Request(d, c.method, c.path); got != c.want {
			t.Errorf("Request(%s %s %s) = %q, want %q", c.method, c.host, c.path, got, c.want)
		}
	}
	for host, want := range map[string]bool{"open.org": true, "api.example": false, "get.org": false, "path.org": false, "nowhere.org": false} {
		if got := m.Unlimited(m.Host(host, 80)); got != want {
			t.Errorf("Unlimited(%s) = %v", host, got)
		}
	}
	if d := m.Host("api.example", 8080); m.Request(d, "PUT", "/x") != "" || !m.Unlimited(d) {
		t.Error("what holds at port 80 holds at 8080")
	}
	if got := m.Request(m.Host("nowhere.org", 80), "GET", "/"); got != ReasonNoRule {
		t.Errorf("a request that no decision allowed: %q", got)
	}
}

const requests = `{"allow": ["open.org",
    {"host": "api.example", "ports": [80], "mode": "http", "methods": ["GET", "HEAD"], "paths": ["/v1/"]},
    {"host": "api.example", "ports": [8080], "mode": "http"}, "tcp://api.example:8081",
    {"host": "*.example", "ports": [80], "mode": "http", "methods": ["POST"], "paths": ["/hook"]},
    {"host": "get.org", "mode": "http", "methods": ["GET"]}, {"host": "path.org", "mode": "http", "paths": ["/\u00fc", "/x"]},
    {"host": "root.org", "mode": "http", "paths": ["/"]}]}`
