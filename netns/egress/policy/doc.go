// Package policy decides what a jail may reach. It is pure: it opens no socket, reads no file and asks no name server,
// so that the same policy and the same question have the same answer on every machine.
//
// ParsePolicy reads a Policy from JSON and ParseRule one Rule from a flag. Check returns every problem. Compile returns
// the Matcher, which answers the questions of the relay (package egress). Effective, Table, NFT and Kubernetes print
// what a policy allows. The decisions:
//
//   - Nothing is allowed without a rule; Deny and BlockedHosts win; AllowedPorts narrows every rule.
//   - Names are compared in the form of NormalizeName. "*.example.com" is every name below example.com, not itself.
//   - Only a rule for a name allows a name, and only a rule for addresses allows an address that the payload used
//     directly.
//   - A rule for a name alone never allows an address in a range of Blocked, since the owner of a name may point it
//     anywhere. A rule for addresses opens such a range if its prefix lies within it, and then an allowed name may lead
//     there as well. No rule opens Metadata addresses, loopback, or an address that embeds another.
//   - In tls mode the ClientHello's name must be the one that was looked up, in http mode each request's Host. In tcp
//     mode the sites of a shared server cannot be distinguished. So 443 means tls and 80 http by default.
//   - If several rules match, they add up.
package policy
