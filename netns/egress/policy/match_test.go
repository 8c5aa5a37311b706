package policy

import (
	"net/netip"
	"sync"
	"testing"

	"brig/internal/test/must"
)

// matcher compiles a policy's text.
func matcher(t *testing.T, text string) *Matcher {
	t.Helper()
	p := must.Get(ParsePolicy([]byte(text)))(t)
	return must.Get(p.Compile())(t)
}

const names1 = `{"allow": ["example.com", "*.pypi.org:443", "tcp://db.example:5432", "ssh.example:22", "any.example:*", "plain.example:8000-8010",
    "https.example:443", "tcp://https.example:443", "*.shared.example", "secret.shared.example:22", "late.example:9000"],
  "deny": ["evil.pypi.org", "*.evil.shared.example", "any.example:25", "late.example:1-65535"],
  "blocked_hosts": ["tracker.shared.example", "*.ads.shared.example"]}`

func TestHost(t *testing.T) {
	m := matcher(t, names1)
	for _, c := range []struct {
		name   string
		port   uint16
		mode   Mode
		reason Reason
	}{
		{"example.com", 443, ModeTLS, ""},
		{"example.com", 80, ModeHTTP, ""},
		{"EXAMPLE.com.", 443, ModeTLS, ""},
		{"example.com", 8443, "", ReasonPort},
		{"example.com", 22, "", ReasonPort},
		{"www.example.com", 443, "", ReasonNoRule},
		{"com", 443, "", ReasonNoRule},
		{"xample.com", 443, "", ReasonNoRule},
		{"example.com.evil.com", 443, "", ReasonNoRule},
		{"notexample.com", 443, "", ReasonNoRule},
		// a wildcard is everything below, at any depth, and not its own suffix
		{"files.pypi.org", 443, ModeTLS, ""},
		{"a.b.c.pypi.org", 443, ModeTLS, ""},
		{"pypi.org", 443, "", ReasonNoRule},
		{"xpypi.org", 443, "", ReasonNoRule},
		{"files.pypi.org", 80, "", ReasonPort},
		{"files.pypi.org.evil.com", 443, "", ReasonNoRule},
		// deny wins, also over what is more exact
		{"evil.pypi.org", 443, "", ReasonDenied},
		{"evil.pypi.org", 80, "", ReasonDenied},
		{"x.evil.pypi.org", 443, ModeTLS, ""},
		{"evil.shared.example", 443, ModeTLS, ""},
		{"x.evil.shared.example", 443, "", ReasonDenied},
		{"tracker.shared.example", 443, "", ReasonDenied},
		{"ads.shared.example", 443, ModeTLS, ""},
		{"x.ads.shared.example", 80, "", ReasonDenied},
		{"any.example", 25, "", ReasonDenied},
		{"late.example", 9000, "", ReasonDenied},
		// modes by port, and rules add up
		{"any.example", 80, ModeHTTP, ""},
		{"any.example", 443, ModeTLS, ""},
		{"any.example", 8443, ModeTCP, ""},
		{"any.example", 65535, ModeTCP, ""},
		{"any.example", 1, ModeTCP, ""},
		{"any.example", 0, "", ReasonPort},
		{"any.example", 53, "", ReasonPort},
		{"db.example", 5432, ModeTCP, ""},
		{"ssh.example", 22, ModeTCP, ""},
		{"plain.example", 8000, ModeTCP, ""},
		{"plain.example", 8010, ModeTCP, ""},
		{"plain.example", 8011, "", ReasonPort},
		{"plain.example", 7999, "", ReasonPort},
		{"https.example", 443, ModeTCP, ""},
		{"secret.shared.example", 443, ModeTLS, ""},
		{"secret.shared.example", 22, ModeTCP, ""},
		// what is no name
		{"", 443, "", ReasonNameInvalid},
		{"example.com\x00", 443, "", ReasonNameInvalid},
		{"*.pypi.org", 443, "", ReasonNameInvalid},
		{"10.1.2.3", 443, "", ReasonNameInvalid},
		{"b\u00fccher.example", 443, "", ReasonNameInvalid},
	} {
		d := m.Host(c.name, c.port)
		if d.Allow != (c.reason == "") || d.Mode != c.mode || d.Reason != c.reason {
			t.Errorf("Host(%q, %d) = %+v; want mode %q, reason %q", c.name, c.port, d, c.mode, c.reason)
		}
		if decided := d.Allow || d.Reason == ReasonDenied; decided != (d.Rule != nil) || decided != (d.Text != "") {
			t.Errorf("Host(%q, %d): rule %v, text %q", c.name, c.port, d.Rule, d.Text)
		}
	}
}

