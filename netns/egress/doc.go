// Package egress lets a jail reach exactly the hosts that a policy names, and writes down every attempt. It needs the
// standard library only, and neither privileges nor namespaces: whoever starts the jail hands it sockets.
//
// The jail's network namespace treats every address of the world as its own ("AnyIP": ip-route(8), type local). The
// keeper, our process in the host's network, holds sockets that were opened inside that namespace: a TCP listener for
// each port of the policy, UDP and TCP port 53, one UDP socket for each port of a udp rule, and raw taps that only watch
// for attempts at other ports. There is no device, no second network stack and no proxy variable; the payload calls
// connect(2), and what it wanted to reach is the accepted connection's local address.
//
//	payload                keeper (host's network)                             world
//	-------                -----------------------                             -----
//	query, port 53   -->   Matcher.Knows? Pool.Addr: 198.18.x.y, else NXDOMAIN   (never asked)
//	connect(2)       -->   accept; the local address is the destination
//	                       Pool.Name: Matcher.Host     else: Matcher.Addr
//	first bytes      -->   tls: SNI, http: Host, = name; Matcher.Request
//	                       resolve the name, Matcher.Vet each address       -->  connect(2)
//	                 <-->  relay, counted and bounded                      <-->
//	                       one line of JSON; refused: RST, or 403 in http mode
//
// A Policy is data: ParsePolicy reads it, Check judges it, Compile makes the Matcher. Its decisions:
//
//   - Nothing is allowed that no rule names; Deny and BlockedHosts win; AllowedPorts narrows every rule.
//   - A name is matched in the one form of NormalizeName. "*.example.com" is every name below example.com, not itself.
//   - Only a name's rule opens a name, only an address's rule an address that the payload wrote out.
//   - A name's rule alone never leads to what Blocked knows: the owner of a name may point it anywhere. A rule for
//     addresses opens such a range if its prefix lies within it, and then a name that is allowed may lead there as
//     well. No rule opens Metadata addresses, loopback, or an address that hides another.
//   - In tls mode the ClientHello's name must be the one that was looked up, in http mode each request's Host; at a shared
//     server, tcp mode cannot tell one site from another. So 443 means tls and 80 http unless a rule says otherwise.
//   - Where several rules fit, they add up.
//
// What it does not do: it reads nothing inside TLS, so a host that is allowed is allowed for every purpose, and it does
// not hide from that host whose machine asks.
package egress
