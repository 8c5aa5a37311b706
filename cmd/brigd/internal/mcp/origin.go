package mcp

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"brig/nsjail"
)

// ours accepts requests to this server that do not come from a foreign web page. For an allowed page it sets the CORS
// headers. It returns the status and the refusal otherwise.
func (s *Server) ours(h http.Header, r *http.Request) (int, *nsjail.Refusal) {
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok && !s.known(r.Host, addr) {
		return http.StatusMisdirectedRequest,
			refuse("request", "host_not_allowed", "Host", "this server is not called by that name",
				"Call it by localhost or by its address, or start it with --host and this name.")
	}
	no := refuse("auth", "origin_not_allowed", "Origin", "a browser has sent this for a page of another origin",
		"Call it from a program, or start it with --origin and this page's origin.")
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "none" && site != "same-origin" {
			return http.StatusForbidden, no
		}
		return 0, nil
	}
	if len(origins) > 1 || !slices.Contains(s.o.Origins, origins[0]) {
		return http.StatusForbidden, no
	}
	h.Set("Access-Control-Allow-Origin", origins[0])
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers",
		"Authorization, Content-Type, Last-Event-ID, Mcp-Protocol-Version, "+sessionHeader)
	h.Set("Access-Control-Expose-Headers", sessionHeader)
	h.Add("Vary", "Origin")
	return 0, nil
}

// known reports whether a TCP client may call the server by this name, with or without a port.
func (s *Server) known(host string, local *net.TCPAddr) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || slices.Contains(s.o.Hosts, host) {
		return true
	}
	named, err := netip.ParseAddr(host)
	reached, ok := netip.AddrFromSlice(local.IP)
	return err == nil && ok && named.Unmap() == reached.Unmap()
}
