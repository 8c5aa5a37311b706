package egress

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/netns/egress/policy"
)

func TestTCPRelaysBothWaysAndCounts(t *testing.T) {
	for _, size := range []int{0, 1, copyBuffer + 1, spliceAfter - 1, spliceAfter + 1, 3 << 20} {
		r := newRig(t, policy.Policy{Allow: rules("tcp://a.test:5000")}).serve()
		r.server("a.test", 5000, echo)
		c := r.dial(r.to("a.test", 5000))
		want := make([]byte, size)
		_, _ = rand.Read(want)
		go func() {
			_, _ = c.Write(want)
			_ = c.CloseWrite() // half a close: the echo must still come
		}()
		got, err := io.ReadAll(c)
		if err != nil || sha256.Sum256(got) != sha256.Sum256(want) {
			t.Errorf("%d bytes: %d came back, %v", size, len(got), err)
		}
		r.wait(1)
		e := r.end(1)[0]
		if e.Verdict != VerdictAllow || e.Kind != KindTCP || e.Reason != "" || e.Sent != int64(size) || e.Received != int64(size) ||
			e.Name != "a.test" || e.Address != "93.184.216.34:5000" || e.Rule == "" || e.Jail != "j" || e.Port != 5000 {
			t.Errorf("%d bytes: %+v", size, e)
		}
	}
}

func TestRefusals(t *testing.T) {
	given := policy.Policy{Allow: rules("tcp://a.test:5000", "tcp://dead.test:5000", "tcp://none.test:5000", "tcp://inside.test:5000",
		"tcp://meta.test:5000", "tcp://own.test:5000", "8.8.8.0/24:5000", "tcp://two.test:5000"),
		Deny: rules("b.test"), ConnectTimeout: policy.Duration(300 * time.Millisecond)}
	ip := netip.MustParseAddrPort
	for _, c := range []struct {
		name    string
		to      func(r *rig) netip.AddrPort
		verdict Verdict
		reason  policy.Reason
	}{
		{"port", func(r *rig) netip.AddrPort { return r.to("a.test", 5001) }, VerdictDeny, policy.ReasonPort},
		{"no rule", func(r *rig) netip.AddrPort { return r.to("c.test", 5000) }, VerdictDeny, policy.ReasonNoRule},
		{"denied", func(r *rig) netip.AddrPort { return r.to("b.test", 5000) }, VerdictDeny, policy.ReasonDenied},
		{"synthetic without a name", func(*rig) netip.AddrPort { return ip("198.19.3.4:5000") }, VerdictDeny, policy.ReasonNoRule},
		{"address", func(*rig) netip.AddrPort { return ip("9.9.9.9:5000") }, VerdictDeny, policy.ReasonNoRule},
		{"mapped address", func(*rig) netip.AddrPort { return ip("[::ffff:9.9.9.9]:5000") }, VerdictDeny, policy.ReasonNoRule},
		{"private address", func(*rig) netip.AddrPort { return ip("10.0.0.1:5000") }, VerdictDeny, policy.ReasonBlocked},
		{"zoned address", func(*rig) netip.AddrPort { return ip("[fe80::1%lo]:5000") }, VerdictDeny, policy.ReasonBlocked},
		{"metadata", func(*rig) netip.AddrPort { return ip("169.254.169.254:5000") }, VerdictDeny, policy.ReasonMetadata},
		{"own address in a prefix", func(*rig) netip.AddrPort { return ip("8.8.8.8:5000") }, VerdictDeny, policy.ReasonOwnAddress},
		{"timeout", func(r *rig) netip.AddrPort { return r.to("dead.test", 5000) }, VerdictError, policy.ReasonConnectTimeout},
		{"refused", func(r *rig) netip.AddrPort { return r.to("two.test", 5000) }, VerdictError, policy.ReasonConnectFailed},
		{"no address", func(r *rig) netip.AddrPort { return r.to("none.test", 5000) }, VerdictError, policy.ReasonNoAddress},
		{"name to inside", func(r *rig) netip.AddrPort { return r.to("inside.test", 5000) }, VerdictDeny, policy.ReasonBlocked},
		{"name to metadata", func(r *rig) netip.AddrPort { return r.to("meta.test", 5000) }, VerdictDeny, policy.ReasonMetadata},
		{"name to own", func(r *rig) netip.AddrPort { return r.to("own.test", 5000) }, VerdictDeny, policy.ReasonOwnAddress},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, given).serve()
			r.own = []netip.Addr{netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("93.184.216.40")}
			r.names["dead.test"] = []netip.Addr{netip.MustParseAddr("93.184.216.50")}
			r.names["inside.test"] = []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("::ffff:127.0.0.1")}
			r.names["meta.test"] = []netip.Addr{netip.MustParseAddr("169.254.169.254")}
			r.names["own.test"] = []netip.Addr{netip.MustParseAddr("93.184.216.40")}
			gone := listenTCP(t)
			r.at("two.test", 5000, addrPort(gone.Addr()))
			gone.Close()
			r.reset(c.to(r))
			r.wait(1)
			if e := r.end(1)[0]; e.Verdict != c.verdict || e.Reason != c.reason {
				t.Errorf("%+v", e)
			}
			if len(r.dialed) > 0 && c.verdict == VerdictDeny {
				t.Errorf("dialled %v", r.dialed)
			}
		})
	}
}

