package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/fakes"
	"brig/brigd/internal/front"
	"brig/brigd/internal/links"
	"brig/brigd/job"
	"brig/internal/test/must"
)

// site is a rig whose ports have origins, with a sandbox of alice's and a server at a port of it.
type site struct {
	*rig
	box  string
	port int
	host string // of the port
	seen chan *http.Request
}

func newSite(t *testing.T, answer http.Header) *site {
	t.Helper()
	at := must.Get(links.Parse("localhost"))(t)
	at.At(8470, false)
	l, f := links.New(at), fakes.New(nil)
	g := &site{seen: make(chan *http.Request, 16)}
	g.rig = newRig(t, Options{Engine: f, Links: l, MaxRequests: 8, Credential: func(h string) bool { return strings.Contains(h, "good") },
		Authenticate: func(r *http.Request) (engine.Caller, *job.Refusal) {
			if c, ok := l.Visitor(r); ok {
				return c, nil
			}
			return bearer(verify)(r)
		}})
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.seen <- r
		for name, values := range answer {
			w.Header()[name] = values
		}
		_, _ = io.WriteString(w, "inside "+r.RequestURI)
	}))
	t.Cleanup(inside.Close)
	g.box = must.Get(f.CreateSandbox(t.Context(), engine.Caller{Agent: "alice"}, &engine.SandboxRequest{}))(t).ID
	g.port = inside.Listener.Addr().(*net.TCPAddr).Port
	g.host = fmt.Sprintf("%d-%s.localhost:8470", g.port, strings.Replace(g.box, "_", "-", 1))
	return g
}

// to sends a request by TCP; headers are lines.
func (g *site) to(method, host, path string, headers ...string) (*http.Response, string) {
	g.Helper()
	text := method + " " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n"
	for _, h := range headers {
		text += h + "\r\n"
	}
	if method == "POST" {
		text += "Content-Length: 0\r\n"
	}
	answers := g.raw("tcp", text+"\r\n")
	if len(answers) != 1 {
		g.Fatalf("%s %s: %d answers", method, path, len(answers))
	}
	body := must.Get(io.ReadAll(answers[0].Body))(g.T)
	return answers[0], string(body)
}

const auth = "Authorization: Bearer good"

// link makes a link and returns its path.
func (g *site) link() string {
	g.Helper()
	var link front.Link
	g.do(200, "POST", fmt.Sprintf("/v1/sandboxes/%s/ports/%d", g.box, g.port), "", "Authorization", "Bearer good").into(g.T, &link)
	path, ok := strings.CutPrefix(link.URL, "http://"+g.host)
	if !ok || link.Expires == nil || time.Until(*link.Expires) > links.KeyLife {
		g.Fatalf("%+v", link)
	}
	return path
}

// cookie opens a link, and returns the cookie as a browser sends it.
func (g *site) cookie() string {
	g.Helper()
	r, _ := g.to("GET", g.host, g.link())
	if len(r.Cookies()) != 1 {
		g.Fatal(r.Status, r.Header)
	}
	return "Cookie: a=b; " + r.Cookies()[0].Name + "=" + r.Cookies()[0].Value + "; c=d"
}

// A port's host reaches that port, for whoever may, and brigd's own routes are at no host of that kind.
func TestOrigins(t *testing.T) {
	g := newSite(t, nil)
	for host, want := range map[string]string{
		g.host: "inside /v1/version?x=y", strings.ToUpper(g.host): "inside", "localhost": `"api":"v1"`, "localhost:8470": `"api":"v1"`,
		"brigd.localhost": "host_names_no_port", "x." + g.host: "host_names_no_port", "0-box-1.localhost": "host_names_no_port",
		strings.Replace(g.host, ":8470", ".", 1): "host_names_no_port", "evil.example": "host_not_allowed",
		strings.Replace(g.host, "-box-1", "-box-2", 1): "not_found",
	} {
		path := "/v1/version"
		if host == g.host {
			path += "?x=y"
		}
		for _, network := range []string{"tcp", "unix"} {
			if network == "unix" && host == "evil.example" {
				continue // any other name is brigd's there
			}
			a := g.raw(network, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\n"+auth+"\r\nConnection: close\r\n\r\n")
			if len(a) != 1 {
				t.Fatal(host, len(a))
			}
			if text := string(must.Get(io.ReadAll(a[0].Body))(t)); !strings.Contains(text, want) {
				t.Errorf("%s: %s %s, not %s", host, a[0].Status, text, want)
			}
		}
	}
	for name, c := range map[string]struct {
		method string
		header []string
		status int
	}{
		"nobody": {"GET", nil, 401}, "a wrong token": {"GET", []string{"Authorization: Bearer bad"}, 401}, "by token": {"POST", []string{auth}, 200},
		"a wrong cookie":    {"GET", []string{"Cookie: brig-port=" + strings.Repeat("A", 52)}, 401},
		"preflight":         {"OPTIONS", []string{"Origin: http://localhost:8470", "Access-Control-Request-Method: PUT"}, 401},
		"nobody, elsewhere": {"POST", []string{"Origin: http://evil.example"}, 401},
	} {
		if r, text := g.to(c.method, g.host, "/x", c.header...); r.StatusCode != c.status || r.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %s %s %v", name, r.Status, text, r.Header)
		}
	}
}

