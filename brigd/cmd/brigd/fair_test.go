package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/must"
)

// served is a brigd with API keys of alice and bob, by TCP on loopback, where the clients are of one source.
func served(t *testing.T, args ...string) *proc {
	t.Helper()
	d := dir(t)
	keys := file(t, d+"/keys", "alice "+strings.Repeat("a", 40)+"\nbob "+strings.Repeat("b", 40)+"\n")
	p := begin(t, nil, append(args, "--listen", "tcp:127.0.0.1:0", "--api-key-file", keys)...)
	p.url, p.key = "http://localhost", strings.Repeat("a", 40)
	return p
}

// announce sends bob's headers of a run whose body has not arrived. It returns the connection, and the first line of
// the answer: brigd waits for the body after HTTP/1.1 100 Continue.
func (p *proc) announce(path string, size int) (net.Conn, string) {
	p.t.Helper()
	c := p.open(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", path, strings.Repeat("b", 40), size))
	line, _ := bufio.NewReader(c).ReadString('\n') // "" after an error
	return c, line
}

// open opens a connection of bob's and sends the beginning of a request.
func (p *proc) open(begin string) net.Conn {
	p.t.Helper()
	c := must.Get(net.Dial("tcp", strings.TrimPrefix(p.addr, "tcp:")))(p.t)
	p.t.Cleanup(func() { c.Close() })
	must.Get(io.WriteString(c, begin))(p.t)
	return c
}

// Announced bodies that never arrive do not use up the budget of other callers, over HTTP and over MCP.
func TestAnnouncedBodies(t *testing.T) {
	for _, c := range []struct{ command, path string }{{"serve", "/v1/run"}, {"mcp", "/mcp"}} {
		args := []string{c.command}
		if c.command == "mcp" {
			args = append(args, "--http")
		}
		p := served(t, args...)
		for range 8 {
			c, line := p.announce(c.path, 32<<20)
			if !strings.Contains(line, "100") {
				t.Fatalf("%q", line)
			}
			must.Get(io.WriteString(c, "{"))(t)
		}
		for range 5 {
			switch c.command {
			case "serve":
				p.ran(200, "true")
			default:
				if status, a := p.initialize(); status != 200 {
					t.Errorf("alice's session: %d %v", status, a)
				}
			}
		}
	}
}

// Requests of one caller whose bodies do not arrive take at most half of --max-requests.
func TestRequestsAreShared(t *testing.T) {
	p := served(t, "serve", "--max-requests", "8")
	waiting := 0
	for range 12 {
		if _, line := p.announce("/v1/run", 9); strings.Contains(line, "100") {
			waiting++
		}
	}
	if status, a := p.run("true"); status != 200 || waiting != 4 {
		t.Errorf("alice's run beside %d of bob's requests: %d %v", waiting, status, a)
	}
}

// initialize begins an MCP session.
func (p *proc) initialize() (int, map[string]any) {
	p.t.Helper()
	return p.do("POST", "/mcp", map[string]any{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": map[string]any{"protocolVersion": "2025-06-18",
		"capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"}}}, "Accept", "application/json, text/event-stream")
}

// The holder of a token that names no agent is one caller, whatever agents it names and whatever it makes of its token.
func TestNamesAreNoCallers(t *testing.T) {
	d := dir(t)
	call(t, "", "token", "keygen", "--out", d+"/issuer")
	open := strings.TrimSpace(call(t, "", "token", "mint", "--key", d+"/issuer.key", "--any-agent"))
	p := begin(t, nil, "serve", "--listen", "unix:"+d+"/s", "--token-key", d+"/issuer.pub", "--state-dir", d+"/state",
		"--rate", "0.001", "--burst", "3", "--sandboxes-per-agent", "2")
	count := func(do func(i int) (int, map[string]any)) (taken int) {
		for i := range 12 {
			p.key = open
			if i%2 == 1 {
				p.key = strings.TrimSpace(call(t, open, "token", "attenuate", "--agent", fmt.Sprint("n", i)))
			}
			if status, a := do(i); status < 300 {
				taken++
			} else if status != 429 {
				t.Fatalf("%d %v", status, a)
			}
		}
		return taken
	}
	if n := count(func(i int) (int, map[string]any) { return p.run("true", "X-Agent-Id", fmt.Sprint("n", i)) }); n != 3 {
		t.Errorf("%d runs of a burst of 3", n)
	}
	if n := count(func(i int) (int, map[string]any) {
		return p.do("POST", "/v1/sandboxes", map[string]any{"disk": "1m"}, "X-Agent-Id", fmt.Sprint("n", i))
	}); n != 2 {
		t.Errorf("%d sandboxes of 2", n)
	}
	p.key = ""
	p.ran(200, "true")
	p.want(201, "POST", "/v1/sandboxes", map[string]any{})
}

