package portal

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"brig/brigd/internal/links"
)

// Own is an origin of the server's own, at which it is called.
type Own struct {
	// Origin is as browsers write it.
	Origin string
	// Authorization is whether that header of the request is for the server, and not for brigd.
	Authorization bool
}

// enter completes the request that the server sees, as a proxy does: called at localhost, with the name that the client
// has called in X-Forwarded-Host. conceal has removed what is for brigd, and the cookies.
func (o *Own) enter(r *httputil.ProxyRequest) {
	if cookies := r.In.Header["Cookie"]; len(cookies) > 0 {
		r.Out.Header["Cookie"] = cookies
		links.Cut(r.Out.Header)
	}
	if o.Authorization {
		r.Out.Header["Authorization"] = r.In.Header["Authorization"]
	}
	inside := "http://" + r.Out.Host
	if r.Out.Header.Get("Origin") == o.Origin {
		r.Out.Header.Set("Origin", inside)
	}
	if rest, ok := strings.CutPrefix(r.Out.Header.Get("Referer"), o.Origin+"/"); ok {
		r.Out.Header.Set("Referer", inside+"/"+rest)
	}
	scheme, _, _ := strings.Cut(o.Origin, ":")
	r.Out.Header.Set("X-Forwarded-Host", r.In.Host)
	r.Out.Header.Set("X-Forwarded-Proto", scheme)
}

// beyond are the headers of an answer that act on more than the origin that it comes from, or for longer than it is the
// server's.
var beyond = []string{"Set-Cookie2", "Alt-Svc", "Clear-Site-Data", "Strict-Transport-Security", "Public-Key-Pins",
	"Expect-Ct", "Nel", "Report-To", "X-Request-Id"}

// leave removes from an answer what would act on other origins. has are the headers that are set already, as brigd's
// own answers have them.
func (o *Own) leave(has http.Header, r *http.Response) {
	has.Del("Cache-Control")
	has.Del("X-Content-Type-Options")
	o.tame(r.Header)
	o.tame(r.Trailer)
	r.Trailer.Del("Set-Cookie")
	if to, err := url.Parse(r.Header.Get("Location")); err == nil && to.Scheme == "http" && inside(to, r.Request.URL) {
		to.Scheme, to.Host = "", ""
		r.Header.Set("Location", o.Origin+"/"+strings.TrimLeft(to.String(), "/"))
	}
}

func (o *Own) tame(h http.Header) {
	for _, name := range beyond {
		h.Del(name)
	}
	for name := range h {
		if strings.HasPrefix(name, "Brig-") {
			delete(h, name)
		}
	}
	_, host, _ := strings.Cut(o.Origin, "://")
	links.Tame(h, host)
}
