package policy

import (
	"net/netip"
	"strings"
	"testing"

	"brig/internal/test/must"
)

func matchAddr(t *testing.T, s string) netip.Addr {
	t.Helper()
	return must.Get(netip.ParseAddr(s))(t)
}

func TestReasons(t *testing.T) {
	seen := map[Reason]bool{}
	for _, r := range Reasons() {
		if seen[r] || r == "" || strings.Trim(string(r), "abcdefghijklmnopqrstuvwxyz_") != "" {
			t.Errorf("reason %q is there twice or is no word", r)
		}
		seen[r] = true
	}
}

func TestHint(t *testing.T) {
	for _, c := range []struct {
		reason Reason
		host   string
		port   uint16
		want   string
		at     string
	}{
		{ReasonNoRule, "example.com", 443, "example.com:443", ""},
		{ReasonNoRule, "Example.COM.", 8443, "example.com:8443", ""},
		{ReasonPort, "example.com", 22, "example.com:22", ""},
		{ReasonNoRule, "example.com", 0, "example.com", ""},
		{ReasonNotTLS, "example.com", 443, "tcp://example.com:443", ""},
		{ReasonNotHTTP, "example.com", 80, "tcp://example.com:80", ""},
		{ReasonNoRule, "1.1.1.1", 443, "1.1.1.1:443", ""},
		{ReasonNoRule, "2606::1", 443, "[2606::1]:443", ""},
		{ReasonNoRule, "::ffff:1.1.1.1", 443, "1.1.1.1:443", ""},
		{ReasonBlocked, "10.1.2.3", 5432, "10.1.2.3:5432", ""},
		{ReasonUDP, "1.1.1.1", 123, "udp://1.1.1.1:123", ""},
		{ReasonBlocked, "db.example", 443, "10.1.2.3:443", "10.1.2.3:443"},
		{ReasonBlocked, "db.example", 443, "[fd00::1]:443", "[fd00::1]:443"},
		{ReasonOwnAddress, "db.example", 22, "93.184.217.2:22", "93.184.217.2:22"},
		{ReasonSNIMismatch, "example.com", 443, "tcp://example.com:443", ""},
		{ReasonHostMismatch, "example.com", 80, "tcp://example.com:80", ""},
		// what no flag allows
		{ReasonBlocked, "db.example", 443, "", "127.0.0.1:443"}, {ReasonMetadata, "db.example", 80, "", "169.254.169.254:80"},
		{ReasonOwnAddress, "db.example", 22, "", "127.0.0.1:22"}, {ReasonOwnAddress, "db.example", 22, "", ""},
		{ReasonDenied, "example.com", 443, "", ""}, {ReasonMetadata, "169.254.169.254", 80, "", ""}, {ReasonBlocked, "169.254.169.254", 80, "", ""},
		{ReasonBlocked, "127.0.0.1", 80, "", ""}, {ReasonBlocked, "::1", 80, "", ""}, {ReasonBlocked, "198.18.0.1", 80, "", ""}, {ReasonBlocked, "64:ff9b::1.1.1.1", 80, "", ""},
		{ReasonBlocked, "example.com", 443, "", ""}, {ReasonNoRule, "1.1.1.1", 0, "", ""}, {ReasonUDP, "example.com", 123, "", ""}, {ReasonUDP, "1.1.1.1", 53, "", ""},
		{ReasonNoRule, "example.com", 53, "", ""}, {ReasonNoRule, "a..b", 443, "", ""}, {ReasonNoRule, "a b; rm -rf", 443, "", ""}, {ReasonNoRule, "", 443, "", ""},
		{ReasonConnectFailed, "example.com", 443, "", ""}, {ReasonNone, "example.com", 443, "", ""}, {ReasonNoRule, "fe80::1%eth0", 80, "", ""},
	} {
		got := c.reason.Rule(c.host, c.port, c.at)
		if got != c.want {
			t.Errorf("%s.Rule(%q, %d) = %q, want %q", c.reason, c.host, c.port, got, c.want)
		}
		if got != "" { // it must be one that is taken
			r, err := ParseRule(got)
			if problems := (&Policy{Allow: []Rule{r}}).Check(); err != nil || problems != nil {
				t.Errorf("%q is no rule: %v %v", got, err, problems)
			}
		}
	}
}

// Reasons lists every reason but the empty one, in the order of the documentation.
func Reasons() []Reason {
	return []Reason{ReasonNoRule, ReasonPort, ReasonDenied, ReasonBlocked, ReasonMetadata, ReasonOwnAddress,
		ReasonNameInvalid, ReasonSNIMismatch, ReasonNoSNI, ReasonNotTLS, ReasonHostMismatch, ReasonNotHTTP,
		ReasonMethod, ReasonPath, ReasonResolveFailed, ReasonNoAddress, ReasonConnectFailed, ReasonConnectTimeout,
		ReasonIdleTimeout, ReasonSlow, ReasonMaxConnections, ReasonRate, ReasonMaxBytes, ReasonProtocol, ReasonUDP,
		ReasonPoolExhausted,
		ReasonClosed, ReasonResources, ReasonType}
}
