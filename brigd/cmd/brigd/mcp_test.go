package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestMCPStalled: a body that does not arrive does not hold a connection, and the settings for requests apply to /mcp.
func TestMCPStalled(t *testing.T) {
	d := dir(t)
	key := strings.Repeat("k", 40)
	p := begin(t, nil, "mcp", "--http", "--listen", "tcp:127.0.0.1:0", "--max-body", "2k", "--api-key-file", file(t, d+"/keys", "coder "+key))
	var all sync.WaitGroup
	for _, first := range []string{"POST /mcp", "POST /nope", "POST //mcp", "OPTIONS /mcp", "POST /healthz", "GET /"} {
		all.Go(func() {
			c, err := net.Dial("tcp", strings.TrimPrefix(p.addr, "tcp:"))
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
				t.Error(err)
			}
			if _, err := io.WriteString(c, first+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"); err != nil {
				t.Error(err)
			}
			in := bufio.NewReader(c)
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Errorf("%s: %v", first, err)
				return
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, in); err != nil {
				t.Errorf("%s: %d, and the connection is open: %v", first, resp.StatusCode, err)
			}
		})
	}
	all.Wait()
	p.url, p.key = "http://localhost", key
	if status, a := p.do("POST", "/mcp", strings.Repeat("x", 3000)); status != 413 || a["code"] != "body_too_large" {
		t.Errorf("a body above --max-body: %d %v", status, a)
	}
	if status, a := p.do("POST", "/mcp", nil, "Host", "evil.example"); status != 421 || a["code"] != "host_not_allowed" {
		t.Errorf("another name: %d %v", status, a)
	}
	p.signal(syscall.SIGTERM)
	p.end()
	for _, want := range []string{"method=POST route=mcp status=401", "method=POST route=mcp status=413", "agent=coder", "status=421"} {
		if !strings.Contains(p.logged(), want) {
			t.Errorf("%q is not in the log", want)
		}
	}
}

// TestMCPStdioGoesOn: a line that is no message does not end brigd.
func TestMCPStdioGoesOn(t *testing.T) {
	cmd, in, out := stdio(t, "--max-body", "2k")
	if _, err := io.WriteString(in, "nonsense\n"+strings.Repeat("x", 1<<20)+"\n"+`{"jsonrpc":"2.0","id":5,"method":"ping"}`+"\n"); err != nil {
		t.Error(err)
	}
	answers := bufio.NewScanner(out)
	for _, want := range []string{"-32700", "-32600", `"id":5`} {
		if !answers.Scan() || !strings.Contains(answers.Text(), want) {
			t.Errorf("%q is not in %q", want, answers.Text())
		}
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Error(err)
	}
}
