package config

import (
	"net/url"
	"strings"

	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
)

// HTTP are the settings of who may call by HTTP, and of how much.
type HTTP struct {
	Hosts, Origins []string
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
	return nil
}
