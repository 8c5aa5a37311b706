package egress

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"brig/internal/rig"
	"brig/internal/test/must"
)

const clientVar = "BRIG_RIG_CLIENT" // the URL; makes the test binary a client in Go

// client is an unmodified program. $TARGET in its command is a host.
type client struct {
	name, tool      string
	command         string // of sh, with $TARGET
	allowed, denied string // TARGET
	want            string // in the output when allowed
	fails           string // in the output when denied, one of several with |
}

const udpClient = `python3 -c "
import socket
host, port = '$TARGET'.rsplit(':', 1)
s = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
s.connect((host, int(port)))
s.send(b'time')
print(s.recv(100))"`

var clients = []client{
	{"curl", "curl", "curl -sS http://$TARGET/", "good.example", "evil.example", "good site good.example", "Could not resolve host"},
	{"curl-https", "curl", "curl -sS https://$TARGET/", "good.example", "evil.example", "good site good.example", "Could not resolve host"},
	{"curl-address", "curl", "curl -sS http://$TARGET/", "93.184.216.34:8080", "93.184.216.35:8080", "good site 93.184.216.34", "reset|not connected|Couldn't connect"},
	{"curl-address-v6", "curl", "curl -sS -g http://$TARGET/", "[2606:4700::34]:8080", "[2606:4700::35]:8080", "good site [2606:4700::34]",
		"reset|not connected|Couldn't connect"},
	{"curl-name-v6", "curl", "curl -sS http://$TARGET/", "six.example", "evil.example", "good site six.example", "Could not resolve host"},
	{"curl-port", "curl", "curl -sS http://$TARGET/", "good.example", "good.example:81", "good site good.example", "refused|reset|not connected|Couldn't connect"},
	{"curl-host", "curl", "curl -sS -f -H \"Host: $TARGET\" http://good.example/", "good.example", "evil.example", "good site good.example", "403"},
	{"curl-http2", "curl", "curl -sS --http2 -w '%{http_version}\n' https://$TARGET/", "good.example", "evil.example", "HTTP/2.0", "Could not resolve host"},
	{"wget", "wget", "wget -O - --tries=1 --ca-certificate=/rig/ca.pem https://$TARGET/", "good.example", "evil.example", "good site good.example", "unable to resolve"},
	{"python-urllib", "python3", `python3 -c "import urllib.request; print(urllib.request.urlopen('https://$TARGET/').read())"`,
		"good.example", "evil.example", "good site good.example", "Name or service not known|No address"},
	{"python-socket", "python3", `python3 -c "import socket; s = socket.create_connection(('$TARGET', 17000)); print(s.recv(100))"`,
		"good.example", "evil.example", "good 93.184.216.34", "Name or service not known|No address"},
	{"python-asyncio", "python3", `python3 -c "
import asyncio, ssl
async def main():
    r, w = await asyncio.open_connection('$TARGET', 443, ssl=ssl.create_default_context())
    w.write(b'GET / HTTP/1.0\r\nHost: $TARGET\r\n\r\n')
    print(await r.read())
asyncio.run(main())"`, "good.example", "evil.example", "good site good.example", "Name or service not known|No address"},
	{"python-udp", "python3", udpClient, "93.184.216.34:123", "93.184.216.35:443", "good time", "Connection refused"},
	{"python-udp-v6", "python3", udpClient, "2606:4700::34:123", "2606:4700::35:443", "good time", "Connection refused"},
	{"node-fetch", "node", `node -e "fetch('https://$TARGET/').then(r => r.text()).then(console.log)"`, "good.example", "evil.example",
		"good site good.example", "ENOTFOUND"},
	{"node-net", "node", `node -e "require('net').connect(17000, '$TARGET').on('data', d => { console.log(String(d)); process.exit() })"`,
		"good.example", "evil.example", "good 93.184.216.34", "ENOTFOUND"},
	{"go", "", clientVar + "=https://$TARGET/ /rig/client", "good.example", "evil.example", "good site good.example", "no such host"},
	{"git", "git", "git clone -q https://$TARGET/tiny.git /tmp/tiny && cat /tmp/tiny/README", "git.example", "evil.example", "tiny", "Could not resolve host"},
	{"pip", "python3", "python3 -m pip install -q --retries 0 --no-cache-dir --target /tmp/t --index-url https://$TARGET/simple/ tiny && " +
		"PYTHONPATH=/tmp/t python3 -c 'import tiny; print(tiny.word)'", "pypi.example", "evil.example", "tiny", "Name or service not known|No address|NewConnectionError|No matching"},
	{"npm", "npm", "cd /tmp && npm install --no-audit --no-fund --no-update-notifier --fetch-retries 0 --registry https://$TARGET/ tiny && node -p 'require(\"tiny\")'",
		"npm.example", "evil.example", "tiny", "ENOTFOUND"},
}

