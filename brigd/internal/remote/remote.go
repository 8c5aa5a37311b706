// Package remote is an engine whose sandboxes are at workers: it speaks brigd's own HTTP with them, through whatever
// connects to a worker. The id of a sandbox ends in a hyphen and the name of its worker. What is not about a sandbox
// is answered by the engine of this process.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/brigd/job"
)

// Hub connects to workers: a queue.Queue.
type Hub interface {
	// Place returns the name of a worker that has room for a sandbox.
	Place(ctx context.Context) (worker string, err error)
	// Present returns the names of the workers that live, or have lived until lately.
	Present(ctx context.Context) ([]string, error)
	// Dial connects to a worker; "" is this process.
	Dial(ctx context.Context, worker string) (net.Conn, error)
	// Lost returns the refusal of a request that a worker did not answer; sandbox is whether it is about one there.
	Lost(worker string, sandbox bool, err error) *job.Refusal
}

// Engine is a front.Engine.
type Engine struct {
	front.Offers // this process answers about what is at no worker
	front.ChangeSets
	front.Snapshotter // all but Snapshot
	fileTools
	processes
	ports
	runner front.Runner
	hub    Hub
	count  func(engine.Caller) *job.Refusal
	rules  string // for front.RulesHeader
	client http.Client
}

// New returns an Engine. count counts a run in the ledger of the caller's token; workers do not. rules are what is
// demanded of each run and sandbox: engine.Rules as JSON, or nil.
func New(own front.Engine, hub Hub, count func(engine.Caller) *job.Refusal, rules []byte) *Engine {
	dial := func(ctx context.Context, _, address string) (net.Conn, error) {
		return hub.Dial(ctx, strings.TrimPrefix(strings.TrimSuffix(address, ":80"), here))
	}
	header := base64.StdEncoding.EncodeToString(rules)
	by := &http.Transport{DialContext: dial, DisableKeepAlives: true, WriteBufferSize: 32 << 10,
		ExpectContinueTimeout: time.Hour}
	e := &Engine{Offers: own, ChangeSets: own, Snapshotter: own, runner: own, hub: hub, count: count, rules: header,
		client: http.Client{Transport: by}}
	e.fileTools.at, e.processes.at, e.ports.at = e, e, e
	return e
}

// here is the host in an address that stands for this process. No worker has the name.
const here = "brigd.invalid"

// boxID is the form of a sandbox's id before its worker's name.
var boxID = regexp.MustCompile(`^sb_[a-z2-7]{26}-`)

// workerOf returns the name of the worker that has a sandbox; "" if the id has none. Whether a worker lives is not told
// to who names one and has no sandbox's id.
func workerOf(id string) string {
	_, worker, _ := strings.Cut(id, "-")
	if !boxID.MatchString(id) || !front.ID.MatchString(id) || strings.Contains(worker, "_") {
		return ""
	}
	return worker
}

const bearer = "Bearer "

// request is one to a worker.
type request struct {
	ctx          context.Context
	caller       engine.Caller
	worker       string
	sandbox      bool   // it is about a sandbox there
	run          string // the id of the run that it asks for
	method, path string
	body         io.Reader
	kind, accept string // of the body, and of the answer
	whole        bool   // the last event has the output, too
	expect       bool   // the body is sent once the worker wants it
}

// encode sets the body to JSON.
func (q *request) encode(v any) error {
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false) // it would be longer than the caller's
	q.body, q.kind = &text, "application/json"
	return to.Encode(v)
}

// about returns a request about a sandbox. The parts follow its path.
func (e *Engine) about(c engine.Caller, id, method string, parts ...string) *request {
	return &request{ctx: context.Background(), caller: c, worker: workerOf(id), sandbox: true, method: method,
		path: "sandboxes/" + url.PathEscape(id) + strings.Join(parts, "")}
}

// do sends a request, and returns an answer that is no refusal.
func (e *Engine) do(q *request) (*http.Response, error) {
	r, err := http.NewRequestWithContext(q.ctx, q.method, "http://"+cmp.Or(q.worker, here)+"/v1/"+q.path, q.body)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"X-Agent-Id": q.caller.Agent, "Accept": q.accept, "Content-Type": q.kind,
		front.RunHeader: q.run, "Authorization": bearer + q.caller.Grant.Bearer()} {
		if value != "" && value != bearer {
			r.Header.Set(name, value)
		}
	}
	if e.rules != "" {
		r.Header.Set(front.RulesHeader, e.rules)
	}
	if q.whole {
		r.Header.Set(front.WholeHeader, "1")
	}
	if q.expect {
		r.Header.Set("Expect", "100-continue")
	}
	w, err := e.client.Do(r)
	if err != nil {
		return nil, e.lost(q, err)
	}
	if w.StatusCode < 400 {
		return w, nil
	}
	defer w.Body.Close()
	no := &job.Refusal{}
	if err := json.NewDecoder(w.Body).Decode(no); err != nil {
		return nil, e.lost(q, err)
	}
	seconds, _ := strconv.Atoi(w.Header.Get("Retry-After")) // 0 if there is none
	return nil, front.Later(no, time.Duration(seconds)*time.Second)
}

// lost returns the error for an answer that did not come, or not to its end.
func (e *Engine) lost(q *request, err error) error {
	if q.ctx.Err() != nil {
		return context.Cause(q.ctx)
	}
	return e.hub.Lost(q.worker, q.sandbox, err)
}

// get sends a request, with in as JSON unless it is nil, and decodes the answer.
func (e *Engine) get(q *request, in, out any) error {
	if in != nil {
		if err := q.encode(in); err != nil {
			return err
		}
	}
	w, err := e.do(q)
	if err != nil {
		return err
	}
	defer w.Body.Close()
	if w.StatusCode == http.StatusNoContent {
		return nil
	}
	if err := json.NewDecoder(w.Body).Decode(out); err != nil {
		return e.lost(q, err)
	}
	return nil
}

// put sends a request with a body, of which nothing is read once it has returned.
func (e *Engine) put(q *request, body io.Reader, out any) error {
	lent := &lent{r: body}
	defer lent.back()
	q.body, q.expect = lent, true
	return e.get(q, nil, out)
}

// lent is a reader until it is given back: net/http may go on to read after the answer.
type lent struct {
	mu sync.Mutex
	r  io.Reader
}

// Read implements io.Reader.
func (l *lent) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.r == nil {
		return 0, os.ErrClosed
	}
	return l.r.Read(p)
}

func (l *lent) back() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.r = nil
}
