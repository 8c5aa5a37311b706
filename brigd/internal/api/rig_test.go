package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"brig/brigd/engine"
	"brig/brigd/internal/fakes"
	"brig/brigd/internal/front"
	"brig/brigd/job"
	"brig/internal/test/must"
)

// rig is a server at a Unix socket and by TCP, and a client that holds each request and answer against the OpenAPI
// document.
type rig struct {
	*testing.T
	s      *server
	socket string
	tcp    string
	client *http.Client
	doc    *openapi3.T
}

// reply is an answer.
type reply struct {
	*http.Response
	text []byte
}

// Options are the server's; a rig fills in what a test leaves out.
type Options = front.Options

func filled(o Options) Options {
	if o.Authenticate == nil { // it knows no token
		o.Authenticate = func(r *http.Request) (c engine.Caller, _ *job.Refusal) {
			if r.Header.Get("Authorization") != "" {
				return c, no("auth", "tokens_unknown", "", "no tokens are known", "send none")
			}
			return c, nil
		}
	}
	return fakes.Options(o)
}

// bearer is an authenticator that has the token in the header Authorization verified.
func bearer(verify func(token string, now time.Time) (engine.Caller,
	*job.Refusal)) func(*http.Request) (engine.Caller, *job.Refusal) {
	return func(r *http.Request) (engine.Caller, *job.Refusal) {
		values := r.Header.Values("Authorization")
		if len(values) == 0 {
			return engine.Caller{}, nil
		}
		scheme, token, _ := strings.Cut(values[0], " ")
		if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") {
			return engine.Caller{}, no("auth", "invalid_authorization", "Authorization", "not one token", "send one")
		}
		return verify(token, time.Now())
	}
}

func newRig(t *testing.T, o Options) *rig {
	t.Helper()
	o = filled(o)
	dir := must.Get(os.MkdirTemp("", "api"))(t) // t.TempDir's may be too long for a socket
	t.Cleanup(func() { os.RemoveAll(dir) })
	g := &rig{T: t, s: newServer(o), socket: filepath.Join(dir, "s"), doc: document(t)}
	for _, network := range []string{"unix", "tcp"} {
		address := g.socket
		if network == "tcp" {
			address = "127.0.0.1:0"
		}
		l := must.Get(net.Listen(network, address))(t)
		if network == "tcp" {
			g.tcp = l.Addr().String()
		}
		srv := HTTPServer(g.s, o.Logger)
		go srv.Serve(l)
		t.Cleanup(func() { srv.Close() })
	}
	g.client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		return new(net.Dialer).DialContext(ctx, "unix", g.socket)
	}}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(g.client.CloseIdleConnections)
	return g
}

func document(t *testing.T) *openapi3.T {
	t.Helper()
	doc := must.Get(openapi3.NewLoader().LoadFromData(OpenAPI("test")))(t)
	must.Do(t, doc.Validate(context.Background()))
	return doc
}

// request makes a request; headers are pairs.
func (g *rig) request(method, path, body string, headers ...string) *http.Request {
	g.Helper()
	r := must.Get(http.NewRequest(method, "http://localhost"+path, strings.NewReader(body)))(g)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// do sends a request and takes the whole answer, whose status must be this one.
func (g *rig) do(status int, method, path, body string, headers ...string) *reply {
	g.Helper()
	return g.send(status, g.request(method, path, body, headers...))
}

func (g *rig) send(status int, r *http.Request) *reply {
	g.Helper()
	var sent []byte
	if r.GetBody != nil {
		b := must.Get(r.GetBody())(g)
		sent = must.Get(io.ReadAll(b))(g)
	}
	resp, err := g.client.Do(r)
	if err != nil {
		g.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		g.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	if resp.StatusCode != status {
		g.Fatalf("%s %s: %s, not %d: %s", r.Method, r.URL, resp.Status, status, text)
	}
	h := resp.Header
	if h.Get("X-Request-Id") == "" || h.Get("Cache-Control") != "no-store" ||
		h.Get("X-Content-Type-Options") != "nosniff" {
		g.Errorf("%s %s: headers %v", r.Method, r.URL, h)
	}
	g.against(r, sent, resp, text)
	return &reply{resp, text}
}

// against holds a request that was taken, and any answer, against the document.
func (g *rig) against(r *http.Request, sent []byte, resp *http.Response, text []byte) {
	g.Helper()
	c := &call{Visit: &front.Visit{R: r}}
	found, _, bad := c.match(g.s.routes)
	if found == nil || bad != nil {
		return
	}
	ctx := context.Background()
	item := g.doc.Paths.Value(found.path)
	if r.Method == http.MethodHead {
		return
	}
	in := &openapi3filter.RequestValidationInput{Request: r.Clone(ctx),
		PathParams: map[string]string{"id": c.id, "name": c.name, "path": strings.TrimPrefix(c.path, "/")},
		Route: &routers.Route{Spec: g.doc, Path: found.path, PathItem: item, Method: r.Method,
			Operation: item.GetOperation(r.Method)},
		Options: &openapi3filter.Options{IncludeResponseStatus: true,
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
	in.Request.Body = io.NopCloser(bytes.NewReader(sent))
	if resp.StatusCode < 300 {
		if err := openapi3filter.ValidateRequest(ctx, in); err != nil {
			g.Errorf("%s %s: the document does not allow the request: %v", r.Method, r.URL, err)
		}
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: resp.StatusCode,
		Header: resp.Header, Options: in.Options}
	out.SetBodyBytes(text)
	if kind := resp.Header.Get("Content-Type"); kind == ndjsonType || kind == sseType ||
		!strings.HasPrefix(kind, jsonType) {
		out.Options = &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: true}
		if kind == ndjsonType {
			g.lines(text, item.GetOperation(r.Method), resp.StatusCode)
		}
	}
	if err := openapi3filter.ValidateResponse(ctx, out); err != nil {
		g.Errorf("%s %s: the answer is not what the document says: %v\n%s", r.Method, r.URL, err, text)
	}
}

// events reads the stream of a run, each line against the document.
func (g *rig) events(text []byte) (list []map[string]any) {
	g.Helper()
	return g.lines(text, g.doc.Paths.Value("/v1/run").Post, 200)
}

// lines reads the stream of an operation, each line against the document.
func (g *rig) lines(text []byte, of *openapi3.Operation, status int) (list []map[string]any) {
	g.Helper()
	schema := of.Responses.Status(status).Value.Content[ndjsonType].Schema.Value
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		var e map[string]any
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			g.Fatalf("%q: %v", s.Text(), err)
		}
		if err := schema.VisitJSON(e, openapi3.EnableJSONSchema2020()); err != nil {
			g.Errorf("%s: %v", s.Text(), err)
		}
		list = append(list, e)
	}
	return list
}

// refused sends a request that must be refused so.
func (g *rig) refused(status int, code, method, path, body string, headers ...string) *reply {
	g.Helper()
	return g.isRefusal(g.do(status, method, path, body, headers...), code)
}

func (g *rig) isRefusal(r *reply, code string) *reply {
	g.Helper()
	var no job.Refusal
	if err := json.Unmarshal(r.text, &no); err != nil || no.Message == "" || no.Code != code || no.Layer == "" ||
		len(no.NextSteps) == 0 {
		g.Errorf("%s %s: not a refusal %q that helps: %s (%v)", r.Request.Method, r.Request.URL, code, r.text, err)
	}
	return r
}

// into reads an answer.
func (r *reply) into(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal(r.text, v); err != nil {
		t.Fatalf("%s: %v", r.text, err)
	}
}
