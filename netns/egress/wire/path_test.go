package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestCleanPath(t *testing.T) {
	for in, want := range map[string]string{
		"/": "/", "/?x=/../": "/", "/a/b": "/a/b", "/a/": "/a/", "/a?b": "/a", "/.git/..x/x..": "/.git/..x/x..", "/a%20b": "/a b", "/%7Eu": "/~u",
		"/a:b@c=d,e+f&g!$'()*": "/a:b@c=d,e+f&g!$'()*", "/%C3%A4": "/ä", "/%5b%40": "/[@",
	} {
		if got, ok := CleanPath(in); !ok || got != want {
			t.Errorf("%s: %q %v", in, got, ok)
		}
	}
	for _, in := range []string{
		"", "*", "a", "http://x/", "//", "//a", "/a//b", "/a//", "/.", "/..", "/a/../b", "/a/./b", "/a/..", "/...", "/a/..%20/b", "/%20", "/a/.%20./b",
		"/%2e%2e/b", "/%2E./b", "/.%2e/b", "/a%2fb", "/a%2Fb", "/a%5cb", `/a\b`, `/..\b`, "/%252e%252e/", "/%25", "/a;b", "/..;/b", "/a%3bb", "/a%3fb",
		"/a%23b", "/a#b", "/a%00", "/a%0a", "/a%0d%0ab", "/a%7f", "/%61", "/%30", "/%", "/%2", "/%zz", "/a%u002e", "/%c0%ae%c0%ae/", "/%c0%af", "/%ff",
		"/%e0%80%ae", "/%ef%bc%8f", "/%ef%bc%8e%ef%bc%8e/", "/%e2%80%a5/", "/ä", "/a b", "/a\tb", "/a\x00",
	} {
		if got, ok := CleanPath(in); ok {
			t.Errorf("%s: %q", in, got)
		}
	}
}

func TestRefusal(t *testing.T) {
	long := strings.Repeat("ä", 1000)
	b := Refusal(403, "method", "example.com", 80, "DELETE", "/a\"\r\nX: y\x00\xff"+long, "--allow http://example.com")
	if n := bytes.Count(b, []byte("\r\n")); n != 6 {
		t.Errorf("%d lines: %q", n, b)
	}
	r := bufio.NewReader(bytes.NewReader(b))
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil || r.Buffered() != 0 || resp.StatusCode != 403 || !resp.Close || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%v %+v", err, resp)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for k, want := range map[string]any{"error": "egress_denied", "reason": "method", "host": "example.com", "port": 80.0, "method": "DELETE",
		"rule": "http://example.com", "allow": "--allow http://example.com"} {
		if got[k] != want {
			t.Errorf("%s is %v", k, got[k])
		}
	}
	if path := got["path"].(string); !strings.HasPrefix(path, "/a\"\r\nX: y\x00") || len(path) > 600 {
		t.Errorf("path %q", path)
	}
	if b := Refusal(502, "connect_failed", "example.com", 80, "HEAD", "/", ""); !bytes.HasSuffix(b, []byte("\r\n\r\n")) || !bytes.Contains(b, []byte("502 Bad Gateway")) {
		t.Errorf("%q", b)
	}
	if b := Refusal(502, "connect_failed", "example.com", 80, "GET", "/", ""); !bytes.Contains(b, []byte("egress_failed")) || bytes.Contains(b, []byte("allow")) {
		t.Errorf("%q", b)
	}
	if b := Refusal(599, "x", "", 0, "", "", ""); !bytes.HasPrefix(b, []byte("HTTP/1.1 599 Refused\r\n")) {
		t.Errorf("%q", b)
	}
}

func TestErrorStatus(t *testing.T) {
	for reason, want := range map[string]int{HostMismatch: 403, NameInvalid: 403, BadMethod: 403, Protocol: 400, NotHTTP: 400} {
		if e := refuse(reason, "x"); e.Status() != want || e.Error() != reason+": x" {
			t.Errorf("%v: %d", e, e.Status())
		}
	}
}
