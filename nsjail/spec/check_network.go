package spec

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"brig/internal/words"
)

// network checks the egress policy and the published ports.
func (c *checker) network(s *Spec) {
	if s.Egress != nil {
		if s.Net != NetEgress {
			c.add("net", "there is a policy for egress, which this mode does not have", "write egress, or leave the policy out")
		}
		for _, p := range s.Egress.Check() {
			c.add(strings.TrimSuffix("egress."+p.Path, "."), p.Reason, p.Fix)
		}
	}
	if len(s.Publish) > 0 && (s.Net == NetHost || s.Net == NetNone) {
		c.add("publish[0]", fmt.Sprintf("the network mode is %s, where nothing can be published", s.Net),
			"use loopback or egress")
		return
	}
	if len(s.Publish) > maxPublished {
		c.add("publish", fmt.Sprintf("%d ports are more than %d", len(s.Publish), maxPublished), "publish fewer")
		return
	}
	seen := map[netip.AddrPort]bool{}
	for i, text := range s.Publish {
		p, err := ParsePublished(text)
		switch {
		case err != nil:
			c.add(Index("publish", i), err.Error(), "write [IP:]HOST:JAIL, as in 8080:80")
		case seen[p.Host]:
			c.add(Index("publish", i), p.Host.String()+" is published twice", "remove one")
		}
		seen[p.Host] = true
	}
}

const maxPublished = 16

// Published is a port of the jail to which the host can connect: an entry of Spec.Publish.
type Published struct {
	Host netip.AddrPort // where the keeper listens
	Port uint16         // on the jail's 127.0.0.1
}

// ParsePublished parses an entry of Spec.Publish, "[IP:]HOST:JAIL[/tcp]". An IPv6 address is written in brackets.
func ParsePublished(text string) (p Published, err error) {
	ports, protocol, ok := strings.Cut(text, "/")
	if ok && protocol != "tcp" {
		return p, fmt.Errorf("%s: only tcp can be published", words.Quote(text))
	}
	at := strings.LastIndexByte(ports, ':')
	if at < 0 {
		return p, fmt.Errorf("%s names one port", words.Quote(text))
	}
	if p.Port, err = port(ports[at+1:]); err != nil {
		return p, err
	}
	host := ports[:at]
	address := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if at := strings.LastIndexByte(host, ':'); at >= 0 {
		ip := strings.TrimSuffix(strings.TrimPrefix(host[:at], "["), "]")
		if address, err = netip.ParseAddr(ip); err != nil || address.Zone() != "" {
			return p, fmt.Errorf("%s is no IP address", words.Quote(host[:at]))
		}
		host = host[at+1:]
	}
	n, err := port(host)
	p.Host = netip.AddrPortFrom(address, n)
	return p, err
}

func port(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || strings.TrimLeft(text, "0123456789") != "" {
		return 0, fmt.Errorf("%s is not a port: 1 to 65535", words.Quote(text))
	}
	return uint16(n), nil
}
