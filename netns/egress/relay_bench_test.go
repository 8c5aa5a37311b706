package egress

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strconv"
	"testing"

	"brig/internal/test/must"
	"brig/netns/egress/policy"
)

// memory is what the heap and the stacks hold in bytes, of this process.
func memory() int64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// many opens n connections, moves some bytes on each and reports the memory that they hold.
func many(t *testing.T, n, size int, dial func() (*net.TCPConn, error)) int64 {
	t.Helper()
	before := memory()
	conns := make([]*net.TCPConn, n)
	for i := range conns {
		c := must.Get(dial())(t)
		conns[i] = c
		go func() { _, _ = c.Write(make([]byte, size)) }()
		must.Get(io.CopyN(io.Discard, c, int64(size)))(t)
	}
	held := memory() - before
	for _, c := range conns {
		c.Close()
	}
	return held
}

func TestThousandConnectionsAtOnce(t *testing.T) {
	const n, most = 1000, 32 << 10
	for _, c := range []struct {
		name string
		size int
	}{{"small", 100}, {"spliced", 2 * spliceAfter}} {
		direct := listenTCP(t)
		go func() {
			for {
				c, err := direct.AcceptTCP()
				if err != nil {
					return
				}
				go echo(c)
			}
		}()
		ends := many(t, n, c.size, func() (*net.TCPConn, error) {
			c, err := net.Dial("tcp4", direct.Addr().String())
			if err != nil {
				return nil, err
			}
			return c.(*net.TCPConn), nil
		})
		r := newRig(t, policy.Policy{Allow: rules("tcp://a.test:5000"), MaxConnections: n}).serve()
		r.server("a.test", 5000, echo)
		to := r.to("a.test", 5000)
		held := many(t, n, c.size, func() (*net.TCPConn, error) { return r.dialErr(to) })
		r.wait(n)
		r.end(n)
		each := (held - ends) / n
		t.Logf("%s: %d bytes for each connection", c.name, each)
		if each > most {
			t.Errorf("%s: %d bytes for each connection", c.name, each)
		}
	}
}

// paths are the two ways to one echo or discard server.
func paths(b *testing.B, handle func(*net.TCPConn), run func(b *testing.B, dial func() (net.Conn, error))) {
	r := newRig(b, policy.Policy{Allow: rules("tcp://a.test:5000")}).serve()
	r.server("a.test", 5000, handle)
	to := r.to("a.test", 5000)
	at := r.world[netip.AddrPortFrom(r.names["a.test"][0], 5000)]
	b.Run("direct", func(b *testing.B) { run(b, func() (net.Conn, error) { return net.Dial("tcp4", at.String()) }) })
	b.Run("relay", func(b *testing.B) { run(b, func() (net.Conn, error) { return r.dialErr(to) }) })
}

func BenchmarkUpload(b *testing.B) {
	paths(b, func(c *net.TCPConn) {
		buf := make([]byte, 256<<10)
		for {
			if _, err := c.Read(buf); err != nil {
				_, _ = c.Write([]byte("x"))
				c.Close()
				return
			}
		}
	}, func(b *testing.B, dial func() (net.Conn, error)) {
		c, err := dial()
		if err != nil {
			b.Fatal(err)
		}
		buf := make([]byte, 1<<20)
		b.SetBytes(int64(len(buf)))
		for b.Loop() {
			if _, err := c.Write(buf); err != nil {
				b.Fatal(err)
			}
		}
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = c.Read(buf)
		c.Close()
	})
}

func BenchmarkDownload(b *testing.B) {
	paths(b, func(c *net.TCPConn) {
		buf := make([]byte, 256<<10)
		for {
			if _, err := c.Write(buf); err != nil {
				c.Close()
				return
			}
		}
	}, func(b *testing.B, dial func() (net.Conn, error)) {
		c, err := dial()
		if err != nil {
			b.Fatal(err)
		}
		buf := make([]byte, 1<<20)
		b.SetBytes(int64(len(buf)))
		for b.Loop() {
			if _, err := io.ReadFull(c, buf); err != nil {
				b.Fatal(err)
			}
		}
		c.Close()
	})
}

func BenchmarkConnect(b *testing.B) {
	paths(b, echo, func(b *testing.B, dial func() (net.Conn, error)) {
		one := make([]byte, 1)
		for b.Loop() {
			c, err := dial()
			if err != nil {
				b.Fatal(err)
			}
			if _, err := c.Write(one); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(c, one); err != nil {
				b.Fatal(err)
			}
			c.Close()
		}
	})
}

// BenchmarkHTTP downloads through http mode, with a length and in chunks.
func BenchmarkHTTP(b *testing.B) {
	for _, path := range []string{"/length", "/chunks"} {
		r := newRig(b, policy.Policy{Allow: rules("a.test")}).serve()
		l := listenTCP(b)
		r.at("a.test", 80, addrPort(l.Addr()))
		part := make([]byte, 256<<10)
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if q.URL.Path == "/length" {
				w.Header().Set("Content-Length", strconv.Itoa(64*len(part)))
			}
			for range 64 {
				_, _ = w.Write(part)
			}
		})}
		go s.Serve(l)
		defer s.Close()
		direct := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("tcp4", l.Addr().String()) }}}
		for name, c := range map[string]*http.Client{"direct": direct, "relay": r.client("a.test")} {
			b.Run(name+path, func(b *testing.B) {
				b.SetBytes(int64(64 * len(part)))
				for b.Loop() {
					res, err := c.Get("http://a.test" + path)
					if err != nil {
						b.Fatal(err)
					}
					if n, err := io.Copy(io.Discard, res.Body); err != nil || n != int64(64*len(part)) {
						b.Fatal(n, err)
					}
					res.Body.Close()
				}
			})
		}
	}
}