// TestEgressClients: unmodified programs reach what is allowed, and fail at once and clearly otherwise, without a proxy
// variable.
func TestEgressClients(t *testing.T) {
	if !rig.Enter(t, rig.Self) {
		return
	}
	s := newSuite(t)
	if err := servePackages(s.Rig); err != nil {
		t.Log("without git: ", err)
	}
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.tool); c.tool != "" && err != nil {
				t.Skipf("there is no %s here", c.tool)
			}
			if strings.HasSuffix(c.name, "-v6") && !s.IPv6 {
				t.Skip("this machine has no IPv6")
			}
			s.client(t, &c)
		})
	}
	s.onlyAllowed(t)
}

// onlyAllowed checks the wire and the servers after all clients.
func (s *suite) onlyAllowed(t *testing.T) {
	t.Helper()
	for _, v := range s.Visits.Take() {
		if v.Evil {
			t.Errorf("a client has reached %v", v)
		}
	}
	packets, err := s.Capture.Take()
	if err != nil {
		t.Error(err)
	}
	for _, p := range packets {
		if a := p.To.Addr().String(); a != rig.WorldAddr && a != rig.GoodAddr && a != rig.GoodAddr6 {
			t.Errorf("on the wire: %v", p)
		}
	}
}

func (s *suite) client(t *testing.T, c *client) {
	t.Helper()
	ok := s.run(t, c.jail(t, c.allowed))
	if ok.exit != 0 || !strings.Contains(ok.out, c.want) {
		t.Errorf("%s, allowed: exit %d, want %q in\n%.800s\n%.800s\n%.2000s", c.name, ok.exit, c.want, ok.out, ok.errOut, ok.log)
	}
	var denied *outcome
	quickest := time.Hour
	for range 3 { // the machine may be busy
		if denied = s.run(t, c.jail(t, c.denied)); denied.took < quickest {
			quickest = denied.took
		}
		if quickest < ok.took+time.Second {
			break
		}
	}
	if denied.exit == 0 || denied.exit == 125 || !containsOne(denied.out+denied.errOut, c.fails) {
		t.Errorf("%s, denied: exit %d, want %q in\n%.800s\n%.800s\n%.2000s", c.name, denied.exit, c.fails, denied.out, denied.errOut, denied.log)
	}
	if quickest > ok.took+time.Second {
		t.Errorf("%s: to be denied takes %v, to be allowed %v", c.name, quickest, ok.took)
	}
	refused := false
	for _, e := range readLog(t, denied.log) {
		refused = refused || e.text("verdict") == "deny"
	}
	if !refused {
		t.Errorf("%s: the log has no refusal:\n%.2000s", c.name, denied.log)
	}
}

func containsOne(text, list string) bool {
	for _, s := range strings.Split(list, "|") {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// jail returns the client's jail with the policy of a careful caller.
func (c *client) jail(t *testing.T, target string) *jail {
	t.Helper()
	exe := must.Get(os.Executable())(t)
	args := []string{"--ro-bind", exe, "/rig/client"}
	for _, v := range []string{"SSL_CERT_FILE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "PIP_CERT", "NPM_CONFIG_CAFILE"} {
		args = append(args, "--env", v+"=/rig/ca.pem")
	}
	args = append(args, "--env", "HOME=/tmp", "--env", "TARGET="+target, "--", "sh", "-c", c.command)
	return &jail{network: "egress", args: args,
		allow: []string{"good.example", "tcp://good.example:17000", "git.example:443", "pypi.example:443", "npm.example:443", "93.184.216.34:8080",
			"six.example", "[2606:4700::34]:8080", "udp://93.184.216.34:123", "udp://[2606:4700::34]:123"}}
}

// fetch is the client in Go.
func fetch(url string) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(os.Stdout, resp.Body)
	return err
}

// goClient runs the client if clientVar is set.
func goClient() (code int, is bool) {
	url := os.Getenv(clientVar)
	if url == "" {
		return 0, false
	}
	if err := fetch(url); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}
