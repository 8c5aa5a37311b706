package api

import (
	"net/http"
	"slices"
	"strings"

	"brig/brigd/internal/front"
	"brig/brigd/internal/links"
	"brig/brigd/internal/portal"
)

// open answers with a link to a port.
func (h *portHandlers) open(c *call) (any, error) {
	n, err := port(c.name)
	if err != nil {
		return nil, err
	}
	link, err := h.link(c.Caller, c.id, n)
	if link == nil && err == nil {
		scheme := "http"
		if c.R.TLS != nil {
			scheme = "https"
		}
		link = &front.Link{URL: scheme + "://" + c.R.Host + strings.TrimSuffix(c.R.URL.Path, "/") + "/"}
	}
	return link, err
}

// atOrigin answers a request to a name of the site's: it goes to the server at the port that the name is of, or
// nowhere.
func (h *portHandlers) atOrigin(c *call) error {
	c.Route = "port"
	id, n, ok := h.links.Port(c.R.Host)
	if !ok {
		return no("request", "host_names_no_port", "Host", "no port of a sandbox has this name",
			"ask for a link by POST /v1/sandboxes/ID/ports/8000")
	}
	origin := h.links.Origin(c.R)
	_, visitor := h.links.Visitor(c.R)
	if to, cookie, asked := h.links.Exchange(c.R); asked {
		return opened(c, to, cookie, visitor)
	}
	if err := c.identify(visitor); err != nil {
		return err
	}
	shown := len(c.R.Header.Values("Authorization")) > 0 && !visitor // no page can make a browser send brigd's
	if !shown && links.Foreign(c.R, origin) {
		return no("auth", "other_page", "Origin", "a browser has sent this for a page of another origin",
			"open the port in a tab of its own, or call it by a program with Authorization: Bearer TOKEN")
	}
	leave, err := c.Place()
	if err != nil {
		return err
	}
	defer leave()
	if !strings.HasPrefix(c.R.URL.Path, "/") {
		return no("request", "bad_port", "path", "the path does not begin with a slash", "call it by its path")
	}
	p := h.passage(c, id, n)
	p.Own = &portal.Own{Origin: origin, Authorization: visitor && !h.forBrigd(c.R.Header.Values("Authorization"))}
	return p.Serve(c.Visit)
}

// forBrigd reports whether one of some headers Authorization has a credential of brigd's.
func (h *portHandlers) forBrigd(values []string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return h.credential == nil || h.credential(v) })
}

// opened leads to an address without the key of a link, with the cookie that the key has become. A visitor may have
// opened the link before.
func opened(c *call, to string, cookie *http.Cookie, visitor bool) error {
	switch {
	case c.R.Method != http.MethodGet:
		c.Header().Set("Allow", http.MethodGet)
		return no("request", "method_not_allowed", "method", "a link is opened by GET", "open it in a browser")
	case cookie != nil:
		http.SetCookie(c, cookie)
	case !visitor:
		return no("auth", "link_over", "url", "the link has been opened, or its time is over",
			"ask for another by POST /v1/sandboxes/ID/ports/8000: each opens once")
	}
	c.Header().Set("Location", to)
	c.Header().Set("Referrer-Policy", "no-referrer")
	c.WriteHeader(http.StatusSeeOther)
	return nil
}
