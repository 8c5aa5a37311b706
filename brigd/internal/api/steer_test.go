package api

import (
	"crypto/ed25519"
	"errors"
	"net/http"
	"testing"
	"time"

	"brig/brigd/engine"
	"brig/brigd/job"
	"brig/brigd/token"
	"brig/internal/test/must"
)

// A run is steered by the token that has started it, by those that it was made from, and by its agent without any: the
// holder of a narrowed token does not get the rights of the wider one by way of its runs.
func TestNarrowedTokensSteerNoWiderRun(t *testing.T) {
	real, private := issuer(t)
	parent := must.Get(token.Mint(private, token.Block{Agent: "ci"}))(t)
	narrow := func(runs int64) string {
		n := must.Get(token.Attenuate(parent, token.Block{Runs: runs}))(t)
		return n.Text()
	}
	wide, child, sibling, other := parent.Text(), narrow(5), narrow(6), ""
	if o, err := token.Mint(private, token.Block{Agent: "ci"}); err == nil {
		other = o.Text()
	}
	g := newRig(t, Options{Engine: newFake(), Authenticate: func(r *http.Request) (engine.Caller, *job.Refusal) {
		if r.Header.Get("Authorization") == "" {
			return engine.Caller{Agent: "ci"}, nil // a key, say
		}
		return bearer(real.Authenticate)(r)
	}})
	as := func(bearer string, more ...string) []string {
		if bearer != "" {
			more = append(more, "Authorization", "Bearer "+bearer)
		}
		return more
	}
	for _, x := range []struct {
		starts string
		may    []string
		mayNot []string
	}{
		{wide, []string{wide, ""}, []string{child, sibling, other}},
		{child, []string{child, wide, ""}, []string{sibling, other}},
		{"", []string{""}, []string{wide, child, other}},
	} {
		for _, may := range x.may {
			id, end := g.begun(as(x.starts)...)
			at := "/v1/runs/" + id
			for _, not := range x.mayNot {
				g.refused(404, "run_unknown", "POST", at+"/stdin", "x", as(not, "Content-Type", binary)...)
				g.refused(404, "run_unknown", "DELETE", at, "", as(not)...)
				g.refused(404, "run_unknown", "GET", at, "", as(not)...)
			}
			g.do(200, "GET", at, "", as(may)...)
			g.do(204, "DELETE", at, "", as(may)...)
			end()
		}
	}
}

// issuer is an engine that takes tokens, and the key that issues them.
func issuer(t *testing.T) (*engine.Engine, ed25519.PrivateKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	ledger := must.Get(token.OpenLedger(t.TempDir() + "/state"))(t)
	e := must.Get(engine.New(engine.Options{TokenKeys: []ed25519.PublicKey{public}, Ledger: ledger}))(t)
	t.Cleanup(func() { must.Do(t, errors.Join(e.Close(), ledger.Close())) })
	return e, private
}

// begun starts a run that waits, and returns its id and what waits for its end.
func (g *rig) begun(headers ...string) (id string, end func()) {
	g.Helper()
	r := g.request("POST", "/v1/run?stdin=stream", `{"code":"wait"}`, append(headers, "Accept", ndjsonType)...)
	resp := must.Get(g.client.Do(r))(g)
	id = resp.Header.Get("X-Run-Id")
	late := time.AfterFunc(10*time.Second, func() { resp.Body.Close() })
	return id, func() {
		g.Helper()
		defer resp.Body.Close()
		if !late.Stop() {
			g.Error("the run does not end")
		}
	}
}
