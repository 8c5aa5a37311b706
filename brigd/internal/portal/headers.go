package portal

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// conceal removes from a request what is for brigd, and what tells of the client and its way here.
func conceal(h http.Header) {
	for name := range h {
		plain := http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-")) // CGI confuses them
		switch plain {
		case "Authorization", "Proxy-Authorization", "Cookie", "Forwarded", "X-Real-Ip", "X-Agent-Id", "Via", "Expect",
			"X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip":
			delete(h, name)
		}
		if strings.HasPrefix(plain, "Brig-") || strings.HasPrefix(plain, "X-Forwarded-") {
			delete(h, name)
		}
	}
}

// acting are the headers of an answer that act on the origin that it comes from, or that are brigd's own there.
var acting = []string{"Set-Cookie", "Set-Cookie2", "Alt-Svc", "Service-Worker-Allowed", "Clear-Site-Data",
	"Strict-Transport-Security", "Public-Key-Pins", "Expect-Ct", "Nel", "Report-To", "Reporting-Endpoints", "Refresh",
	"Www-Authenticate", "Origin-Agent-Cluster", "Cache-Control", "X-Content-Type-Options", "X-Request-Id", "X-Run-Id",
	"Retry-After"}

// Opaque is the policy of a page at brigd's own origin: it has another origin, which no other page has.
const Opaque = "sandbox allow-forms allow-scripts"

// clean removes from an answer what would act on brigd's origin, or on others than the server's own. has are the
// headers that are set already.
func (p *Passage) clean(has http.Header, r *http.Response) {
	if p.Own != nil {
		p.Own.leave(has, r)
		p.ending(r, p.Own.tame)
		return
	}
	tame(r.Header)
	tame(r.Trailer)
	r.Header.Add("Content-Security-Policy", Opaque)
	if to := r.Header.Values("Location"); len(to) > 0 {
		r.Header.Del("Location")
		if at := p.location(r.Request.URL, to[0]); at != "" && len(to) == 1 {
			r.Header.Set("Location", at)
		}
	}
	p.ending(r, tame)
}

func tame(h http.Header) {
	for _, name := range acting {
		h.Del(name)
	}
	for name := range h {
		if strings.HasPrefix(name, "Access-Control-") || strings.HasPrefix(name, "Brig-") {
			delete(h, name)
		}
	}
}

// location returns where an answer leads, which is always to the same server: a client would take its credentials along
// to another path of brigd's. An address of another server is left out, since one of many names of this host may be in
// it.
func (p *Passage) location(from *url.URL, to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Opaque != "" || u.User != nil || u.Scheme != "" && u.Scheme != "http" {
		return ""
	}
	if u.Host != "" && !inside(u, from) {
		return ""
	}
	u.Scheme, u.Host = "", ""
	path := strings.NewReplacer("%2e", ".", "%2E", ".").Replace(u.EscapedPath()) // browsers take them for dots
	if u.Path, err = url.PathUnescape(path); err != nil {
		return ""
	}
	u.RawPath = path
	in := (&url.URL{Path: from.Path, RawPath: from.RawPath, RawQuery: from.RawQuery}).ResolveReference(u)
	rest := "/" + strings.TrimLeft(in.EscapedPath(), "/")
	in.Path, in.RawPath = "", ""
	return p.Prefix + rest + in.String()
}

// inside reports whether an address is one of the server that a request was passed in to, as the server calls itself.
func inside(u, from *url.URL) bool {
	host := u.Hostname()
	return (host == "localhost" || net.ParseIP(host).IsLoopback()) && (u.Host == host || u.Port() == from.Port())
}

// ending makes tame act on what comes behind a body, too.
func (*Passage) ending(r *http.Response, tame func(http.Header)) {
	if r.StatusCode != http.StatusSwitchingProtocols {
		r.Body = &ending{r.Body, r, tame}
	}
}

// ending removes from what comes behind a body what clean removes from what is before it.
type ending struct {
	io.ReadCloser
	of   *http.Response
	tame func(http.Header)
}

// Read implements io.Reader.
func (e *ending) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	if err != nil {
		e.tame(e.of.Trailer)
	}
	return n, err
}
