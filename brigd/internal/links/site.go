// Package links has an origin for each port of a sandbox: a name below one of the operator's, by which browsers call
// the server there. Its pages are of another origin than brigd's interface, and than the pages of any other port.
//
// A link is a URL with a key that opens it once. The key becomes a cookie of that name alone, which stands for the
// caller who has made the link.
package links

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Site is the name below which the ports have theirs.
type Site struct {
	scheme string // as browsers see it; "" until At
	host   string // in lower case, without a port
	port   string // with its colon; "" for the scheme's own
}

var hostName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)

// maxHost leaves 64 of the 253 bytes of a name to the label of a port.
const maxHost = 189

// Parse reads NAME, or https://NAME[:PORT] if browsers come through a proxy.
func Parse(text string) (*Site, error) {
	s := &Site{host: strings.ToLower(text)}
	if strings.Contains(text, "://") {
		u, err := url.Parse(s.host)
		if err != nil || u.User != nil || u.Scheme+"://"+u.Host != s.host {
			return nil, errors.New("it is more than a scheme, a name and a port; write https://NAME or https://NAME:PORT")
		}
		s.scheme, s.host, s.port = u.Scheme, u.Hostname(), strings.TrimPrefix(u.Host, u.Hostname())
	}
	_, notIP := netip.ParseAddr(s.host)
	switch {
	case s.scheme != "" && s.scheme != "https" && (s.scheme != "http" || !s.local()):
		return nil, errors.New("a key sent there can be read on the way; write https://NAME")
	case notIP == nil || !hostName.MatchString(s.host) || len(s.host) > maxHost:
		return nil, errors.New("it is no name that others can stand below; write one as localhost or ports.example.org")
	}
	return s, nil
}

// local reports whether the names below are those of this machine for browsers (RFC 6761).
func (s *Site) local() bool { return s.host == "localhost" || strings.HasSuffix(s.host, ".localhost") }

// Complete reports whether the site was given as a URL.
func (s *Site) Complete() bool { return s.scheme != "" }

// At makes the site that of a TCP port of this process.
func (s *Site) At(port int, tls bool) {
	s.scheme, s.port = "http", ":"+strconv.Itoa(port)
	if tls {
		s.scheme = "https"
	}
	if tls && port == 443 || !tls && port == 80 {
		s.port = ""
	}
}

// Below reports whether a request's Host, with or without a port, is below the site's name.
func (s *Site) Below(host string) bool {
	return strings.HasSuffix(strings.TrimRight(bare(host), "."), "."+s.host)
}

// bare returns a Host without its port, in lower case.
func bare(host string) string {
	host, _, _ = strings.Cut(host, ":")
	return strings.ToLower(host)
}

// label is the first part of a port's name: its number, and the sandbox's id with a hyphen for its underscore, which no
// host name has. No id has a hyphen.
var label = regexp.MustCompile(`^([1-9][0-9]{0,4})-([a-z]+)-([a-z0-9]+)$`)

// named is the form of an id that a label can have.
var named = regexp.MustCompile(`^[a-z]+_[a-z0-9]+$`)

// Port returns the port that a request's Host names.
func (s *Site) Port(host string) (sandbox string, port int, ok bool) {
	first, below := strings.CutSuffix(bare(host), "."+s.host)
	m := label.FindStringSubmatch(first)
	if !below || m == nil || len(first) > 63 {
		return "", 0, false
	}
	n, err := strconv.ParseUint(m[1], 10, 16)
	return m[2] + "_" + m[3], int(n), err == nil
}

// origin returns that of a port, as browsers write it, or "" if the sandbox's id makes no name.
func (s *Site) origin(sandbox string, port int) string {
	first := strconv.Itoa(port) + "-" + strings.Replace(sandbox, "_", "-", 1)
	if !named.MatchString(sandbox) || len(first) > 63 {
		return ""
	}
	return s.scheme + "://" + first + "." + s.host + s.port
}
