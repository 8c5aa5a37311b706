package config

import (
	"net/url"
	"strings"

	"brig/brigd/internal/links"
	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
)

// HTTP are the settings of who may call by HTTP, and of how much.
type HTTP struct {
	Hosts, Origins []string
	PortHost       string
	MaxConnections int
	MaxRequests    int
	MaxBody        nsjail.Bytes
	MaxFile        nsjail.Bytes
}

func defaultHTTP() HTTP {
	return HTTP{MaxConnections: 1024, MaxRequests: 1024, MaxBody: 32 << 20, MaxFile: 256 << 20}
}

func (h *HTTP) flags() []cli.Flag {
	return []cli.Flag{
		{Name: "host", Path: "http.hosts", Args: "NAME", To: &h.Hosts,
			Help: "a name by which TCP clients may call this server, besides localhost and its address; may be repeated"},
		{Name: "origin", Path: "http.origins", Args: "URL", To: &h.Origins,
			Help: "a web page's origin, as in https://example.org, whose scripts may call; may be repeated"},
		{Name: "port-host", Path: "http.port_host", Args: "NAME", To: &h.PortHost,
			Help: "give each port of a sandbox an origin of its own below this name, such as localhost, for browsers; or " +
				"https://NAME, if they come through a proxy"},
		{Name: "max-connections", Path: "http.max_connections", Args: "N", To: &h.MaxConnections, Min: 1, Max: maxCount,
			Help: "connections open at once, by TCP and again at Unix sockets"},
		{Name: "max-requests", Path: "http.max_requests", Args: "N", To: &h.MaxRequests, Min: 1, Max: maxCount,
			Help: "HTTP requests at once; one caller may have half of what the others leave"},
		{Name: "max-body", Path: "http.max_body", Args: "SIZE", To: &h.MaxBody, Min: 1024, Max: 1 << 30,
			Help: "the largest JSON request"},
		{Name: "max-file", Path: "http.max_file", Args: "SIZE", To: &h.MaxFile, Min: 1, Max: maxBytes,
			Help: "the largest file that is put or read"},
	}
}

// check normalizes Hosts and Origins to the form that browsers send: a host in lower case, an origin without a
// path.
func (h *HTTP) check() error {
	for i, host := range h.Hosts {
		if strings.ContainsAny(host, "/:@[]* ") {
			return wrong(true, "http.hosts",
				": %s is no host name; write it without scheme and port, as in build.example.org", words.Quote(host))
		}
		h.Hosts[i] = strings.ToLower(host)
	}
	for i, o := range h.Origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil ||
			u.Scheme+"://"+u.Host != o {
			return wrong(true, "http.origins",
				": %s is no web page's origin; write scheme, host and port alone, as in https://example.org", words.Quote(o))
		}
		h.Origins[i] = strings.ToLower(o)
	}
	return h.checkPorts()
}

// Site returns where ports of sandboxes have origins of their own, or nil.
func (h *HTTP) Site() (*links.Site, error) {
	if h.PortHost == "" {
		return nil, nil
	}
	s, err := links.Parse(h.PortHost)
	if err != nil {
		return nil, wrong(true, "http.port_host", ": %s: %w", words.Quote(h.PortHost), err)
	}
	return s, nil
}

// checkPorts refuses to let pages of sandboxes call brigd, and names of brigd's that are for ports.
func (h *HTTP) checkPorts() error {
	s, err := h.Site()
	if s == nil || err != nil {
		return err
	}
	const below = ": %s is below --port-host %s, where the names are those of ports; choose another"
	for _, host := range h.Hosts {
		if s.Below(host) {
			return wrong(true, "http.hosts", below, words.Quote(host), h.PortHost)
		}
	}
	for _, o := range h.Origins {
		if _, host, _ := strings.Cut(o, "://"); s.Below(host) {
			return wrong(true, "http.origins", below, words.Quote(o), h.PortHost)
		}
	}
	return nil
}
