// Package egress lets a jail reach exactly the hosts that a policy names, and records every attempt. It needs neither
// privileges nor namespaces: the caller that starts the jail passes it sockets.
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
// What a policy means is written in package policy; the parsers of what the payload and the world send are in package
// wire.
//
// What it does not do: it reads nothing inside TLS, so a host that is allowed is allowed for every purpose, and it does
// not hide from that host whose machine asks.
package egress