func TestKnows(t *testing.T) {
	m := matcher(t, names1)
	for name, want := range map[string]bool{
		"example.com": true, "EXAMPLE.COM.": true, "www.example.com": false, "pypi.org": false, "a.pypi.org": true, "evil.pypi.org": false,
		"any.example": true, "late.example": false, "tracker.shared.example": false, "x.evil.shared.example": false, "": false, "a..pypi.org": false,
		"a\x00.pypi.org": false, "10.0.0.1": false, "_x.pypi.org": true, "xn--a.pypi.org": false,
	} {
		if got := m.Knows(name); got != want {
			t.Errorf("Knows(%q) = %v", name, got)
		}
	}
	if (&Matcher{}).Knows("example.com") || (&Matcher{}).Host("example.com", 443).Allow {
		t.Error("an empty matcher knows a name")
	}
}

func TestAllowedPorts(t *testing.T) {
	m := matcher(t, `{"allow": ["example.com:*", "shop.example", "mail.example:25", "10.0.0.0/8:*", "udp://192.0.2.1:123"], "allowed_ports": [443, "5000-6000"]}`)
	for _, c := range []struct {
		name string
		port uint16
		want bool
	}{{"example.com", 443, true}, {"example.com", 5000, true}, {"example.com", 80, false}, {"shop.example", 443, true}, {"shop.example", 80, false},
		{"shop.example", 5000, false}, {"mail.example", 25, false}} {
		if d := m.Host(c.name, c.port); d.Allow != c.want {
			t.Errorf("Host(%s, %d) = %+v", c.name, c.port, d)
		}
	}
	if m.Knows("mail.example") || !m.Knows("shop.example") {
		t.Error("a name without a port left is known, or one with is not")
	}
	if ip := netip.MustParseAddr("10.0.0.1"); m.Addr(ip, 22, false).Allow || !m.Addr(ip, 5432, false).Allow {
		t.Error("an address rule is not narrowed")
	}
	if m.Addr(netip.MustParseAddr("192.0.2.1"), 123, true).Allow {
		t.Error("a udp rule is not narrowed")
	}
}

const addresses = `{"allow": ["10.1.2.0/24:5432", "203.0.114.7:22,80", "0.0.0.0/0:443", "[::/0]:443", "udp://192.0.2.1:123", "udp://17.0.0.0/8:123",
    "192.168.0.0/16:8000-8010", "[fd12::/16]:80", "100.0.0.0/9:80", "8.0.0.0/5:8080", "[2001:db8::/32]:80", "172.16.0.0/12:1", "example.com"],
  "deny": ["10.1.2.66", "44.0.0.0/8:443", "203.0.114.7:80"], "blocked_hosts": ["45.0.0.0/8", "2606::1"]}`

func TestAddr(t *testing.T) {
	m := matcher(t, addresses)
	for _, c := range []struct {
		addr   string
		port   uint16
		udp    bool
		reason Reason
	}{
		{"10.1.2.3", 5432, false, ""},
		{"10.1.2.3", 5433, false, ReasonPort},
		{"10.1.2.3", 443, false, ReasonPort}, // 0.0.0.0/0:443 does not open it
		{"10.1.3.3", 443, false, ReasonBlocked},
		{"10.1.3.3", 5432, false, ReasonBlocked},
		{"10.1.2.66", 5432, false, ReasonDenied},
		{"::ffff:10.1.2.3", 5432, false, ""}, // what connect(2) does with it
		{"::ffff:10.1.3.3", 443, false, ReasonBlocked},
		{"203.0.114.7", 22, false, ""},
		{"203.0.114.7", 80, false, ReasonDenied},
		{"203.0.114.7", 443, false, ""},
		{"203.0.114.7", 23, false, ReasonPort},
		{"1.1.1.1", 443, false, ""},
		{"1.1.1.1", 444, false, ReasonPort},
		{"1.1.1.1", 443, true, ReasonUDP},
		{"44.1.1.1", 443, false, ReasonDenied},
		{"44.1.1.1", 80, false, ReasonPort},
		{"45.1.1.1", 443, false, ReasonDenied},
		{"45.1.1.1", 443, true, ReasonDenied},
		{"2606::1", 443, false, ReasonDenied},
		{"2606::2", 443, false, ""},
		{"192.0.2.1", 123, true, ""},
		{"192.0.2.1", 124, true, ReasonPort},
		{"192.0.2.1", 123, false, ReasonBlocked},
		{"192.0.2.2", 123, true, ReasonBlocked},
		{"17.1.1.1", 123, true, ""},
		{"17.1.1.1", 123, false, ReasonPort},
		{"18.1.1.1", 123, true, ReasonUDP},
		{"192.168.3.4", 8005, false, ""},
		{"192.168.3.4", 443, false, ReasonPort},
		{"fd12::5", 80, false, ""},
		{"fd13::5", 80, false, ReasonBlocked},
		{"fd13::5", 443, false, ReasonBlocked},   // nor does ::/0
		{"100.64.0.1", 80, false, ReasonBlocked}, // /9 is wider than the range, not within
		{"100.0.0.1", 80, false, ""},
		{"10.0.0.1", 8080, false, ReasonBlocked}, // 8.0.0.0/5 holds 10.0.0.0/8
		{"9.0.0.1", 8080, false, ""},
		{"2001:db8::1", 80, false, ""},
		{"172.20.0.1", 1, false, ""},
		{"127.0.0.1", 443, false, ReasonBlocked},
		{"0.0.0.0", 443, false, ReasonBlocked},
		{"::1", 443, false, ReasonBlocked},
		{"198.18.0.1", 443, false, ReasonBlocked},
		{"64:ff9b::a01:203", 5432, false, ReasonBlocked},
		{"64:ff9b::808:808", 443, false, ReasonBlocked},
		{"2002:a01:203::1", 443, false, ReasonBlocked},
		{"2001:0:a01:203::1", 443, false, ReasonBlocked},
		{"2a00::5efe:a01:203", 443, false, ReasonBlocked},
		{"fe80::1%lo", 443, false, ReasonBlocked},
		{"2606::2%lo", 443, false, ReasonBlocked},
		{"169.254.169.254", 80, false, ReasonMetadata},
		{"::ffff:169.254.169.254", 80, false, ReasonMetadata},
		{"168.63.129.16", 443, false, ReasonMetadata},
		{"169.254.169.254", 80, true, ReasonMetadata},
		{"fd00:ec2::254", 443, false, ReasonMetadata},
	} {
		d := m.Addr(netip.MustParseAddr(c.addr), c.port, c.udp)
		if d.Allow != (c.reason == "") || d.Reason != c.reason {
			t.Errorf("Addr(%s, %d, %v) = %+v; want %q", c.addr, c.port, c.udp, d, c.reason)
		}
		if want := map[bool]Mode{true: ModeUDP, false: ModeTCP}[c.udp]; d.Allow && (d.Mode != want || d.Rule == nil || d.Text == "") {
			t.Errorf("Addr(%s, %d, %v) = %+v", c.addr, c.port, c.udp, d)
		}
	}
	if d := (&Matcher{}).Addr(netip.Addr{}, 443, false); d.Allow {
		t.Error("no address is allowed")
	}
}

