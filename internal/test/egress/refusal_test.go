package egress

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"brig/internal/rig"
	"brig/internal/test/must"
)

// TestEgressRefusal: a refused request gets 403 and a body in JSON: what was refused, and which flag would allow it.
func TestEgressRefusal(t *testing.T) {
	if !rig.Enter(t, rig.Self) {
		return
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl here")
	}
	s := newSuite(t)
	for _, c := range []struct {
		name, url, reason, allow string
		allowed                  []string
	}{
		{"address", "http://93.184.216.35/x", "no_rule", "--allow 93.184.216.35:80", []string{"good.example"}},
		{"quotes", `-g|http://93.184.216.35/x?"},{\"`, "no_rule", "--allow 93.184.216.35:80", []string{"good.example"}},
		{"host", "-H|Host: evil.example|http://good.example/x", "host_mismatch", "--allow tcp://good.example:80", []string{"good.example"}},
		{"private", "http://ten.example/x", "blocked_address", "--allow 10.0.0.1:80", []string{"ten.example"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"--", "curl", "-sS", "-w", "\n%{http_code} %{content_type}"}, strings.Split(c.url, "|")...)
			o := s.run(t, &jail{network: "egress", allow: c.allowed, args: args})
			body, status, _ := strings.Cut(o.out, "\n403 ")
			var got map[string]any
			if err := json.Unmarshal([]byte(body), &got); err != nil || !strings.HasPrefix(status, "application/json") {
				t.Fatalf("the answer is no refusal in JSON: %v: %q %q", err, o.out, o.errOut)
			}
			for field, want := range map[string]any{"error": "egress_denied", "reason": c.reason, "method": "GET", "port": 80.0} {
				if got[field] != want {
					t.Errorf("%s is %v, want %v: %s", field, got[field], want, body)
				}
			}
			if path, _ := got["path"].(string); !strings.HasPrefix(path, "/x") {
				t.Errorf("path is %q", path)
			}
			if allow, _ := got["allow"].(string); allow != c.allow {
				t.Errorf("allow is %q, want %q", allow, c.allow)
			}
		})
	}
}

// TestEgressInternalName: a name that leads to a private address is reached if a rule for that address allows it too.
// Otherwise one line on stderr has the flag.
func TestEgressInternalName(t *testing.T) {
	if !rig.Enter(t, rig.Self) {
		return
	}
	s := newSuite(t)
	const fetch = `import urllib.request as u
try: print(u.urlopen("http://ten.example/").read())
except Exception as e: print(e)`
	refused := s.run(t, &jail{network: "egress", allow: []string{"ten.example"}, args: []string{"--", "python3", "-c", fetch}})
	const line = "brig: the network refused ten.example:80 once: it leads to 10.0.0.1, a private address (--allow 10.0.0.1:80)\n"
	if refused.errOut != line || !strings.Contains(refused.out, "403") {
		t.Errorf("%q %q", refused.out, refused.errOut)
	}
	reached := s.run(t, &jail{network: "egress", allow: []string{"ten.example", "10.0.0.1:80"}, args: []string{"--", "python3", "-c", fetch}})
	if reached.errOut != "" || !strings.Contains(reached.out, "EVIL") { // the word of the rig's server there
		t.Errorf("%q %q", reached.out, reached.errOut)
	}
}

// TestEgressPublish: a published port reaches the payload's server from the host, by loopback only unless --publish has
// an address, and no listener is left.
func TestEgressPublish(t *testing.T) {
	if !rig.Enter(t, rig.Self) {
		return
	}
	s := newSuite(t)
	before := must.Get(rig.TakeSnapshot(true))(t)
	for _, c := range []struct{ name, publish, reach, closed string }{
		{"loopback", "18081:8000", "127.0.0.1:18081", rig.HostAddr + ":18081"},
		{"address", rig.HostAddr + ":18082:8000", rig.HostAddr + ":18082", "127.0.0.1:18082"},
	} {
		t.Run(c.name, func(t *testing.T) { s.publish(t, c.publish, c.reach, c.closed) })
	}
	after := must.Get(rig.TakeSnapshot(true))(t)
	if diff := before.Diff(after); diff != "" {
		t.Errorf("the host's network has changed:\n%s", diff)
	}
}

const oneAnswer = `
import socket
server = socket.create_server(("0.0.0.0", 8000))
print("READY", flush=True)
c, _ = server.accept()
c.sendall(b"from the jail " + c.recv(100))
c.close()
`

func (s *suite) publish(t *testing.T, publish, reach, closed string) {
	t.Helper()
	line := s.commandLine(t, &jail{network: "egress", allow: []string{"good.example"}, flags: []string{"--publish", publish},
		args: []string{"--", "python3", "-c", oneAnswer}})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, rig.Start(cmd))
	ready := make([]byte, 5)
	if _, err := out.Read(ready); err != nil || string(ready) != "READY" {
		t.Errorf("the payload has not started: %v %s", err, errOut.String())
	}
	if c, err := net.DialTimeout("tcp", closed, time.Second); err == nil {
		c.Close()
		t.Errorf("--publish %s is open at %s, too", publish, closed)
	}
	if c, err := net.DialTimeout("tcp", reach, 5*time.Second); err != nil {
		t.Error(err)
		cancel()
	} else {
		defer c.Close()
		_, werr := c.Write([]byte("hello"))
		got := make([]byte, 100)
		n, rerr := c.Read(got)
		if string(got[:n]) != "from the jail hello" {
			t.Errorf("the payload says %q, %v %v", got[:n], werr, rerr)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v %s", err, errOut.String())
	}
}
