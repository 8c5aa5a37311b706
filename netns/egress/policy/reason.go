package policy

import (
	"net/netip"
	"strconv"

	"brig/internal/words"
)

// Reason is one snake_case word for why an attempt was refused or ended. "" means that nothing is wrong.
type Reason string

// The closed list of reasons.
const (
	ReasonNone           Reason = ""
	ReasonNoRule         Reason = "no_rule"         // no allow rule has this destination
	ReasonPort           Reason = "port"            // the destination is allowed, at other ports
	ReasonDenied         Reason = "denied"          // a deny rule or blocked_hosts has it
	ReasonBlocked        Reason = "blocked_address" // private, loopback, link-local and the like
	ReasonMetadata       Reason = "metadata"        // a cloud's metadata service
	ReasonOwnAddress     Reason = "own_address"     // an address of the host itself
	ReasonNameInvalid    Reason = "name_invalid"    // not a strict host name
	ReasonSNIMismatch    Reason = "sni_mismatch"    // the ClientHello names another server
	ReasonNoSNI          Reason = "no_sni"          // the ClientHello names no server
	ReasonNotTLS         Reason = "not_tls"         // tls mode, and the first bytes are no ClientHello
	ReasonHostMismatch   Reason = "host_mismatch"   // the request's Host is another server
	ReasonNotHTTP        Reason = "not_http"        // http mode, and no HTTP/1 request that is safe to forward
	ReasonMethod         Reason = "method"          // the method is not allowed
	ReasonPath           Reason = "path"            // the path is not allowed
	ReasonResolveFailed  Reason = "resolve_failed"  // the resolver returned an error
	ReasonNoAddress      Reason = "no_address"      // the name has no address
	ReasonConnectFailed  Reason = "connect_failed"  // the server refused or is out of reach
	ReasonConnectTimeout Reason = "connect_timeout" // connect_timeout has passed
	ReasonIdleTimeout    Reason = "idle_timeout"    // idle_timeout has passed without a byte
	ReasonSlow           Reason = "slow"            // the head or the ClientHello was not complete in time
	ReasonMaxConnections Reason = "max_connections" // as many connections as max_connections are open
	ReasonRate           Reason = "rate"            // connections_per_second or names_per_second is used up
	ReasonMaxBytes       Reason = "max_bytes"       // max_connection_bytes or max_bytes is used up
	ReasonProtocol       Reason = "protocol"        // the peer broke its protocol
	ReasonUDP            Reason = "udp"             // UDP, and no udp rule allows it
	ReasonPoolExhausted  Reason = "pool_exhausted"  // more names than synthetic addresses
	ReasonClosed         Reason = "closed"          // the jail has ended
	ReasonResources      Reason = "resources"       // no descriptor or memory is left, or the jail has used its share
	ReasonType           Reason = "type"            // a DNS query of a type that is never answered
)

// Fix refers to the rule that would allow what was refused with r, or returns "" if there is none. The arguments are
// those of Rule.
func (r Reason) Fix(host string, port uint16, at string) words.Text {
	if rule := r.Rule(host, port, at); rule != "" {
		return words.Add("allow", rule)
	}
	return ""
}

// Rule returns the rule that would allow what was refused with r ("example.com:8443"), or "" if there is none. Host is
// the destination of the payload, a name or an address. Port 0 omits the ports. At is the address, ADDR:PORT, to which
// the name led, or "": a blocked address needs a rule in addition to the name's.
func (r Reason) Rule(host string, port uint16, at string) string {
	scheme := ""
	switch r {
	case ReasonNoRule, ReasonPort, ReasonUDP:
	case ReasonBlocked, ReasonOwnAddress:
		if to, err := netip.ParseAddrPort(at); err == nil {
			return r.addressRule(to.Addr().Unmap(), to.Port())
		}
	case ReasonNotTLS, ReasonNotHTTP, ReasonNoSNI, ReasonSNIMismatch, ReasonHostMismatch:
		scheme = "tcp://" // which checks no name
	default:
		return ""
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return r.addressRule(a.Unmap(), port)
	}
	name, ok := NormalizeName(host)
	if !ok || port == PortDNS || r == ReasonUDP || r == ReasonBlocked || r == ReasonOwnAddress {
		return "" // a rule for a name opens no UDP and no blocked address; port 53 is the jail's resolver
	}
	if port == 0 {
		return scheme + name
	}
	return scheme + name + ":" + strconv.Itoa(int(port))
}

// addressRule is Rule for an address: an address rule must name its port, and no rule allows metadata.
func (r Reason) addressRule(a netip.Addr, port uint16) string {
	if c, _ := classOf(a); port == 0 || port == PortDNS || c.never || Metadata(a) {
		return ""
	}
	if r == ReasonUDP {
		return "udp://" + netip.AddrPortFrom(a, port).String()
	}
	return netip.AddrPortFrom(a, port).String()
}
