package egress

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
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
type vetter func(netip.AddrPort) policy.Reason

// failure is the reason why there is no connection.
type failure struct {
	reason  policy.Reason
	address string // the last one that was dialled or refused
}

// Error lets a failure pass through a dial.
func (f *failure) Error() string { return string(f.reason) }

// dialer connects to an allowed destination: it resolves, vets and dials in the host's network. Tests replace its
// functions.
type dialer struct {
	m       *policy.Matcher
	timeout time.Duration
	lookup  func(ctx context.Context, name string) ([]netip.Addr, error)
	dial    func(ctx context.Context, network string, to netip.AddrPort, vet vetter) (net.Conn, error)
	place   func(a netip.Addr) policy.Reason
}

func newDialer(p *policy.Policy, m *policy.Matcher) *dialer {
	r := resolver(p.DNSServers())
	lookup := func(ctx context.Context, name string) ([]netip.Addr, error) {
		return r.LookupNetIP(ctx, "ip", name+".") // the final dot turns off search domains
	}
	return &dialer{m: m, timeout: cmp.Or(time.Duration(p.ConnectTimeout), policy.DefaultConnectTimeout),
		lookup: lookup, dial: dialVetted, place: place}
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

// dialVetted dials, and vets the address that the socket will connect to.
func dialVetted(ctx context.Context, network string, to netip.AddrPort, vet vetter) (net.Conn, error) {
	d := net.Dialer{KeepAlive: -1} // idle_timeout ends a dead connection
	d.Control = func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if r := vet(plainPort(at)); r != policy.ReasonNone {
			return &failure{reason: r}
		}
		return nil
	}
	return d.DialContext(ctx, network, to.String())
}

// candidates returns the vetted addresses of a name. It is called once for each connection, so that only vetted
// addresses are dialled.
func (d *dialer) candidates(ctx context.Context, name string, port uint16) ([]netip.AddrPort, *failure) {
	found, err := d.lookup(ctx, name)
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound, err == nil && len(found) == 0:
		return nil, &failure{reason: policy.ReasonNoAddress}
	case exhausted(err):
		return nil, &failure{reason: policy.ReasonResources}
	case err != nil:
		return nil, &failure{reason: policy.ReasonResolveFailed}
	}
	var list []netip.AddrPort
	var refused *failure
	for _, a := range found {
		to := plainPort(netip.AddrPortFrom(a, port))
		if r := d.m.Vet(to.Addr(), to.Port()); r != policy.ReasonNone { // the dial checks the rest
			if refused == nil {
				refused = &failure{r, to.String()}
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
func (d *dialer) vetName(to netip.AddrPort) policy.Reason {
	if r := d.m.Vet(to.Addr(), to.Port()); r != policy.ReasonNone {
		return r
	}
	return d.placed(to, false)
}

// vetAddr returns why an allowed address must not be dialled, or ReasonNone. An address of the host needs a rule for
// exactly that address; its loopback is never reachable.
func (d *dialer) vetAddr(to netip.AddrPort, udp bool) policy.Reason {
	a := to.Addr()
	switch {
	case a.IsLoopback() || a.IsUnspecified():
		return policy.ReasonOwnAddress
	case policy.Metadata(a):
		return policy.ReasonMetadata
	}
	return d.placed(to, udp)
}

// placed refuses addresses of the host that no rule names, and addresses that do not belong to a single host.
func (d *dialer) placed(to netip.AddrPort, udp bool) policy.Reason {
	r := d.place(to.Addr())
	if r == policy.ReasonOwnAddress && d.m.WritesOut(to, udp) {
		return policy.ReasonNone
	}
	return r
}

// connect dials the addresses one after the other; each has its share of the time that is left. network is tcp or udp.
func (d *dialer) connect(ctx context.Context, network string, list []netip.AddrPort, vet vetter) (
	_ net.Conn, to netip.AddrPort, failed *failure) {
	for i, to := range list {
		end, _ := ctx.Deadline()
		left := time.Until(end)
		if others := len(list) - i - 1; others > 0 {
			left = min(left/time.Duration(others+1), maxTry)
		}
		try, cancel := context.WithTimeout(ctx, left)
		c, err := d.dial(try, network+family(to), to, vet)
		cancel()
		if err == nil {
			return c, to, nil
		}
		failed = &failure{whyNot(err), to.String()}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, to, failed
}

// whyNot returns the reason for an error of a dial.
func whyNot(err error) policy.Reason {
	var refused *failure
	switch {
	case errors.As(err, &refused):
		return refused.reason
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.Is(err, syscall.ETIMEDOUT):
		return policy.ReasonConnectTimeout
	case exhausted(err):
		return policy.ReasonResources
	}
	return policy.ReasonConnectFailed
}

func family(to netip.AddrPort) string {
	if to.Addr().Is4() {
		return "4"
	}
	return "6"
}

// plainPort returns the address without a zone, and an IPv4-mapped one as IPv4: neither may affect which rule matches.
func plainPort(to netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(to.Addr().Unmap().WithZone(""), to.Port())
}
