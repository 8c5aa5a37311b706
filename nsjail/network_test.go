package nsjail

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"brig/internal/program"
	"brig/internal/test/must"
	"brig/netns/egress"
	"brig/netns/egress/policy"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// egressCmd is a shell script in a jail that may reach what the rules say.
func egressCmd(t *testing.T, script string, allow ...string) *Cmd {
	t.Helper()
	c := shell(script)
	c.Spec.Net = spec.NetEgress
	c.Spec.Egress = policyOf(t, allow...)
	return c
}

func policyOf(t *testing.T, allow ...string) *policy.Policy {
	t.Helper()
	p := &policy.Policy{}
	for _, text := range allow {
		r := must.Get(policy.ParseRule(text))(t)
		p.Allow = append(p.Allow, r)
	}
	return p
}

// record is what a jail's network has said.
type record struct {
	mu    sync.Mutex
	lines []egress.Event
	bad   []string
}

// Write is one line a call.
func (r *record) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e egress.Event
	if err := json.Unmarshal(b, &e); err != nil || bytes.Count(b, []byte("\n")) != 1 {
		r.bad = append(r.bad, string(b))
	}
	r.lines = append(r.lines, e)
	return len(b), nil
}

// want compares with lines of the form "kind verdict reason destination".
func (r *record) want(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var got []string
	for _, e := range r.lines {
		where := e.Name
		if where == "" {
			where = e.Destination
		}
		got = append(got, fmt.Sprintf("%s %s %s %s", e.Kind, e.Verdict, e.Reason, where))
	}
	slices.Sort(got) // attempts that follow each other at once may be written in any order
	slices.Sort(want)
	if strings.Join(got, "\n") != strings.Join(want, "\n") || len(r.bad) > 0 {
		t.Errorf("got\n%s\nwant\n%s\nbroken lines: %q", strings.Join(got, "\n"), strings.Join(want, "\n"), r.bad)
	}
}

const tryTCP = `try() { if (exec 3<>/dev/tcp/$1/$2) 2>/dev/null; then echo $1 $2 yes; else echo $1 $2 no; fi; }; `

func bash(t *testing.T, script string, allow ...string) *Cmd {
	t.Helper()
	c := egressCmd(t, "", allow...)
	c.Spec.Args = []string{"/bin/bash", "-c", script}
	return c
}

// With an empty list nothing is reached, nothing hangs, and each attempt leaves one line that names it.
func TestEgressAllowsNothing(t *testing.T) {
	for name, c := range map[string]*Cmd{
		"no policy":    bash(t, tryTCP+"try 8.8.8.8 80; try 2001:4860:4860::8888 443; getent hosts example.com || echo no name"),
		"empty policy": bash(t, tryTCP+"try 8.8.8.8 80; try 2001:4860:4860::8888 443; getent hosts example.com || echo no name"),
	} {
		t.Run(name, func(t *testing.T) {
			if name == "no policy" {
				c.Spec.Egress = nil
			}
			log := &record{}
			c.NetworkLog = log
			out, r := mustRun(t, c)
			if out != "8.8.8.8 80 no\n2001:4860:4860::8888 443 no\nno name\n" {
				t.Errorf("%q", out)
			}
			log.want(t, "tcp deny no_rule 8.8.8.8:80", "tcp deny no_rule [2001:4860:4860::8888]:443", "dns deny no_rule example.com")
			if n := r.Network; n == nil || n.Total != 3 || n.ByVerdict["deny"] != 3 {
				t.Errorf("summary: %+v", n)
			}
		})
	}
}

// The host's loopback is not the jail's, whatever the policy allows.
func TestEgressNeverReachesTheHost(t *testing.T) {
	l := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(t)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Error("the host's server was reached")
			c.Close()
		}
	}()
	port := l.Addr().(*net.TCPAddr).Port
	c := bash(t, fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d; head -c 1 <&3 | wc -c", port), fmt.Sprintf("tcp://127.0.0.1:%d", port))
	if problems := c.Spec.Check(); len(problems) > 0 { // as good: it is refused before it is tried
		return
	}
	log := &record{}
	c.NetworkLog = log
	if out, _ := mustRun(t, c); strings.TrimSpace(out) != "0" {
		t.Errorf("%q", out)
	}
	if len(log.lines) != 1 || log.lines[0].Verdict != "deny" {
		t.Errorf("%+v", log.lines)
	}
}

// A policy for every port has the namespace's own nft redirect, and a redirected connection names its destination.
func TestEgressEveryPort(t *testing.T) {
	c := bash(t, tryTCP+"try 8.8.8.8 1; try 10.1.3.0 65535; exec 3<>/dev/tcp/169.254.169.254/7; cat <&3", "tcp://10.1.2.0/24:*")
	log := &record{}
	c.NetworkLog = log
	mustRun(t, c)
	log.want(t, "tcp deny no_rule 8.8.8.8:1", "tcp deny blocked_address 10.1.3.0:65535", "tcp deny metadata 169.254.169.254:7")
	if !strings.Contains(c.Plan().Enforced["net"].String(), "nft") {
		t.Error(c.Plan().Enforced["net"])
	}
}

// A server of the payload's may have a port of the policy's where every port is redirected, and cannot have it
// otherwise.
func TestPortOfThePolicy(t *testing.T) {
	const serve = `
import socket
try:
    s = socket.create_server(("0.0.0.0", 8080))
except OSError as e:
    raise SystemExit(e.strerror)
c = socket.create_connection(("127.0.0.1", 8080), 5)
print(s.accept()[1] == c.getsockname())
try:
    socket.create_connection(("8.8.8.8", 8080), 5).recv(1)
except OSError as e:
    print(e.strerror)
`
	for redirect, want := range map[bool]string{true: "True\nConnection reset by peer\n", false: "Address already in use"} {
		c := egressCmd(t, "", "tcp://9.9.9.9:8080")
		c.Spec.Egress.Redirect = redirect
		c.Spec.Args = []string{"/usr/bin/python3", "-c", serve}
		log := &record{}
		c.NetworkLog = log
		out, r := mustRun(t, c)
		if !strings.HasPrefix(out, want) || redirect != (r.Status == StatusOK) {
			t.Errorf("redirect %v: %s, %q", redirect, r.Status, out)
		}
		if redirect {
			log.want(t, "tcp deny no_rule 8.8.8.8:8080")
		}
	}
}

// The launcher cannot read what netlink answers: a refused message must end the start all the same.
func TestRefusedMessageEndsTheStart(t *testing.T) {
	for _, what := range []string{"RTM_NEWADDR", "add table"} {
		c := bash(t, "true", "tcp://10.1.2.0/24:*")
		found := false
		c.edit(func(p *plan.Plan) {
			for i := range p.Jail.Ops {
				if op := &p.Jail.Ops[i]; op.NR == unix.SYS_SENDTO && strings.Contains(op.Call(), what) {
					found = true
					m := refusedMessage()
					op.Args[1], op.Args[2] = program.Bytes(m), program.Int(len(m))
				}
			}
		})
		e := startError(t, c)
		if !found || e.Op != "net" || e.Step == 0 || e.Errno != unix.EAGAIN || !strings.Contains(e.Remedy.String(), "nf_tables") {
			t.Errorf("%s: %+v", what, e)
		}
	}
}

// refusedMessage is a struct nlmsghdr that asks for an answer, of a type that no protocol has.
func refusedMessage() []byte {
	b := binary.NativeEndian.AppendUint32(nil, unix.SizeofNlMsghdr)
	b = binary.NativeEndian.AppendUint16(b, 0xfff0)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	return append(b, make([]byte, 8)...)
}

// A port of the jail is reached from the host, in both network modes that have a loopback, and through a Runner.
func TestPublish(t *testing.T) {
	warm := runnerWith(t, RunnerOptions{Pool: 2})
	for name, c := range map[string]*Cmd{"loopback": shell(""), "egress": egressCmd(t, ""), "runner": warm.Command("x")} {
		t.Run(name, func(t *testing.T) {
			address := freePort(t)
			c.Spec.Args = []string{"/usr/bin/python3", "-uc", echoServer}
			c.Spec.Publish = []string{address + ":7000"}
			log := &record{}
			c.NetworkLog = log
			out := must.Get(startPiped(c))(t)
			defer func() { _ = c.Signal(unix.SIGKILL); _, _ = c.Wait() }()
			if line, err := out.ReadString('\n'); line != "ready\n" {
				t.Fatal(line, err)
			}
			for i := range 3 {
				if got := ask(t, address, fmt.Sprintf("hello %d\n", i)); got != fmt.Sprintf("HELLO %d\n", i) {
					t.Errorf("connection %d: %q", i, got)
				}
			}
		})
	}
}

const echoServer = `
import socket
s = socket.create_server(("127.0.0.1", 7000))
print("ready")
while True:
    c, _ = s.accept()
    c.sendall(c.recv(100).upper())
    c.close()
`

func ask(t *testing.T, address, text string) string {
	t.Helper()
	c := must.Get(net.DialTimeout("tcp4", address, 5*time.Second))(t)
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	must.Get(c.Write([]byte(text)))(t)
	line, _ := bufio.NewReader(c).ReadString('\n')
	return line
}

func startPiped(c *Cmd) (*bufio.Reader, error) {
	out, in := net.Pipe()
	c.Stdout = in
	return bufio.NewReader(out), c.Start()
}

// A published port that is taken is the caller's mistake, and leaves nothing open.
func TestPublishTaken(t *testing.T) {
	l := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(t)
	defer l.Close()
	c := shell("true")
	c.Spec.Publish = []string{l.Addr().String() + ":80"}
	if e := startError(t, c); e.Op != "publish[0]" || e.Fault != spec.FaultCaller || !strings.Contains(e.Detail.String(), "in use") {
		t.Errorf("%+v", e)
	}
}

// Jails of a Runner, prestarted ones too, have each their own policy and record.
func TestEgressThroughARunner(t *testing.T) {
	r := runnerWith(t, RunnerOptions{Pool: 2})
	s := spec.Spec{Args: []string{"/bin/bash", "-c", tryTCP + "try 8.8.8.8 80; try 8.8.8.8 81"}, Net: spec.NetEgress, Egress: policyOf(t, "example.com:80")}
	must.Do(t, r.Prestart(s, 2))
	for i := range 5 {
		c, log := r.CommandSpec(context.Background(), s), &record{}
		c.NetworkLog = log
		y := r.tree.pools[0]
		until(t, "two jails are parked", func() bool { return len(y.pids()) == 2 })
		time.Sleep(10 * time.Millisecond) // both cases are right: that they have sent their sockets by now, and that they have not
		ready := y.pids()
		must.Get(c.Run())(t)
		if !slices.Contains(ready, c.Pid()) {
			t.Errorf("run %d was pid %d; parked were %v", i, c.Pid(), ready)
		}
		log.want(t, "http deny no_rule 8.8.8.8:80", "tcp deny no_rule 8.8.8.8:81")
	}
}

// The Spec's JSON holds the policy, and names the place of what is wrong with it.
func TestSpecHoldsAPolicy(t *testing.T) {
	s, err := spec.ParseSpec([]byte(`{"args":["id"],"net":"egress","egress":{"allow":["example.com",{"cidr":"10.1.2.0/24","ports":[5432]}],"max_connections":5},"publish":["8080:80"]}`))
	if err != nil || len(s.Check()) > 0 {
		t.Fatal(err, s.Check())
	}
	again, err := spec.ParseSpec(s.JSON())
	if err != nil || !sameSpec(s, again) || s.Digest() != again.Digest() {
		t.Errorf("%v\n%s", err, s.JSON())
	}
	for text, want := range map[string]string{
		`{"args":["id"],"net":"egress","egress":{"allow":["exa mple.com"]}}`: "egress.allow[0]",
		`{"args":["id"],"net":"egress","egress":{"alow":[]}}`:                "egress",
		`{"args":["id"],"egress":{}}`:                                        "net",
		`{"args":["id"],"publish":["80"]}`:                                   "publish[0]",
		`{"args":["id"],"publish":["1:2/udp"]}`:                              "publish[0]",
		`{"args":["id"],"publish":["0:2"]}`:                                  "publish[0]",
		`{"args":["id"],"publish":["5:2","5:3"]}`:                            "publish[1]",
		`{"args":["id"],"net":"none","publish":["5:2"]}`:                     "publish[0]",
	} {
		s, err := spec.ParseSpec([]byte(text))
		if err == nil {
			if problems := s.Check(); len(problems) > 0 {
				err = errors.New(problems[0].Path + ": " + problems[0].Reason)
			}
		}
		if err == nil || !strings.HasPrefix(err.Error(), want+":") && !strings.HasPrefix(err.Error(), want+".") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A start that fails closes what it has opened for the network, whatever it fails at.
func TestFailedStartLeavesNoNetwork(t *testing.T) {
	for name, r := range map[string]*Runner{"cold": runnerWith(t, RunnerOptions{Cold: true}), "warm": runnerWith(t, RunnerOptions{})} {
		before := runtime.NumGoroutine()
		for range 10 {
			c := r.CommandSpec(context.Background(), spec.Spec{Args: []string{"true"}, Net: spec.NetEgress, Publish: []string{freePort(t) + ":80"},
				Mounts: []spec.Mount{{Type: spec.MountBind, Source: "/no/such/file", Target: "/x"}}})
			if _, err := c.Run(); err == nil {
				t.Fatal("it runs")
			}
			if l, err := net.Listen("tcp4", c.Spec.Publish[0][:strings.LastIndexByte(c.Spec.Publish[0], ':')]); err != nil {
				t.Errorf("%s: the port is still open: %v", name, err)
			} else {
				l.Close()
			}
		}
		until(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= before })
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}

// The caller's later changes to its policy are nobody's business: neither a jail's nor a template's.
func TestPolicyIsTheJailsOwn(t *testing.T) {
	r := runnerWith(t, RunnerOptions{})
	p := policyOf(t, "tcp://8.8.8.8:9000")
	s := spec.Spec{Args: []string{"/bin/bash", "-c", tryTCP + "try 8.8.4.4 9000; try 8.8.4.4 9100"}, Net: spec.NetEgress, Egress: p}
	want := func(s spec.Spec, want ...string) {
		t.Helper()
		c, log := r.CommandSpec(context.Background(), s), &record{}
		c.NetworkLog = log
		must.Get(c.Run())(t)
		log.want(t, want...)
		if _, all := c.Plan().Spec.Egress.TCPPorts(); all {
			t.Error("all ports")
		}
	}
	lines := []string{"tcp deny no_rule 8.8.4.4:9000", "tcp deny no_rule 8.8.4.4:9100"}
	want(s, lines...)
	p.Allow = append(p.Allow, policyOf(t, "tcp://8.8.8.8:9100").Allow...)
	p.Allow[0].Ports[0] = policy.Ports{From: 7, To: 7}
	want(s, lines...)
	if ports, _ := r.tree.templates[1].key.Egress.TCPPorts(); !slices.Equal(ports, []uint16{9000}) {
		t.Errorf("the first kind of Spec has become one for ports %v", ports)
	}
}