// Rebinding: a name with good and bad addresses leads to the good ones only; a dead one does not eat the time.
func TestVettedAddressesOneAfterTheOther(t *testing.T) {
	r := newRig(t, policy.Policy{Allow: rules("tcp://a.test:5000"), ConnectTimeout: policy.Duration(time.Second)}).serve()
	r.server("a.test", 5000, echo)
	good := r.names["a.test"][0]
	r.names["a.test"] = []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("93.184.216.99"), netip.MustParseAddr("127.0.0.1"), good}
	c := r.dial(r.to("a.test", 5000))
	_, _ = c.Write([]byte("x"))
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Error(err)
	}
	c.Close()
	r.wait(1)
	r.end(1)
	if len(r.dialed) != 2 || r.dialed[1].Addr() != good {
		t.Errorf("dialled %v", r.dialed)
	}
}

func TestControlVetsTheSocketsOwnAddress(t *testing.T) {
	d := newDialer(&policy.Policy{}, new(policy.Matcher))
	l := listenTCP(t)
	_, err := d.dial(t.Context(), "tcp4", addrPort(l.Addr()), d.vetName)
	if whyNot(err) != policy.ReasonBlocked {
		t.Errorf("%v", err)
	}
}

// helloFor returns the ClientHello that crypto/tls sends for a name.
func helloFor(t *testing.T, name string) []byte {
	t.Helper()
	a, b := net.Pipe()
	go func() {
		_ = tls.Client(a, &tls.Config{ServerName: name, InsecureSkipVerify: name == ""}).Handshake()
		a.Close()
	}()
	buf := make([]byte, 4096)
	n := must.Get(b.Read(buf))(t)
	b.Close()
	return buf[:n]
}

