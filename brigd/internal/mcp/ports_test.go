package mcp

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"brig/brigd/internal/links"
	"brig/internal/test/must"
)

// site has origins for ports.
func site(t *testing.T) *links.Links {
	t.Helper()
	s := must.Get(links.Parse("localhost"))(t)
	s.At(8471, false)
	return links.New(s)
}

// A model can show its user what a server of the session serves, and nothing of another session. Where ports have no
// origins, there is no such tool.
func TestRealOpenPort(t *testing.T) {
	l := site(t)
	s := service1(t, Options{Engine: realEngine(t), Links: l}, "", ordinary)
	client, _ := connect(t, s, nil)
	if o := really(t, client, "open_port", `{"port":8000}`); !o.isError || o.Error.Code != "not_living" {
		t.Errorf("%+v", o)
	}
	really(t, client, "start_process", `{"shell":"exec sleep 1000"}`)
	for _, bad := range []string{`{"port":0}`, `{"port":65536}`, `{"port":"x"}`, `{}`} {
		if o := really(t, client, "open_port", bad); !o.isError || len(o.Error.Next) == 0 {
			t.Errorf("%s: %+v", bad, o)
		}
	}
	o := really(t, client, "open_port", `{"port":8000}`)
	m := regexp.MustCompile(`^http://(8000-sb-[a-z2-7]{26}\.localhost:8471)/\?(brig-key=[A-Z2-7]{52})\n`).FindStringSubmatch(o.text)
	if o.isError || m == nil || !strings.Contains(o.text, "Nothing listens on port 8000 yet") {
		t.Fatalf("%+v", o)
	}
	r := must.Get(http.NewRequest("GET", "http://"+m[1]+"/?"+m[2], nil))(t)
	if _, cookie, asked := l.Exchange(r); !asked || cookie == nil {
		t.Error("the URL opens nothing")
	}
	other, _ := connect(t, s, nil)
	if o := really(t, other, "open_port", `{"port":8000}`); !o.isError {
		t.Errorf("another session's: %+v", o)
	}
	plain, _ := connect(t, service1(t, Options{Engine: newFake()}, "", ordinary), nil)
	list := must.Get(plain.ListTools(t.Context(), nil))(t)
	for _, tool := range list.Tools {
		if tool.Name == "open_port" {
			t.Error(fmt.Sprint("without origins there is ", tool.Name))
		}
	}
}
