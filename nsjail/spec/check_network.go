package spec

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"brig/internal/words"
	egress "brig/netns/egress/policy"
)

func checkNet(mode Net) (c problems) {
	switch mode {
	case "", NetNone, NetLoopback, NetEgress, NetHost:
	default:
		c.add("net", words.Quote(string(mode))+" is not a network mode", words.DidYouMean(string(mode),
			[]string{"none", "loopback", "egress", "host"}))
	}
	return c
}

// checkEgress checks the egress policy, and that the mode has one.
func checkEgress(policy *egress.Policy, mode Net) (c problems) {
	if policy == nil {
		return nil
	}
	if mode != NetEgress {
		c.add("net", "there is a policy for egress, which this mode does not have", "write egress, or leave the policy out")
	}
	for _, p := range policy.Check() {
		c.add(strings.TrimSuffix("egress."+p.Path, "."), p.Reason, p.Fix)
	}
	return c
}

const maxPublished = 16

// checkPublish checks the published ports.
func checkPublish(ports []string, mode Net) (c problems) {
	if len(ports) > 0 && (mode == NetHost || mode == NetNone) {
		c.add("publish[0]", fmt.Sprintf("the network mode is %s, where nothing can be published", mode),
			"use loopback or egress")
		return c
	}
	if len(ports) > maxPublished {
		c.add("publish", fmt.Sprintf("%d ports are more than %d", len(ports), maxPublished), "publish fewer")
		return c
	}
	seen := map[netip.AddrPort]bool{}
	for i, text := range ports {
		p, err := ParsePublished(text)
		switch {
		case err != nil:
			c.add(Index("publish", i), err.Error(), "write [IP:]HOST:JAIL, as in 8080:80")
		case seen[p.Host]:
			c.add(Index("publish", i), p.Host.String()+" is published twice", "remove one")
		}
		seen[p.Host] = true
	}
	return c
}

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