func TestTLSMode(t *testing.T) {
	for _, c := range []struct {
		name    string
		hello   []byte
		verdict Verdict
		reason  policy.Reason
	}{
		{"right", helloFor(t, "a.test"), VerdictAllow, ""},
		{"upper case", helloFor(t, "A.Test"), VerdictAllow, ""},
		{"another", helloFor(t, "b.test"), VerdictDeny, policy.ReasonSNIMismatch},
		{"none", helloFor(t, ""), VerdictDeny, policy.ReasonNoSNI},
		{"http", []byte("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"), VerdictDeny, policy.ReasonNotTLS},
		{"cut off", helloFor(t, "a.test")[:40], VerdictDeny, policy.ReasonNotTLS},
		{"nothing", nil, VerdictError, policy.ReasonClosed},
	} {
		for _, step := range []int{1 << 20, 7} {
			t.Run(c.name, func(t *testing.T) {
				r := newRig(t, policy.Policy{Allow: rules("a.test")}).serve()
				r.server("a.test", 443, echo)
				conn := r.dial(r.to("a.test", 443))
				for rest := c.hello; len(rest) > 0; {
					n, err := conn.Write(rest[:min(step, len(rest))])
					if rest = rest[n:]; err != nil {
						break // refused before all of it was said
					}
				}
				_ = conn.CloseWrite()
				got, err := io.ReadAll(conn)
				if c.verdict == VerdictAllow && (err != nil || !bytes.Equal(got, c.hello)) {
					t.Errorf("%d bytes, %v", len(got), err)
				} else if c.verdict != VerdictAllow && (len(got) > 0 || err == nil && c.hello != nil && len(r.dialed) > 0) {
					t.Errorf("%q, %v", got, err)
				}
				r.wait(1)
				if e := r.end(1)[0]; e.Kind != KindTLS || e.Verdict != c.verdict || e.Reason != c.reason {
					t.Errorf("%+v", e)
				}
			})
		}
	}
}

func TestSlowLorisAndIdleEnd(t *testing.T) {
	r := newRig(t, policy.Policy{Allow: rules("a.test", "tcp://a.test:5000"), IdleTimeout: policy.Duration(300 * time.Millisecond)})
	r.s.head = 200 * time.Millisecond
	r.serve()
	r.server("a.test", 5000, echo)
	for _, c := range []*net.TCPConn{r.dial(r.to("a.test", 443)), r.dial(r.to("a.test", 80)), r.dial(r.to("a.test", 5000))} {
		wasReset(t, c)
	}
	dribble := r.dial(r.to("a.test", 80))
	for { // one byte at a time for ever does not help
		if _, err := dribble.Write([]byte("G")); err != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	got := map[policy.Reason]int{}
	for _, e := range r.wait(4) {
		got[e.Reason]++
	}
	if got[policy.ReasonSlow] != 3 || got[policy.ReasonIdleTimeout] != 1 {
		t.Errorf("%v", got)
	}
	r.end(4)
}

func TestLimits(t *testing.T) {
	t.Run("max_connections", func(t *testing.T) {
		r := newRig(t, policy.Policy{Allow: rules("tcp://a.test:5000"), MaxConnections: 2}).serve()
		r.server("a.test", 5000, echo)
		for range 2 {
			c := r.dial(r.to("a.test", 5000))
			_, _ = c.Write([]byte("x"))
			must.Get(io.ReadFull(c, make([]byte, 1)))(t)
		}
		r.reset(r.to("a.test", 5000))
		if e := r.wait(1)[0]; e.Reason != policy.ReasonMaxConnections || e.Verdict != VerdictDeny || e.Name != "a.test" {
			t.Errorf("%+v", e)
		}
		for _, e := range r.end(3)[1:] {
			if e.Verdict != VerdictAllow || e.Reason != policy.ReasonClosed {
				t.Errorf("%+v", e)
			}
		}
	})
	t.Run("names", func(t *testing.T) {
		r := newRig(t, policy.Policy{Allow: rules("tcp://*.a.test:5000", "tcp://b.test:5000"), NamesPerSecond: 1}).serve()
		answered := 0
		for i := range 60 {
			name := fmt.Sprintf("n%d.a.test", i)
			r.server(name, 5000, echo)
			if r.lives(r.to(name, 5000)) {
				answered++
			}
		}
		if answered < 5 || answered > 50 { // five at once, then one each second
			t.Errorf("%d of 60 new names were resolved", answered)
		}
		r.server("b.test", 5000, echo)
		if !r.lives(r.to("n0.a.test", 5000)) || !r.lives(r.to("b.test", 5000)) {
			t.Error("a name that was resolved before, or that a rule spells out, is not new")
		}
		if e := r.log.all(); e[len(e)-1].Reason != policy.ReasonNone && e[len(e)-1].Reason != policy.ReasonRate {
			t.Errorf("%+v", e[len(e)-1])
		}
	})
	t.Run("rate", func(t *testing.T) {
		r := newRig(t, policy.Policy{Allow: rules("tcp://a.test:5000"), ConnectionsPerSecond: 1}).serve()
		r.server("a.test", 5000, echo)
		first := r.dial(r.to("a.test", 5000))
		r.reset(r.to("a.test", 5000))
		if e := r.wait(1)[0]; e.Reason != policy.ReasonRate {
			t.Errorf("%+v", e)
		}
		first.Close()
	})
	for _, c := range []struct {
		name   string
		policy policy.Policy
		limit  int64
	}{
		{"max_connection_bytes", policy.Policy{MaxConnectionBytes: 100}, 100},
		{"max_connection_bytes, spliced", policy.Policy{MaxConnectionBytes: 2000000}, 2000000},
		{"max_bytes", policy.Policy{MaxBytes: 70000}, 70000},
		{"max_bytes, spliced", policy.Policy{MaxBytes: 1500000}, 1500000},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.policy.Allow = rules("tcp://a.test:5000")
			r := newRig(t, c.policy).serve()
			r.server("a.test", 5000, func(c *net.TCPConn) {
				_, _ = io.Copy(io.Discard, c)
				c.Close()
			})
			conn := r.dial(r.to("a.test", 5000))
			_, err := conn.Write(make([]byte, 8<<20))
			if err == nil {
				wasReset(t, conn)
			}
			e := r.wait(1)[0]
			if e.Reason != policy.ReasonMaxBytes || e.Verdict != VerdictAllow || e.Sent != c.limit {
				t.Errorf("%+v", e)
			}
			r.end(1)
		})
	}
	t.Run("bandwidth", func(t *testing.T) {
		const rate, size = 1 << 20, 512 << 10
		r := newRig(t, policy.Policy{Allow: rules("tcp://a.test:5000"), Bandwidth: rate}).serve()
		r.server("a.test", 5000, func(c *net.TCPConn) {
			_, _ = c.Write(make([]byte, size))
			c.Close()
		})
		begin := time.Now()
		n, err := io.Copy(io.Discard, r.dial(r.to("a.test", 5000)))
		if d := time.Since(begin).Seconds(); err != nil || n != size || d < 0.8*(size-rate/10)/rate { // no upper bound: the machine may be slow
			t.Errorf("%d bytes in %.2f s, %v", n, d, err)
		}
	})
}

