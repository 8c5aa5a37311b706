package engine

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"brig/brigd/job"
	"brig/internal/test/must"
)

// echo is a server for a box: it listens on an address and a port, and returns what comes.
const echo = `
import socket, sys
s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
s.bind((sys.argv[1], int(sys.argv[2]))); s.listen(); print("up", flush=True)
while True:
    c = s.accept()[0]
    while b := c.recv(1000): c.sendall(b)
    c.close()
`

func startEcho(t *testing.T, e *Engine, id, addr string, port int) {
	t.Helper()
	p := must.Get(e.StartProcess(t.Context(), Caller{}, id,
		&ProcessRequest{Cmd: []string{"python3", "-c", echo, addr, strconv.Itoa(port)}}, nil))(t)
	awaitOutput(t, e, id, p.ID, "up")
}

func says(t *testing.T, c net.Conn, text string) {
	t.Helper()
	must.Get(io.WriteString(c, text))(t)
	got := make([]byte, len(text))
	must.Get(io.ReadFull(c, got))(t)
	if string(got) != text {
		t.Errorf("%q, not %q", got, text)
	}
}

// What listens in a sandbox is listed and reached; another sandbox, and another agent, see nothing of it.
func TestPorts(t *testing.T) {
	e := newEngine(t, Options{})
	box, other := livingBox(t, e, SandboxRequest{}), livingBox(t, e, SandboxRequest{})
	startEcho(t, e, box.ID, "127.0.0.1", 8000)
	startEcho(t, e, box.ID, "0.0.0.0", 8001)
	startEcho(t, e, box.ID, "::1", 8002)
	list := must.Get(e.Ports(Caller{}, box.ID))(t)
	if got := fmt.Sprint(list); got != "[{8000 [127.0.0.1]} {8001 [0.0.0.0]} {8002 [::1]}]" {
		t.Error(got)
	}
	if list := must.Get(e.Ports(Caller{}, other.ID))(t); len(list) != 0 {
		t.Error("another sandbox has", list)
	}
	for _, p := range list {
		c := must.Get(e.DialPort(t.Context(), Caller{}, box.ID, p.Port))(t)
		says(t, c, "hello")
		must.Do(t, c.Close())
	}
	for name, f := range map[string]struct {
		caller   Caller
		id, code string
		port     int
	}{"closed": {Caller{}, box.ID, "port_closed", 1}, "another box": {Caller{}, other.ID, "port_closed", 8000},
		"another agent": {Caller{Agent: "eve"}, box.ID, "not_found", 8000},
		"no box":        {Caller{}, must.Get(e.CreateSandbox(t.Context(), Caller{}, &SandboxRequest{}))(t).ID, "not_living", 8000}} {
		_, err := e.DialPort(t.Context(), f.caller, f.id, f.port)
		if no, ok := errors.AsType[*job.Refusal](err); !ok || no.Code != f.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := e.Ports(Caller{Agent: "eve"}, box.ID); err == nil {
		t.Error("another agent sees the ports")
	}
}

// A connection keeps the sandbox and its box awake, and both its ends end it.
func TestPortIsAUse(t *testing.T) {
	e := newEngine(t, Options{BoxIdle: time.Second})
	box := livingBox(t, e, SandboxRequest{TTL: Seconds(1500 * time.Millisecond)})
	startEcho(t, e, box.ID, "127.0.0.1", 8000)
	c := must.Get(e.DialPort(t.Context(), Caller{}, box.ID, 8000))(t)
	time.Sleep(2 * time.Second)
	if s := must.Get(e.Sandbox(Caller{}, box.ID))(t).Living.State; s != "running" {
		t.Error("it sleeps:", s)
	}
	says(t, c, "hello")
	must.Do(t, c.Close())
	for must.Get(e.Sandbox(Caller{}, box.ID))(t).Living.State != "frozen" {
		time.Sleep(time.Millisecond)
	}
	c = must.Get(e.DialPort(t.Context(), Caller{}, box.ID, 8000))(t) // thaws it
	defer c.Close()
	says(t, c, "again")
	must.Do(t, e.DeleteSandbox(Caller{}, box.ID))
	must.Do(t, c.SetReadDeadline(time.Now().Add(5*time.Second)))
	if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("the connection outlives its box", n)
	} else if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		t.Error("the connection outlives its box")
	}
}

// However many ports a box listens on, the list is bounded, and it has no port of the host's.
func TestManyPorts(t *testing.T) {
	e := newEngine(t, Options{})
	host, err := net.Listen("tcp", "127.0.0.1:20000") // below those that the kernel picks, in the box, too
	for n := 20001; err != nil; n++ {
		host, err = net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(n))
	}
	defer host.Close()
	box := livingBox(t, e, SandboxRequest{})
	p := must.Get(e.StartProcess(t.Context(), Caller{}, box.ID, &ProcessRequest{Cmd: []string{"python3", "-c", `
import socket, os, time
r, w = os.pipe()
for _ in range(8):
    if not os.fork():
        all = []
        for _ in range(250):
            s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); all.append(s)
        os.write(w, b"x")
        time.sleep(1000)
for _ in range(8): os.read(r, 1)
print("all", flush=True)
time.sleep(1000)`}}, nil))(t)
	awaitOutput(t, e, box.ID, p.ID, "all")
	list := must.Get(e.Ports(Caller{}, box.ID))(t)
	if len(list) != 1024 || slices.ContainsFunc(list, func(p PortInfo) bool { return p.Port == host.Addr().(*net.TCPAddr).Port }) {
		t.Error(len(list))
	}
}
