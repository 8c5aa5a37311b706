// Package egress lets a jail reach exactly the hosts that a policy names, and records every attempt. It needs neither
// privileges nor namespaces: the caller that starts the jail passes sockets to it.
//
// In the jail's network namespace every address is local ("AnyIP": ip-route(8), type local). The keeper, a process in
// the host's network, holds sockets that were opened inside that namespace: a TCP listener for each port of the policy,
// UDP and TCP port 53, one UDP socket for each port of a udp rule, and raw taps that detect attempts at other ports.
// There is no device, no second network stack and no proxy variable. The payload calls connect(2), and its destination
// is the accepted connection's local address.
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
// Package policy defines what a policy allows. Package wire parses the messages of the payload and servers. A Server is
// the relay of one jail: conn is a connection out of it, web one in http mode, datagramRelay a UDP socket, Published a
// port into it. dialer resolves, vets and dials; journal writes the log and its Summary; limits are the bounds that all
// connections share.
//
// The relay parses nothing inside TLS, so an allowed host is allowed for every purpose. The relay does not hide the
// machine's address from that host.
package egress