// A server that resets is passed on as an RST, not as an end.
func TestResetIsPassedOn(t *testing.T) {
	r := newRig(t, policy.Policy{Allow: rules("tcp://a.test:5000")}).serve()
	r.server("a.test", 5000, reset)
	c, err := r.dialErr(r.to("a.test", 5000))
	if err == nil {
		_, err = io.ReadAll(c)
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Error(err)
	}
	r.wait(1)
	r.end(1)
}

func TestCloseUnderLoad(t *testing.T) {
	r := newRig(t, policy.Policy{Allow: rules("tcp://a.test:5000", "b.test"), MaxConnections: 1000}).serve()
	r.server("a.test", 5000, echo)
	r.server("b.test", 80, echo)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 16 {
		to := r.to("a.test", 5000)
		if i%4 == 0 {
			to = r.to("b.test", 80)
		}
		r.dial(to)
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				c, err := r.dialErr(to)
				if err != nil {
					return
				}
				_, _ = c.Write(bytes.Repeat([]byte("GET / HTTP/1.1\r\nHost: b.test\r\n\r\n"), 100))
				_, _ = io.ReadFull(c, make([]byte, 3000))
				c.Close()
			}
		})
	}
	r.wait(50)
	sum := r.s.Close()
	close(stop)
	wg.Wait()
	addsUp(t, sum, r.log.all())
	if again := r.s.Close(); again.Total != sum.Total || sum.Total < 50 {
		t.Errorf("%d, then %d", sum.Total, again.Total)
	}
}
