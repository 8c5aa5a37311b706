package api

import (
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"

	"brig/brigd/internal/front"
)

// FuzzMatch: whatever the path, a route's id is an id, and a file's path is clean, absolute, and not longer than it may
// be.
func FuzzMatch(f *testing.F) {
	for _, s := range []string{"/v1/run", "/v1/sandboxes/a/files/work/x", "/v1/sandboxes/a/files/work/%2e%2e/x",
		"/v1/sandboxes/a/files//x", "/v1/sandboxes/%2e/exec",
		"/v1/sandboxes/a/files/a%2fb%00", "*", "", "//", "/v1/sandboxes/a/files/%ff%0a", "/v1/sandboxes/a/files/a;b/c?d#e"} {
		f.Add("GET", s)
	}
	s := newServer(Options{Engine: newFake()})
	f.Fuzz(func(t *testing.T, method, target string) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return
		}
		c := &call{Visit: &front.Visit{R: &http.Request{Method: method, URL: u}}}
		found, _, bad := c.match(s.routes)
		if found == nil {
			return
		}
		if strings.Contains(found.path, "{id}") && !front.ID.MatchString(c.id) {
			t.Errorf("%q: the id is %q", target, c.id)
		}
		if strings.Contains(found.path, "{path}") && bad == nil &&
			(path.Clean(c.path) != c.path || c.path[0] != '/' || len(c.path) > maxFilePath || strings.Contains(c.path, "\x00")) {
			t.Errorf("%q: the path is %q", target, c.path)
		}
	})
}

// FuzzAccepted: whatever the header, the answer has one of the types, or is refused.
func FuzzAccepted(f *testing.F) {
	for _, s := range []string{"*/*", "application/json;q=0.5, text/event-stream", "application/x-ndjson;q=0", "a,b;q=",
		";;,,q=", "APPLICATION/JSON ; charset=utf-8; q=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		kind, err := accepted([]string{s})
		if err == nil && kind != jsonType && kind != ndjsonType && kind != sseType {
			t.Errorf("%q: %q", s, kind)
		}
	})
}
