package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"brig/netns/egress/policy"
)

const (
	maxTry   = 3 * time.Second // for one address if there is another
	maxTries = 8               // addresses of one name
)

// vetter returns why an address must not be dialled, or ReasonNone.
type vetter func(netip.AddrPort) Reason

// dialer connects to an allowed destination: it resolves, vets and dials in the host's network.
type dialer struct {
	policy  *Policy
	m       *policy.Matcher
	timeout time.Duration
	lookup  func(ctx context.Context, name string) ([]netip.Addr, error)
	dial    func(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error) // nil: package net
	own     func() ([]netip.Addr, error)                                                   // nil: the host's routing
}

func newDialer(c *Config, m *policy.Matcher) *dialer {
	d := &dialer{policy: c.Policy, m: m, timeout: time.Duration(c.Policy.ConnectTimeout),
		lookup: c.Lookup, dial: c.Dial, own: c.Own}
	if d.timeout <= 0 {
		d.timeout = policy.DefaultConnectTimeout
	}
	if d.lookup == nil {
		r := resolver(c.Policy.DNSServers())
		d.lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return r.LookupNetIP(ctx, "ip", name+".") // the final dot turns off search domains
		}
	}
	return d
}

// resolver returns a resolver that asks the given servers in turn, or those of the host.
func resolver(servers []netip.AddrPort) *net.Resolver {
	r := &net.Resolver{PreferGo: true}
	if len(servers) > 0 {
		var next atomic.Uint32
		r.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, servers[int(next.Add(1)-1)%len(servers)].String())
		}
	}
	return r
}

// failure is the reason why there is no connection.
type failure struct {
	verdict Verdict
	reason  Reason
	address string // the last one that was dialled or refused
}

func denied(r Reason, a netip.AddrPort) *failure {
	return &failure{verdictOf(r), r, a.String()}
}

// candidates returns the vetted addresses of a name. It is called once for each connection, so that only vetted
// addresses are dialled.
func (d *dialer) candidates(ctx context.Context, name string, port uint16) ([]netip.AddrPort, *failure) {
	found, err := d.lookup(ctx, name)
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound, err == nil && len(found) == 0:
		return nil, &failure{verdict: VerdictError, reason: policy.ReasonNoAddress}
	case exhausted(err):
		return nil, &failure{verdict: VerdictError, reason: policy.ReasonResources}
	case err != nil:
		return nil, &failure{verdict: VerdictError, reason: policy.ReasonResolveFailed}
	}
	var list []netip.AddrPort
	var refused *failure
	for _, a := range found {
		to := netip.AddrPortFrom(plainAddr(a), port)
		if r := d.m.Vet(to.Addr(), to.Port()); r != policy.ReasonNone { // the dial checks the rest
			if refused == nil {
				refused = denied(r, to)
			}
		} else if len(list) < maxTries {
			list = append(list, to)
		}
	}
	if len(list) == 0 {
		return nil, refused
	}
	return list, nil
}

// vetName returns why a name may not lead to an address.
func (d *dialer) vetName(to netip.AddrPort) Reason {
	if r := d.m.Vet(to.Addr(), to.Port()); r != policy.ReasonNone {
		return r
	}
	return d.placed(to.Addr(), d.policy.WritesOut(to, false))
}

// placed refuses addresses of the host that no rule names, and addresses that do not belong to a single host.
func (d *dialer) placed(a netip.Addr, writtenOut bool) Reason {
	switch d.where(a) {
	case ours:
		if !writtenOut {
			return policy.ReasonOwnAddress
		}
	case nowhere:
		return policy.ReasonBlocked
	case unknown:
		return policy.ReasonResources
	}
	return policy.ReasonNone
}

// vetAddr returns why an allowed address must not be dialled, or ReasonNone. An address of the host needs a rule for
// exactly that address; its loopback is never reachable.
func (d *dialer) vetAddr(to netip.AddrPort, udp bool) Reason {
	a := to.Addr()
	switch {
	case a.IsLoopback() || a.IsUnspecified():
		return policy.ReasonOwnAddress
	case policy.Metadata(a):
		return policy.ReasonMetadata
	}
	return d.placed(a, d.policy.WritesOut(to, udp))
}

// connect dials the addresses one after the other; each has its share of the time that is left. network is tcp or udp.
func (d *dialer) connect(ctx context.Context, network string, list []netip.AddrPort, vet vetter) (
	net.Conn, netip.AddrPort, *failure) {
	var last *failure
	for i, to := range list {
		if d.dial != nil { // otherwise one calls vet
			if r := vet(to); r != policy.ReasonNone {
				last = denied(r, to)
				continue
			}
		}
		end, _ := ctx.Deadline()
		left := time.Until(end)
		if others := len(list) - i - 1; others > 0 {
			left = min(left/time.Duration(others+1), maxTry)
		}
		try, cancel := context.WithTimeout(ctx, left)
		c, err := d.one(try, network+family(to), to, vet)
		cancel()
		if err == nil {
			return c, to, nil
		}
		var refused vetError
		switch {
		case errors.As(err, &refused):
			last = denied(Reason(refused), to)
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
			errors.Is(err, syscall.ETIMEDOUT):
			last = &failure{VerdictError, policy.ReasonConnectTimeout, to.String()}
		case exhausted(err):
			last = &failure{VerdictError, policy.ReasonResources, to.String()}
		default:
			last = &failure{VerdictError, policy.ReasonConnectFailed, to.String()}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, netip.AddrPort{}, last
}

func family(to netip.AddrPort) string {
	if to.Addr().Is4() {
		return "4"
	}
	return "6"
}

// vetError carries a Reason through a dial.
type vetError Reason

func (e vetError) Error() string { return string(e) }

func (d *dialer) one(ctx context.Context, network string, to netip.AddrPort, vet vetter) (net.Conn, error) {
	if d.dial != nil {
		return d.dial(ctx, network, to)
	}
	real := net.Dialer{KeepAlive: -1} // idle_timeout ends a dead connection
	real.Control = func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address) // the address that the socket will connect to
		if err != nil {
			return err
		}
		if r := vet(netip.AddrPortFrom(plainAddr(at.Addr()), at.Port())); r != policy.ReasonNone {
			return vetError(r)
		}
		return nil
	}
	return real.DialContext(ctx, network, to.String())
}

// where returns the placement of an address. An address that cannot be looked up counts as the host's.
func (d *dialer) where(a netip.Addr) placement {
	if a.IsLoopback() || a.IsUnspecified() {
		return ours
	}
	if d.own == nil {
		p, err := place(a)
		switch {
		case exhausted(err):
			return unknown
		case err != nil:
			return ours
		}
		return p
	}
	list, err := d.own()
	if err != nil || slices.ContainsFunc(list, func(own netip.Addr) bool { return plainAddr(own) == a }) {
		return ours
	}
	return elsewhere
}

// plainAddr returns the address without a zone, and an IPv4-mapped one as IPv4: neither may affect which rule matches.
func plainAddr(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }
