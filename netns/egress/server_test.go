package egress

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/netns/egress/policy"
)

// lineLog is a Config.Log that checks each line as it comes.
type lineLog struct {
	t     testing.TB
	mu    sync.Mutex
	lines []Event
	more  chan struct{}
}

func (l *lineLog) Write(b []byte) (int, error) {
	var e Event
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil || len(b) > MaxLine || bytes.IndexByte(b, '\n') != len(b)-1 {
		l.t.Errorf("a bad line of %d bytes: %q: %v", len(b), b, err)
	}
	for _, c := range b[:len(b)-1] {
		if c < ' ' || c > '~' {
			l.t.Errorf("byte %#x in %q", c, b)
		}
	}
	l.mu.Lock()
	l.lines = append(l.lines, e)
	l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (l *lineLog) all() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Event(nil), l.lines...)
}

// rig is a Server between a payload and servers on the loopback.
type rig struct {
	t      testing.TB
	s      *Server
	log    *lineLog
	jail   *net.TCPListener
	mu     sync.Mutex
	names  map[string][]netip.Addr
	world  map[netip.AddrPort]netip.AddrPort // public address: where it really is
	wanted map[netip.Addr]netip.AddrPort     // source address: what the payload wanted to reach
	dialed []netip.AddrPort
	own    []netip.Addr
}

var public = netip.MustParseAddr("93.184.216.34")

func newRig(t testing.TB, p policy.Policy) *rig {
	t.Helper()
	r := &rig{t: t, log: &lineLog{t: t, more: make(chan struct{}, 1)}, names: map[string][]netip.Addr{},
		world: map[netip.AddrPort]netip.AddrPort{}, wanted: map[netip.Addr]netip.AddrPort{}}
	s := must.Get(New(Config{Policy: &p, Jail: "j", Log: r.log}))(t)
	r.s = s
	s.dialer.lookup = func(_ context.Context, name string) ([]netip.Addr, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		list, known := r.names[name]
		if !known {
			return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
		}
		return list, nil
	}
	s.dialer.dial = func(ctx context.Context, network string, to netip.AddrPort, vet vetter) (net.Conn, error) {
		if why := vet(to); why != policy.ReasonNone {
			return nil, &failure{reason: why}
		}
		r.mu.Lock()
		at, known := r.world[to]
		r.dialed = append(r.dialed, to)
		r.mu.Unlock()
		if !known {
			<-ctx.Done() // a dead address does not answer
			return nil, ctx.Err()
		}
		var d net.Dialer
		return d.DialContext(ctx, network, at.String())
	}
	s.dialer.place = func(a netip.Addr) policy.Reason { return ownedBy(r.own...)(a) }
	s.destination = func(c *net.TCPConn, _ bool) (netip.AddrPort, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		to, known := r.wanted[c.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()]
		if !known {
			return to, errors.New("not a payload of ours")
		}
		return to, nil
	}
	r.jail = listenTCP(t)
	t.Cleanup(func() { s.Close() })
	return r
}

// ownedBy returns a dialer's place for a host with these addresses.
func ownedBy(own ...netip.Addr) func(netip.Addr) policy.Reason {
	return func(a netip.Addr) policy.Reason {
		if slices.Contains(own, a) {
			return policy.ReasonOwnAddress
		}
		return policy.ReasonNone
	}
}

func listenTCP(t testing.TB) *net.TCPListener {
	t.Helper()
	l := must.Get(net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}))(t)
	t.Cleanup(func() { l.Close() })
	return l
}

func addrPort(a net.Addr) netip.AddrPort {
	switch a := a.(type) {
	case *net.TCPAddr:
		return a.AddrPort()
	case *net.UDPAddr:
		return a.AddrPort()
	}
	return netip.AddrPort{}
}

func (r *rig) serve() *rig {
	r.s.Serve(Sockets{TCP: []*net.TCPListener{r.jail}})
	return r
}

// server makes name:port a server that handles each connection.
func (r *rig) server(name string, port uint16, handle func(c *net.TCPConn)) {
	l := listenTCP(r.t)
	r.at(name, port, addrPort(l.Addr()))
	go func() {
		for {
			c, err := l.AcceptTCP()
			if err != nil {
				return
			}
			go handle(c)
		}
	}()
}

func (r *rig) at(name string, port uint16, real netip.AddrPort) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := public
	if len(r.names[name]) > 0 {
		a = r.names[name][0]
	} else {
		for range r.names {
			a = a.Next()
		}
		r.names[name] = []netip.Addr{a}
	}
	r.world[netip.AddrPortFrom(a, port)] = real
}

// to is how the payload sees name:port.
func (r *rig) to(name string, port uint16) netip.AddrPort {
	a, ok := r.s.pool.addr(name)
	if !ok {
		r.t.Fatal("the pool is full")
	}
	return netip.AddrPortFrom(a, port)
}