// Copies of a token have the sessions of one caller together.
func TestSessionsAreCounted(t *testing.T) {
	d := dir(t)
	call(t, "", "token", "keygen", "--out", d+"/issuer")
	first := strings.TrimSpace(call(t, "", "token", "mint", "--key", d+"/issuer.key", "--agent", "bot"))
	p := begin(t, nil, "mcp", "--http", "--listen", "unix:"+d+"/s", "--token-key", d+"/issuer.pub", "--state-dir", d+"/state")
	taken := 0
	for i := range 10 {
		p.key = strings.TrimSpace(call(t, first, "token", "attenuate", "--note", fmt.Sprint("n", i)))
		for range 14 {
			if status, _ := p.initialize(); status == 200 {
				taken++
			}
		}
	}
	if taken != 32 {
		t.Errorf("%d sessions of one agent, not 32", taken)
	}
	p.key = ""
	if status, a := p.initialize(); status != 200 {
		t.Errorf("the owner's session: %d %v", status, a)
	}
}

// stream begins a streamed run of an agent's. It returns when the run has begun, and ends the run with the test.
func (p *proc) stream(agent string, run map[string]any) *http.Response {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	w := p.streamed(ctx, "/v1/run", run, "X-Agent-Id", agent)
	p.t.Cleanup(func() { cancel(); w.Body.Close() })
	return w
}

// streamed begins a streamed run, and returns when it has begun.
func (p *proc) streamed(ctx context.Context, path string, run map[string]any, header ...string) *http.Response {
	p.t.Helper()
	r := must.Get(http.NewRequestWithContext(ctx, "POST", p.url+path, bytes.NewReader(must.Get(json.Marshal(run))(p.t))))(p.t)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/x-ndjson")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return must.Get(p.client.Do(r))(p.t)
}

// next reads a stream of events up to the first of a kind and returns what that one reports of the network.
func next(t *testing.T, events *json.Decoder, kind string) string {
	t.Helper()
	for {
		var e struct {
			Type   string
			Result struct{ Network json.RawMessage }
		}
		must.Do(t, events.Decode(&e))
		if e.Type == kind {
			return string(e.Result.Network)
		}
	}
}

// The connections of one agent's jails leave brigd descriptors for others, and what is refused for want of them is not
// blamed on an address or a name.
func TestDescriptorsAreShared(t *testing.T) {
	p := beginCmd(t, exec.Command("/bin/sh", "-c", `ulimit -n 400 && exec "$@"`, "sh",
		brigd(t), "serve", "--listen", "unix:"+dir(t)+"/s", "--running", "5", "--sandboxes", "8"), nil)
	const program = `
import socket, time
held = []
for i in range(250):
    try:
        held.append(socket.create_connection(("good.example", 443)))
    except OSError:
        pass
print(len(held), flush=True)
time.sleep(60)`
	var evil []*json.Decoder
	var ids []string
	for range 3 {
		w := p.stream("evil", map[string]any{"cmd": []string{"python3", "-c", program}, "network": []string{"good.example:443"}})
		evil, ids = append(evil, json.NewDecoder(w.Body)), append(ids, w.Header.Get("X-Run-Id"))
	}
	for _, e := range evil {
		next(t, e, "stdout")
	}
	p.client.Timeout = 8 * time.Second // less than a connection that says nothing has
	for range 4 {
		p.ran(200, "true", "X-Agent-Id", "good")
		p.want(201, "POST", "/v1/sandboxes", map[string]any{"disk": "1m"}, "X-Agent-Id", "good")
	}
	for i, e := range evil {
		p.want(204, "DELETE", "/v1/runs/"+ids[i], nil, "X-Agent-Id", "evil")
		if network := next(t, e, "end"); !strings.Contains(network, `"resources"`) || strings.Contains(network, "own_address") || strings.Contains(network, "resolve_failed") {
			t.Errorf("the record: %.400s", network)
		}
	}
}

