package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/netns/egress/policy"
)

func TestRefusal(t *testing.T) {
	long := strings.Repeat("ä", 1000)
	b := Refusal(403, "method", "example.com", 80, "DELETE", "/a\"\r\nX: y\x00\xff"+long, "http://example.com")
	if n := bytes.Count(b, []byte("\r\n")); n != 6 {
		t.Errorf("%d lines: %q", n, b)
	}
	r := bufio.NewReader(bytes.NewReader(b))
	resp := must.Get(http.ReadResponse(r, nil))(t)
	text, err := io.ReadAll(resp.Body)
	if err != nil || r.Buffered() != 0 || resp.StatusCode != 403 || !resp.Close || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%v %+v", err, resp)
	}
	var got map[string]any
	must.Do(t, json.Unmarshal(text, &got))
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
}

func TestErrorStatus(t *testing.T) {
	for reason, want := range map[policy.Reason]int{policy.ReasonHostMismatch: 403, policy.ReasonNameInvalid: 403, policy.ReasonMethod: 403, policy.ReasonProtocol: 400, policy.ReasonNotHTTP: 400} {
		if e := refuse(reason, "x"); e.Status() != want || e.Error() != string(reason)+": x" {
			t.Errorf("%v: %d", e, e.Status())
		}
	}
}
