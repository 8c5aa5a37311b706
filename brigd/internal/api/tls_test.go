package api

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"brig/brigd/engine"
	"brig/brigd/job"
	"brig/internal/test/certs"
	"brig/internal/test/must"
)

// A client certificate is enough by TCP; over HTTP/2 everything is as over HTTP/1.
func TestClientCertificates(t *testing.T) {
	servers, clients := certs.New(t, t.TempDir(), "ca"), certs.New(t, t.TempDir(), "ca")
	servers.Issue("server")
	clients.Issue("alice")
	o := filled(Options{Engine: newFake(), BodyTime: 200 * time.Millisecond,
		Authenticate: func(r *http.Request) (engine.Caller, *job.Refusal) {
			return engine.Caller{Agent: r.TLS.VerifiedChains[0][0].Subject.CommonName}, nil
		}})
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	srv := HTTPServer(New(o), o.Logger)
	srv.TLSConfig = &tls.Config{Certificates: []tls.Certificate{servers.Load("server")}, ClientCAs: clients.Pool,
		ClientAuth: tls.VerifyClientCertIfGiven, MinVersion: tls.VersionTLS13}
	go srv.ServeTLS(l, "", "")
	t.Cleanup(func() { srv.Close() })
	url := fmt.Sprintf("https://localhost:%d", l.Addr().(*net.TCPAddr).Port)
	for _, two := range []bool{false, true} {
		for _, known := range []bool{false, true} {
			config := &tls.Config{RootCAs: servers.Pool, ServerName: "localhost"}
			if known {
				config.Certificates = []tls.Certificate{clients.Load("alice")}
			}
			tr := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: two}
			c := &http.Client{Transport: tr}
			post := func(path, body string) (int, string) {
				t.Helper()
				r := must.Get(http.NewRequest("POST", url+path, strings.NewReader(body)))(t)
				r.Header.Set("Content-Type", jsonType)
				r.Header.Set("Accept", ndjsonType)
				resp := must.Get(c.Do(r))(t)
				defer resp.Body.Close()
				text, err := io.ReadAll(resp.Body)
				if err != nil || (resp.ProtoMajor == 2) != two {
					t.Errorf("%v %s", err, resp.Proto)
				}
				return resp.StatusCode, string(text)
			}
			if status, text := post("/v1/run", `{"code":"say hi"}`); known != (status == 200) ||
				known != strings.Contains(text, `"hi"`) || !known && status != 401 {
				t.Errorf("HTTP/2 %v, known %v: %d %s", two, known, status, text)
			}
			if status, _ := post("/v1/run", `{"code":"say`+strings.Repeat("x", 1<<20)); known && status != 400 {
				t.Errorf("HTTP/2 %v: a broken body: %d", two, status)
			}
			tr.CloseIdleConnections()
		}
	}
}

// Many at once: each answer is its own request's.
func TestAnswersAreNotMixedUp(t *testing.T) {
	g := newRig(t, Options{Engine: newFake()})
	var all sync.WaitGroup
	for client := range 20 {
		all.Go(func() {
			for n := range 10 {
				want := fmt.Sprintf("%d-%d-%s", client, n, strings.Repeat("x", client*100))
				r := g.request("POST", "/v1/run", `{"code":"say `+want+`"}`, "X-Request-Id", fmt.Sprintf("r%d-%d", client, n))
				if n%2 == 1 {
					r.Header.Set("Accept", ndjsonType)
				}
				resp, err := g.client.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				text, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				quoted, _ := json.Marshal(want)
				if err != nil || strings.Count(string(text), string(quoted)) != 1 ||
					resp.Header.Get("X-Request-Id") != r.Header.Get("X-Request-Id") {
					t.Errorf("%v %.100s", err, text)
				}
			}
		})
	}
	all.Wait()
	runs := 0
	g.s.handlers.runs.going.runs.Range(func(any, any) bool { runs++; return true })
	if !g.s.Bodies.Take("somebody else", 256<<20) || !g.s.Places.Take("somebody else", 1024) || runs != 0 {
		t.Errorf("the budget or a place is not given back, or one of %d runs is left", runs)
	}
}