func TestVet(t *testing.T) {
	m := matcher(t, addresses)
	for addr, want := range map[string]Reason{
		"1.1.1.1": "", "::ffff:1.1.1.1": "", "2606::2": "", "44.1.1.1": ReasonDenied, "45.1.1.1": ReasonDenied, "2606::1": ReasonDenied,
		"10.1.2.3": ReasonBlocked, "::ffff:10.1.2.3": ReasonBlocked, "192.168.3.4": ReasonBlocked, "fd12::5": ReasonBlocked, "192.0.2.1": ReasonBlocked,
		"127.0.0.1": ReasonBlocked, "::1": ReasonBlocked, "0.0.0.0": ReasonBlocked, "198.18.0.1": ReasonBlocked, "fe80::1": ReasonBlocked,
		"2606::2%eth0": ReasonBlocked, "64:ff9b::101:101": ReasonBlocked, "2002:101:101::1": ReasonBlocked, "2001:0:101:101::1": ReasonBlocked,
		"169.254.169.254": ReasonMetadata, "168.63.129.16": ReasonMetadata, "64:ff9b::a9fe:a9fe": ReasonMetadata,
	} {
		if got := m.Vet(netip.MustParseAddr(addr), 443); got != want {
			t.Errorf("Vet(%s) = %q, want %q", addr, got, want)
		}
	}
	if got := m.Vet(netip.MustParseAddr("44.1.1.1"), 80); got != "" {
		t.Errorf("a deny rule for port 443 counts at 80: %q", got)
	}
	// a rule for addresses opens a blocked range to names as well, at its ports; metadata and loopback stay closed
	m = matcher(t, `{"allow": ["a.test", "10.1.2.0/24:443", "169.254.0.0/16:443", "0.0.0.0/0:443", "udp://10.9.9.9:443"]}`)
	for addr, want := range map[string]Reason{
		"10.1.2.3": "", "::ffff:10.1.2.3": "", "10.1.3.3": ReasonBlocked, "10.9.9.9": ReasonBlocked, "169.254.169.254": ReasonMetadata,
		"127.0.0.1": ReasonBlocked, "198.18.0.1": ReasonBlocked,
	} {
		if got := m.Vet(netip.MustParseAddr(addr), 443); got != want {
			t.Errorf("Vet(%s) = %q, want %q", addr, got, want)
		}
	}
	if got := m.Vet(netip.MustParseAddr("10.1.2.3"), 80); got != ReasonBlocked {
		t.Errorf("a rule for port 443 counts at 80: %q", got)
	}
	if got := m.Vet(netip.Addr{}, 443); got != ReasonBlocked {
		t.Errorf("Vet of no address = %q", got)
	}
}

// A matcher is shared by all connections.
func TestMatcherConcurrent(t *testing.T) {
	m := matcher(t, names1)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 500 {
				if !m.Host("a.pypi.org", 443).Allow || m.Knows("evil.pypi.org") || m.Addr(netip.MustParseAddr("1.1.1.1"), 443, false).Allow {
					t.Error("a decision changed")
					return
				}
			}
		})
	}
	all.Wait()
}
