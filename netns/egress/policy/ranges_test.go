package policy

import (
	"net/netip"
	"testing"

	"brig/internal/test/must"
)

func TestBlocked(t *testing.T) {
	for addr, want := range map[string]string{
		// public
		"1.1.1.1": "", "8.8.8.8": "", "9.255.255.255": "", "11.0.0.0": "", "100.63.255.255": "", "100.128.0.0": "", "126.255.255.255": "",
		"128.0.0.0": "", "169.253.255.255": "", "169.255.0.0": "", "172.15.255.255": "", "172.32.0.0": "", "192.0.1.0": "", "192.0.3.0": "",
		"192.167.255.255": "", "192.169.0.0": "", "198.17.255.255": "", "198.20.0.0": "", "198.51.99.255": "", "198.51.101.0": "",
		"203.0.112.255": "", "203.0.114.0": "", "223.255.255.255": "", "168.63.129.15": "", "192.88.98.255": "", "192.88.100.0": "",
		"2606:4700:4700::1111": "", "2a00:1450:4001::1": "", "2001:200::1": "", "2001:4860:4860::8888": "", "2003::1": "", "3ffe::1": "", "3fff:1000::1": "",
		// each class: first and last
		"0.0.0.0": "unspecified", "0.255.255.255": "unspecified", "10.0.0.0": "private", "10.255.255.255": "private",
		"100.64.0.0": "cgnat", "100.127.255.255": "cgnat", "127.0.0.1": "loopback", "127.255.255.255": "loopback",
		"169.254.0.0": "link-local", "169.254.255.255": "link-local", "172.16.0.0": "private", "172.31.255.255": "private",
		"192.0.0.0": "reserved", "192.0.0.255": "reserved", "192.0.2.0": "test", "192.0.2.255": "test", "192.88.99.1": "6to4",
		"192.168.0.0": "private", "192.168.255.255": "private", "198.18.0.0": "benchmark", "198.19.255.255": "benchmark",
		"198.51.100.0": "test", "198.51.100.255": "test", "203.0.113.0": "test", "203.0.113.255": "test",
		"224.0.0.1": "multicast", "239.255.255.255": "multicast", "240.0.0.0": "reserved", "255.255.255.254": "reserved", "255.255.255.255": "broadcast",
		"::": "unspecified", "::1": "loopback", "::2": "compatible", "::8.8.8.8": "compatible", "::127.0.0.1": "compatible",
		"::ffff:8.8.8.8": "mapped", "::ffff:10.0.0.1": "mapped", "::ffff:0:8.8.8.8": "mapped",
		"64:ff9b::8.8.8.8": "nat64", "64:ff9b::10.0.0.1": "nat64", "64:ff9b:1::1": "nat64", "64:ff9b:1:ffff::1": "nat64", "64:ff9b:2::1": "reserved",
		"100::1": "discard", "2001::1": "teredo", "2001:0:ffff::1": "teredo", "2001:2::1": "benchmark", "2001:10::1": "reserved",
		"2001:1ff:ffff::1": "reserved", "2001:db8::1": "documentation", "2001:db8:ffff::1": "documentation",
		"2002::1": "6to4", "2002:a00:1::1": "6to4", "2002:ffff::1": "6to4", "3fff::1": "documentation", "3fff:fff::1": "documentation",
		"fc00::1": "private", "fdff::1": "private", "fe80::1": "link-local", "febf::1": "link-local", "fe80::1%eth0": "link-local", "2a00::1%eth0": "link-local",
		"fec0::1": "private", "feff::1": "private", "ff02::1": "multicast", "ffff::1": "multicast",
		"1fff::1": "reserved", "4000::1": "reserved", "5f00::1": "reserved", "8000::1": "reserved", "e000::1": "reserved", "fe00::1": "reserved",
		"2a00:1:2:3:0:5efe:a00:1": "isatap", "2a00:1:2:3:200:5efe:808:808": "isatap",
		"169.254.169.254": "metadata", "168.63.129.16": "metadata", "fd00:ec2::254": "metadata",
	} {
		if got := Blocked(netip.MustParseAddr(addr)); got != want {
			t.Errorf("Blocked(%s) = %q, want %q", addr, got, want)
		}
	}
	if got := Blocked(netip.Addr{}); got != "invalid" {
		t.Errorf("Blocked of no address = %q", got)
	}
}

func TestMetadata(t *testing.T) {
	for addr, want := range map[string]bool{
		"169.254.169.254": true, "169.254.170.2": true, "169.254.170.23": true, "100.100.100.200": true, "168.63.129.16": true, "192.0.0.192": true,
		"fd00:ec2::254": true, "fd20:ce::254": true, "fe80::a9fe:a9fe": true, "fe80::a9fe:a9fe%eth0": true,
		"::ffff:169.254.169.254": true, "::169.254.169.254": true, "::ffff:0:169.254.169.254": true, "64:ff9b::169.254.169.254": true,
		"64:ff9b:1::a9fe:a9fe": true, "2002:a9fe:a9fe::1": true, "2001:0:a9fe:a9fe::1": true, "2001:0:1:2:3:4:5601:5601": true,
		"2a00:1:2:3:0:5efe:a9fe:a9fe": true, "64:ff9b::168.63.129.16": true,
		"169.254.169.1": false, "100.100.100.201": false, "168.63.129.17": false, "fd00:ec2::1": false, "8.8.8.8": false,
		"64:ff9b::8.8.8.8": false, "2002:808:808::a9fe:a9fe": false, "2a00::a9fe:a9fe": false,
	} {
		if got := Metadata(netip.MustParseAddr(addr)); got != want {
			t.Errorf("Metadata(%s) = %v, want %v", addr, got, want)
		}
	}
}

// Every metadata address is refused to a name and to every rule, also to 0.0.0.0/0 and a rule for itself.
func TestMetadataNever(t *testing.T) {
	p := &Policy{Allow: []Rule{{CIDR: "0.0.0.0/0", Ports: []Ports{anyPort}}, {CIDR: "::/0", Ports: []Ports{anyPort}}, {CIDR: "169.254.0.0/16", Ports: []Ports{anyPort}},
		{CIDR: "100.64.0.0/10", Ports: []Ports{anyPort}}, {CIDR: "fd00::/8", Ports: []Ports{anyPort}}, {CIDR: "168.63.129.0/24", Ports: []Ports{anyPort}}}}
	m := must.Get(p.Compile())(t)
	for _, a := range metadata() {
		forms := []netip.Addr{a}
		if a.Is4() {
			forms = append(forms, netip.AddrFrom16(a.As16()))
		}
		for _, form := range forms {
			if d := m.Addr(form, 80, false); d.Allow || d.Reason != ReasonMetadata {
				t.Errorf("Addr(%s) = %+v", form, d)
			}
			if got := m.Vet(form, 80); got != ReasonMetadata {
				t.Errorf("Vet(%s) = %q", form, got)
			}
		}
		own := &Policy{Allow: []Rule{{CIDR: a.String(), Ports: []Ports{{80, 80}}}}}
		if problems := own.Check(); len(problems) != 1 || problems[0].Path != "allow[0].cidr" {
			t.Errorf("a rule for %s: %v", a, problems)
		}
	}
	if d := m.Addr(netip.MustParseAddr("169.254.1.1"), 80, false); !d.Allow {
		t.Errorf("169.254.0.0/16 is written out and not open: %+v", d)
	}
}
