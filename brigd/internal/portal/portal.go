// Package portal passes HTTP requests in to untrusted servers of a sandbox. What such a server answers may not act on
// the origin at which brigd is called, and the server learns nothing of the caller but the request itself.
package portal

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"time"

	"brig/brigd/internal/front"
)

// Passage is the way in to one server.
type Passage struct {
	Dial func(ctx context.Context) (net.Conn, error)
	Port int
	// Prefix is the beginning of the path that the server does not see; "" if it has an origin of its own.
	Prefix string
	Own    *Own
	// Wait is how long the server may take to begin its answer, and to take a piece of the request.
	Wait time.Duration
	// BodyTime is how long the client may take for a piece of its body.
	BodyTime time.Duration
}

const maxHeader = 64 << 10 // of an answer, in bytes, with what comes before it (1xx)

// Serve passes a request in, and answers with what comes out. It returns an error if nothing has.
func (p *Passage) Serve(v *front.Visit) (err error) {
	body := &body{ReadCloser: v.R.Body, visit: v, limit: p.BodyTime}
	in := *v.R
	if in.ContentLength != 0 {
		in.Body = body
		defer body.back()
		_ = v.Control.EnableFullDuplex() // without it the server must take the body before it answers
	}
	proxy := &httputil.ReverseProxy{Transport: p.transport(), FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: p.rewrite, BufferPool: buffers{},
		ModifyResponse: func(r *http.Response) error {
			v.Taken = true // the rest of the body may come while the answer goes
			p.clean(v.Header(), r)
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, why error) { err = p.refusal(v, body, why) }}
	proxy.ServeHTTP(v, &in)
	return err
}

// buffers has those for bodies. They are larger than net/http's: each piece is flushed, and has a time limit.
type buffers struct{}

var free = sync.Pool{New: func() any { return new([256 << 10]byte) }}

// Get implements httputil.BufferPool.
func (buffers) Get() []byte { return free.Get().(*[256 << 10]byte)[:] }

// Put implements httputil.BufferPool.
func (buffers) Put(b []byte) { free.Put((*[256 << 10]byte)(b)) }

// transport returns one for a single request: no connection is shared between callers.
func (p *Passage) transport() http.RoundTripper {
	return silent{&http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		c, err := p.Dial(ctx)
		if err != nil {
			return nil, err
		}
		return &paced{Conn: c, limit: p.Wait, asked: make(chan struct{})}, nil
	}, DisableKeepAlives: true, DisableCompression: true, ResponseHeaderTimeout: p.Wait,
		MaxResponseHeaderBytes: maxHeader}}
}

// silent hides from a transport that somebody waits for what comes before an answer (1xx), which is not passed on, and
// counts to the size of the header.
type silent struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (s silent) RoundTrip(r *http.Request) (*http.Response, error) {
	return s.Transport.RoundTrip(r.WithContext(bare{r.Context()}))
}

// bare is a context without values.
type bare struct{ context.Context }

// Value implements context.Context.
func (bare) Value(any) any { return nil }

// paced is a connection that must take each piece in some time. What comes before the request waits for it: a transport
// would log that.
type paced struct {
	net.Conn
	limit time.Duration
	once  sync.Once
	asked chan struct{}
}

// Read implements net.Conn.
func (c *paced) Read(p []byte) (int, error) {
	<-c.asked
	return c.Conn.Read(p)
}

// Write implements net.Conn.
func (c *paced) Write(p []byte) (int, error) {
	defer c.begin()
	if err := c.SetWriteDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Close implements net.Conn.
func (c *paced) Close() error {
	defer c.begin()
	return c.Conn.Close()
}

func (c *paced) begin() { c.once.Do(func() { close(c.asked) }) }

// refusal returns why there is no answer. The server's own words are not in it.
func (p *Passage) refusal(v *front.Visit, b *body, why error) error {
	port := strconv.Itoa(p.Port)
	timeout, _ := why.(interface{ Timeout() bool })
	switch {
	case front.AsRefusal(why) != nil:
		return why
	case b.failed.Load() != nil:
		return v.BodyFailed(*b.failed.Load(), 0)
	case v.R.Context().Err() != nil:
		return why
	case timeout != nil && timeout.Timeout():
		return front.Refuse("sandbox", "port_silent", "port", "the server at port "+port+" takes too long",
			"look at what it does, or at its output")
	}
	return front.Refuse("sandbox", "port_broken", "port", "the server at port "+port+" does not answer as HTTP says",
		"look at its output; only HTTP is passed in here")
}

// rewrite makes the request that the server sees.
func (p *Passage) rewrite(r *httputil.ProxyRequest) {
	to := "localhost:" + strconv.Itoa(p.Port)
	u := r.Out.URL
	u.Scheme, u.Host, u.User, u.RawQuery = "http", to, nil, r.In.URL.RawQuery
	u.RawPath = strings.TrimPrefix(r.In.URL.EscapedPath(), p.Prefix)
	u.Path = strings.TrimPrefix(r.In.URL.Path, p.Prefix)
	r.Out.Host, r.Out.Trailer = to, nil
	conceal(r.Out.Header)
	if p.Own != nil {
		p.Own.enter(r)
		return
	}
	r.Out.Header.Set("X-Forwarded-Prefix", p.Prefix)
}