// A link opens once and leaves its key nowhere; then its cookie stands for the caller, in requests of the origin's own.
func TestLinksOpenOnce(t *testing.T) {
	g := newSite(t, nil)
	path := g.link()
	if r, text := g.to("POST", g.host, path, auth); r.StatusCode != 405 {
		t.Error(r.Status, text)
	}
	if r, text := g.to("GET", strings.Replace(g.host, fmt.Sprint(g.port), "1", 1), path); r.StatusCode != 401 || !strings.Contains(text, "link_over") {
		t.Error("another port's:", r.Status, text)
	}
	r, _ := g.to("GET", g.host, "//evil.example/%2Fa"+strings.TrimPrefix(path, "/")+"&x=%zz;")
	if r.StatusCode != 303 || r.Header.Get("Location") != "http://"+g.host+"/evil.example/%2Fa?x=%zz;" || r.Header.Get("Cache-Control") != "no-store" ||
		r.Header.Get("Referrer-Policy") != "no-referrer" || !strings.HasPrefix(r.Header.Get("Set-Cookie"), "brig-port=") ||
		!strings.HasSuffix(r.Header.Get("Set-Cookie"), "; HttpOnly; SameSite=Lax") || len(g.seen) > 0 {
		t.Error(r.Status, r.Header)
	}
	if r, text := g.to("GET", g.host, path); r.StatusCode != 401 || !strings.Contains(text, "link_over") || len(r.Cookies()) > 0 {
		t.Error("it opens twice:", r.Status, text)
	}
	cookie := g.cookie()
	if r, _ := g.to("GET", g.host, path, cookie); r.StatusCode != 303 || r.Header.Get("Location") != "http://"+g.host+"/" || len(r.Cookies()) > 0 {
		t.Error("who has been here before:", r.Status, r.Header)
	}
	own, other := "Origin: http://"+g.host, "Origin: http://localhost:8470"
	for name, c := range map[string]struct {
		method string
		header []string
		status int
	}{
		"its page": {"GET", []string{cookie}, 200}, "its form": {"POST", []string{cookie, own}, 200},
		"another's form": {"POST", []string{cookie, other}, 403}, "another's fetch": {"GET", []string{cookie, other}, 403},
		"another's WebSocket": {"GET", []string{cookie, other, "Upgrade: websocket"}, 403},
		"another's frame":     {"GET", []string{cookie, "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"}, 403},
		"a token from a page": {"GET", []string{cookie, other, auth}, 403}, // the cookie decides
	} {
		if r, text := g.to(c.method, g.host, "/x", c.header...); r.StatusCode != c.status {
			t.Errorf("%s: %s %s", name, r.Status, text)
		}
	}
	if r, text := g.to("GET", "localhost:8470", "/v1/sandboxes", cookie); r.StatusCode != 401 {
		t.Error("the cookie is good for brigd itself:", r.Status, text)
	}
	if r, text := g.to("GET", "localhost:8470", fmt.Sprintf("/v1/sandboxes/%s/ports/%d/", g.box, g.port), cookie); r.StatusCode != 401 {
		t.Error("and for its paths:", r.Status, text)
	}
	g.do(204, "DELETE", "/v1/sandboxes/"+g.box, "", "Authorization", "Bearer good")
	if r, text := g.to("GET", g.host, "/", cookie); r.StatusCode != 404 {
		t.Error("it outlives the sandbox:", r.Status, text)
	}
}