// dial is what connect(2) would do in the jail.
func (r *rig) dial(to netip.AddrPort) *net.TCPConn {
	r.t.Helper()
	return must.Get(r.dialErr(to))(r.t)
}

func (r *rig) dialErr(to netip.AddrPort) (*net.TCPConn, error) {
	r.mu.Lock()
	var source netip.Addr
	for a, w := range r.wanted {
		if w == to {
			source = a
		}
	}
	if !source.IsValid() {
		n := len(r.wanted) + 2
		port := addrPort(r.jail.Addr()).Port() // another source for each rig: closed connections keep theirs for a minute
		source = netip.AddrFrom4([4]byte{127, 128 | byte(port>>8), byte(port), byte(n)})
		r.wanted[source] = to
	}
	r.mu.Unlock()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: source.AsSlice()}}
	c, err := d.Dial("tcp4", r.jail.Addr().String())
	if err != nil {
		return nil, err
	}
	r.t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn), c.SetDeadline(time.Now().Add(20 * time.Second))
}

// lives reports whether an echo server answers.
func (r *rig) lives(to netip.AddrPort) bool {
	c, err := r.dialErr(to)
	if err != nil {
		return false
	}
	defer c.Close()
	_, err = c.Write([]byte{1})
	n := 0
	if err == nil {
		n, err = c.Read(make([]byte, 1))
	}
	return n == 1 && err == nil
}

// wait returns the lines once there are n of them.
func (r *rig) wait(n int) []Event {
	r.t.Helper()
	late := time.After(20 * time.Second)
	for {
		if all := r.log.all(); len(all) >= n {
			return all
		}
		select {
		case <-r.log.more:
		case <-late:
			r.t.Fatalf("%d lines, not %d: %+v", len(r.log.all()), n, r.log.all())
		}
	}
}

// end closes the server and checks that the summary adds up the lines.
func (r *rig) end(n int) []Event {
	r.t.Helper()
	sum := r.s.Close()
	all := r.log.all()
	if n >= 0 && len(all) != n {
		r.t.Errorf("%d lines, not %d: %+v", len(all), n, all)
	}
	addsUp(r.t, sum, all)
	return all
}

// addsUp counts the lines anew, without the code that counts them.
func addsUp(t testing.TB, sum *Summary, lines []Event) {
	t.Helper()
	want := Summary{ByVerdict: map[Verdict]int{}, ByReason: map[policy.Reason]int{}, ByMethod: map[string]int{}, ByStatus: map[string]int{}}
	for _, e := range lines {
		n := 1
		if e.Repeated > 0 {
			n = e.Repeated
		}
		want.Total += n
		want.ByVerdict[e.Verdict] += n
		want.Sent += e.Sent
		want.Received += e.Received
		if e.Reason != "" {
			want.ByReason[e.Reason] += n
		}
		if e.Method != "" {
			want.ByMethod[e.Method] += n
		}
		if e.Status != 0 {
			want.ByStatus[fmt.Sprint(e.Status)] += n
		}
	}
	hosts := 0
	for _, n := range sum.ByHost {
		hosts += n
	}
	if sum.Total != want.Total || hosts != want.Total || sum.Sent != want.Sent || sum.Received != want.Received || sum.LinesDropped != 0 ||
		fmt.Sprint(sum.ByVerdict, sum.ByReason, sum.ByStatus) != fmt.Sprint(want.ByVerdict, want.ByReason, want.ByStatus) ||
		len(sum.ByMethod) < maxWords && fmt.Sprint(sum.ByMethod) != fmt.Sprint(want.ByMethod) {
		t.Errorf("the summary does not add up the lines (hosts %d):\n%+v\n%+v", hosts, *sum, want)
	}
}

// echo sends everything back.
func echo(c *net.TCPConn) {
	defer c.Close()
	_, _ = io.Copy(c, c)
}

// reset dials, and the RST may come at once.
func (r *rig) reset(to netip.AddrPort) {
	r.t.Helper()
	c, err := r.dialErr(to)
	switch {
	case err == nil:
		wasReset(r.t, c)
	case !errors.Is(err, syscall.ECONNRESET):
		r.t.Error(err)
	}
}

// wasReset fails unless the connection ended with an RST before a byte came.
func wasReset(t testing.TB, c net.Conn) {
	t.Helper()
	n, err := c.Read(make([]byte, 1))
	if n != 0 || err == nil || errors.Is(err, io.EOF) {
		t.Errorf("not reset: %d bytes, %v", n, err)
	}
}

func rules(texts ...string) (list []policy.Rule) {
	for _, text := range texts {
		r, err := policy.ParseRule(text)
		if err != nil {
			panic(err)
		}
		list = append(list, r)
	}
	return list
}
