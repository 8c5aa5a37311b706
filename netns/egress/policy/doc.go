// Package policy decides what a jail may reach. It is pure: it opens no socket, reads no file and asks no name server,
// so that the same policy and the same question have the same answer on every machine.
//
// ParsePolicy reads a Policy from JSON and ParseRule one Rule from a flag. Check returns every problem. Compile makes
// the Matcher, which answers the questions of the relay (package egress). Effective, Table, NFT and Kubernetes print
// what a policy allows. The decisions:
//
//   - Nothing is allowed without a rule; Deny and BlockedHosts win; AllowedPorts narrows every rule.
//   - A name is compared in the one form of NormalizeName. "*.example.com" is every name below example.com, not itself.
//   - Only a name's rule opens a name, only an address's rule an address that the payload wrote out.
//   - A name's rule alone never leads to a range of Blocked: the owner of a name may point it anywhere. A rule for
//     addresses opens such a range if its prefix lies within it, and then a name that is allowed may lead there as
//     well. No rule opens Metadata addresses, loopback, or an address that hides another.
//   - In tls mode the ClientHello's name must be the one that was looked up, in http mode each request's Host; at a
//     shared server, tcp mode cannot tell one site from another. So 443 means tls and 80 http by default.
//   - Where several rules fit, they add up.
package policy