// The server sees a request as a proxy sends it, with the cookies and the Authorization that are its own.
func TestRequestsOfOrigins(t *testing.T) {
	g := newSite(t, nil)
	cookie := g.cookie()
	own := "http://" + g.host
	for authorization, want := range map[string]string{"Basic YTpi": "Basic YTpi", "Bearer eyJ0": "Bearer eyJ0", "Bearer good": "", "": ""} {
		g.to("POST", g.host, "//a%2Fb/../c?d=%zz", cookie, "Authorization: "+authorization, "Origin: "+own, "Referer: "+own+"/page", "X-Forwarded-For: 10.0.0.1",
			"X-Forwarded-Host: evil", "Brig-Rules: x", "X-Agent-Id: bob", "X-Own: 1")
		r := <-g.seen
		inside := fmt.Sprintf("localhost:%d", g.port)
		if r.Host != inside || r.RequestURI != "//a%2Fb/../c?d=%zz" || r.Method != "POST" {
			t.Error(r.Host, r.RequestURI)
		}
		for name, value := range map[string]string{"Cookie": "a=b; c=d", "Authorization": want, "Origin": "http://" + inside, "Referer": "http://" + inside + "/page",
			"X-Forwarded-Host": g.host, "X-Forwarded-Proto": "http", "X-Forwarded-For": "", "Brig-Rules": "", "X-Agent-Id": "", "X-Own": "1", "X-Forwarded-Prefix": ""} {
			if got := r.Header.Get(name); got != value || len(r.Header[name]) > 1 {
				t.Errorf("%s: %q, not %q", name, r.Header[name], value)
			}
		}
	}
	g.to("GET", g.host, "/", auth, "Cookie: brig-port=x; e=f")
	if r := <-g.seen; r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "e=f" {
		t.Error(r.Header)
	}
}

// What a server answers at its own origin is its own matter, as far as it acts on no other.
func TestAnswersOfOrigins(t *testing.T) {
	answer := http.Header{"Set-Cookie": {"a=b", "a=b; Domain=localhost", "brig-port=x"}, "Cache-Control": {"max-age=9"}, "Access-Control-Allow-Origin": {"*"},
		"Service-Worker-Allowed": {"/"}, "Refresh": {"9"}, "Brig-File": {"x"}, "X-Request-Id": {"theirs"}}
	for _, name := range []string{"Clear-Site-Data", "Alt-Svc", "Strict-Transport-Security", "Nel", "Report-To"} {
		answer[name] = []string{"evil"}
	}
	g := newSite(t, answer)
	answer["Location"] = []string{fmt.Sprintf("http://localhost:%d//x?y", g.port)}
	r, _ := g.to("GET", g.host, "/", g.cookie())
	for name, want := range map[string]string{"Set-Cookie": "[a=b]", "Cache-Control": "[max-age=9]", "Access-Control-Allow-Origin": "[*]", "Service-Worker-Allowed": "[/]",
		"Refresh": "[9]", "Brig-File": "[]", "Clear-Site-Data": "[]", "Alt-Svc": "[]", "Strict-Transport-Security": "[]", "Nel": "[]", "Report-To": "[]",
		"Location": "[http://" + g.host + "/x?y]", "Content-Security-Policy": "[]", "X-Content-Type-Options": "[]"} {
		if got := fmt.Sprint(r.Header.Values(name)); got != want {
			t.Errorf("%s: %s, not %s", name, got, want)
		}
	}
	if id := r.Header["X-Request-Id"]; len(id) != 1 || id[0] == "theirs" {
		t.Error(id)
	}
	for to, want := range map[string]string{"/a": "/a", "https://elsewhere.example/": "https://elsewhere.example/", "http://127.0.0.1:1/": "http://127.0.0.1:1/"} {
		answer["Location"] = []string{to}
		if r, _ := g.to("GET", g.host, "/", auth); r.Header.Get("Location") != want {
			t.Errorf("%s: %s", to, r.Header.Get("Location"))
		}
	}
}

// Without --port-host a link is the path.
func TestPathLinks(t *testing.T) {
	f := fakes.New(nil)
	g := newRig(t, Options{Engine: f})
	id := must.Get(f.CreateSandbox(t.Context(), engine.Caller{}, &engine.SandboxRequest{}))(t).ID
	at := "/v1/sandboxes/" + id + "/ports/8000"
	var link map[string]string
	if r := g.do(200, "POST", at, ""); json.Unmarshal(r.text, &link) != nil || len(link) != 1 || link["url"] != "http://localhost"+at+"/" {
		t.Errorf("%s", r.text)
	}
	g.refused(400, "bad_port", "POST", "/v1/sandboxes/"+id+"/ports/0", "")
	g.refused(404, "not_found", "POST", "/v1/sandboxes/box_9/ports/8000", "")
}
