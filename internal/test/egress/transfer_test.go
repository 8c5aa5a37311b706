package egress

import (
	"crypto/md5"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"brig/internal/rig"
)

const parallel = `python3 -c "
import hashlib, socket, threading
bad = []
def one(i):
    data = hashlib.sha256(b'%d' % i).digest() * 4096
    try:
        with socket.create_connection(('good.example', 17000), 20) as s:
            got = s.makefile('rb').readline()
            threading.Thread(target=s.sendall, args=(data,)).start()
            back = b''
            while len(back) < len(data):
                more = s.recv(65536)
                if not more: break
                back += more
            if back != data: bad.append((i, len(back)))
    except OSError as e:
        bad.append((i, e))
threads = [threading.Thread(target=one, args=(i,)) for i in range(100)]
for t in threads: t.start()
for t in threads: t.join()
print('bad', bad)"`

const websocket = `python3 -c "
import socket
s = socket.create_connection(('good.example', 80), 20)
s.sendall(b'GET /upgrade HTTP/1.1\r\nHost: good.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
got = s.recv(4096)
s.sendall(b'hello')
while b'hello' not in got: got += s.recv(4096)
print(got.split()[1], got[-5:])"`

const halfClose = `python3 -c "
import socket
s = socket.create_connection(('good.example', 17000), 20)
s.sendall(b'last words')
s.shutdown(socket.SHUT_WR)
got = b''
while True:
    more = s.recv(4096)
    if not more: break
    got += more
print(got[-10:])"`

// TestEgressTransfers: what is allowed arrives whole, in both directions, on every path through the relay.
func TestEgressTransfers(t *testing.T) {
	if !rig.Enter(t, rig.Self) {
		return
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl here")
	}
	s := newSuite(t)
	const size = 30_000_000
	zeros := fmt.Sprintf("%x", md5.Sum(make([]byte, size)))
	upload := fmt.Sprintf("head -c %d /dev/zero | curl -sS ", size)
	for _, c := range []struct{ name, command, want string }{
		{"download-http", fmt.Sprintf("curl -sS http://good.example/bytes/%d | md5sum", size), zeros},
		{"download-https", fmt.Sprintf("curl -sS https://good.example/bytes/%d | md5sum", size), zeros},
		{"download-tcp", fmt.Sprintf("curl -sS http://good.example:8080/bytes/%d | md5sum", size), zeros},
		{"upload-http", upload + "-T - http://good.example/sink", "30000000 bytes <nil>"},
		{"upload-http-length", upload + "--data-binary @- http://good.example/sink", "30000000 bytes <nil>"},
		{"upload-https", upload + "-T - https://good.example/sink", "30000000 bytes <nil>"},
		{"kept-alive", "curl -sS -w '%{num_connects} ' " + strings.Repeat("http://good.example/status/204 ", 5), "1 0 0 0 0"},
		{"statuses", "for s in 200 204 304 404 500; do curl -sS -o /dev/null -w '%{http_code} ' http://good.example/status/$s; done", "200 204 304 404 500"},
		{"head", "curl -sS -I http://good.example/bytes/1000", "Content-Length: 1000"},
		{"drip", "curl -sS http://good.example/drip | wc -l", "20"},
		{"dot", "curl -sS http://good.example./", "good site good.example"},
		{"upper-case", "curl -sS https://GOOD.Example/", "good site GOOD.Example"},
		{"absolute", "curl -sS --request-target http://good.example/x http://good.example/", "good site good.example"},
		{"old", "curl -sS -0 http://good.example/", "good site good.example"},
		{"parallel", parallel, "bad []"},
		{"websocket", websocket, "b'101' b'hello'"},
		{"half-close", halfClose, "b'last words'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := s.run(t, &jail{network: "egress", allow: []string{"good.example", "tcp://good.example:17000,8080"},
				args: []string{"--env", "CURL_CA_BUNDLE=/rig/ca.pem", "--", "sh", "-c", c.command}})
			if o.exit != 0 || !strings.Contains(o.out, c.want) {
				t.Errorf("%s: exit %d, want %q in\n%.600s\n%.600s\n%.1500s", c.command, o.exit, c.want, o.out, o.errOut, o.log)
			}
			events := readLog(t, o.log)
			for _, e := range events {
				if e.text("verdict") != "allow" {
					t.Errorf("the log has %s", e)
				}
			}
			checkSummary(t, o.report.Network, events)
		})
	}
	s.onlyAllowed(t)
}