// A connection without an authenticated request, or without a request under way, is closed when another caller needs
// the place.
func TestStrangersYield(t *testing.T) {
	const most = 16
	for name, c := range map[string]struct{ request, answer string }{
		"a request each":    {"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 200"},
		"half a request":    {"GET /healthz HTTP/1.1\r\nHost: loc", ""},
		"nothing":           {"", ""},
		"a key, and no run": {"GET /v1/version HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + strings.Repeat("b", 40) + "\r\n\r\n", "HTTP/1.1 200"},
	} {
		p := served(t, "serve", "--max-connections", fmt.Sprint(most))
		for range most {
			conn := p.open(c.request)
			if c.answer != "" {
				if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.HasPrefix(line, c.answer) {
					t.Fatalf("%s: %q %v", name, line, err)
				}
			}
		}
		for range 3 {
			p.client.CloseIdleConnections()
			p.ran(200, "true")
		}
	}
}

// A run too many is refused before its body is asked for.
func TestRateComesFirst(t *testing.T) {
	p := served(t, "serve", "--rate", "0.001", "--burst", "1")
	for i, want := range []string{"100", "429"} {
		if _, line := p.announce("/v1/run", 30_000_000); !strings.Contains(line, want) {
			t.Errorf("run %d: %q, not %s", i+1, line, want)
		}
	}
	p.ran(200, "true")
}

// One caller's runs leave a place to others, and a stream that is not read holds none once its jail has ended.
func TestPlacesAreShared(t *testing.T) {
	p := begin(t, nil, "serve", "--listen", "unix:"+dir(t)+"/s", "--running", "4", "--drain-timeout", "0s")
	for range 3 {
		p.stream("alice", map[string]any{"cmd": []string{"/bin/sh", "-c", "echo; sleep 60"}})
	}
	ended := make(chan int, 1)
	go func() { status, _ := p.run("sleep 60", "X-Agent-Id", "alice"); ended <- status }()
	p.until("waiting", "1")
	p.ran(200, "true", "X-Agent-Id", "bob")
	p.signal(syscall.SIGTERM)
	<-ended

	p = begin(t, nil, "serve", "--listen", "unix:"+dir(t)+"/s", "--running", "1")
	p.stream("alice", map[string]any{"cmd": []string{"yes"}, "timeout": "1s"}) // of which nothing is read any more
	p.until("running", "0")
	p.ran(200, "true", "X-Agent-Id", "bob")
}

// A request cannot exceed --max-timeout, and the answer mentions that its timeout was lowered.
func TestLongestTimeout(t *testing.T) {
	p := begin(t, nil, "serve", "--listen", "unix:"+dir(t)+"/s", "--timeout", "1s", "--max-timeout", "1s")
	status, a := p.do("POST", "/v1/run", map[string]any{"cmd": []string{"sleep", "60"}, "timeout": 1e9})
	if status != 200 || a["timed_out"] != true || !strings.Contains(fmt.Sprint(a["narrowed"]), "lowered") {
		t.Errorf("%d %v", status, a)
	}
}

// One agent's sandboxes leave half of all bytes to others.
func TestBytesAreShared(t *testing.T) {
	p := begin(t, nil, "serve", "--listen", "unix:"+dir(t)+"/s", "--sandbox-bytes", "40m", "--sandbox-max-size", "20m", "--sandbox-size", "8m", "--sandbox-inodes", "64")
	made := map[string]int{}
	for _, agent := range []string{"alice", "alice", "alice", "alice", "bob", "bob"} {
		status, a := p.do("POST", "/v1/sandboxes", map[string]any{}, "X-Agent-Id", agent)
		if status == 201 {
			made[agent]++
		} else if status != 507 || a["code"] != "out_of_sandbox_space" {
			t.Errorf("%d %v", status, a)
		}
	}
	if made["alice"] != 2 || made["bob"] != 2 {
		t.Errorf("%v", made)
	}
}
