package boxcmd

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"brig/brigd/internal/portal"
	"brig/brigd/internal/verbs"
)

// port listens on this machine, and passes requests on to a port of a box, until the context ends.
func (c *command) port(ctx context.Context, args []string) error {
	path, err := at(args[0])
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(args[1], 10, 16)
	if err != nil || n == 0 {
		return fmt.Errorf("%.70q is no port; write a number from 1 to 65535", args[1])
	}
	where, err := netip.ParseAddrPort(c.listen)
	if err != nil || !where.Addr().IsLoopback() {
		return fmt.Errorf("--listen: %.70q is no address of this machine alone; write 127.0.0.1:PORT", c.listen)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", where.String())
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	p := &passage{c: c, prefix: fmt.Sprintf("%s/ports/%d", path, n), listens: l.Addr().(*net.TCPAddr).AddrPort()}
	sum := sha256.Sum256([]byte(args[0]))
	p.host = fmt.Sprintf("%d-%x.localhost:%d", n, sum[:6], p.listens.Port())
	s := &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return ctx }}
	context.AfterFunc(ctx, func() { _ = s.Close() }) // its listener is closed already, or now
	if err := verbs.Print(c.out, "http://%s/\nhttp://%s/\n", p.host, p.listens); err != nil {
		return errors.Join(err, s.Close())
	}
	if err := s.Serve(l); ctx.Err() == nil {
		return err
	}
	return nil
}

// passage passes requests on. Two names lead to it. One is of this port of this box alone, so that a page there has an
// origin and a site of its own in a browser: it shares no cookie with other servers of this machine. By the address,
// which others share, a page has an opaque origin, as at brigd itself.
type passage struct {
	c       *command
	prefix  string // of paths at brigd
	host    string
	listens netip.AddrPort
}

// ServeHTTP implements http.Handler.
func (p *passage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	own := strings.EqualFold(r.Host, p.host)
	if !own && r.Host != p.listens.String() {
		http.Error(w, "brigd: this server is not called by that name", http.StatusMisdirectedRequest)
		return
	}
	if foreign(r) {
		http.Error(w, "brigd: a browser has sent this for another site's page", http.StatusForbidden)
		return
	}
	proxy := &httputil.ReverseProxy{Transport: &p.c.Client, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: p.rewrite,
		ModifyResponse: func(a *http.Response) error {
			p.local(a.Header, own)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, why error) {
			http.Error(w, "brigd: "+why.Error(), http.StatusBadGateway)
		}}
	proxy.ServeHTTP(w, r)
}

// foreign reports whether a browser has sent a request for a page of another site.
func foreign(r *http.Request) bool {
	if origins := r.Header.Values("Origin"); len(origins) > 0 {
		return len(origins) > 1 || !strings.EqualFold(origins[0], "http://"+r.Host)
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "none" && site != "same-origin"
}

// rewrite makes the request that brigd gets. What a client has for this origin, or tells about itself, is left out.
func (p *passage) rewrite(r *httputil.ProxyRequest) {
	u, in := r.Out.URL, r.In.URL
	u.RawQuery = in.RawQuery
	if !strings.HasPrefix(in.EscapedPath(), p.prefix+"/") { // a server that has read X-Forwarded-Prefix links there
		u.Path, u.RawPath = p.prefix+in.Path, p.prefix+in.EscapedPath()
	}
	for name := range r.Out.Header {
		if slices.Contains([]string{"Origin", "Authorization", "Cookie", "X-Agent-Id"}, name) ||
			strings.HasPrefix(name, "Sec-Fetch-") || strings.HasPrefix(name, "Brig-") {
			delete(r.Out.Header, name)
		}
	}
}

// local changes the headers of an answer from those for brigd's origin to those for this one.
func (p *passage) local(h http.Header, own bool) {
	if to, err := url.Parse(h.Get("Location")); err == nil {
		if rest, ok := strings.CutPrefix(to.EscapedPath(), p.prefix); ok {
			to.Path, to.RawPath = "", ""
			h.Set("Location", rest+to.String())
		}
	}
	if policies := h.Values("Content-Security-Policy"); own {
		h.Del("Content-Security-Policy")
		for _, policy := range policies {
			if policy != portal.Opaque {
				h.Add("Content-Security-Policy", policy)
			}
		}
	}
}
