package policy

import (
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
)

// whole uses every field.
const whole = `{
  "allow": ["Example.com", "*.pypi.org:443", "10.1.2.0/24:5432", "udp://192.0.2.1:123", "[2001:4860:4860::8888]:853",
    {"host": "api.example.com", "ports": [443, "8000-8010"], "mode": "http", "methods": ["GET", "HEAD"], "paths": ["/v1/", "/v2"]},
    {"cidr": "203.0.114.0/24", "ports": ["*"]}],
  "deny": ["evil.example.com", {"cidr": "10.1.2.3"}, "*.ads.example:8000-9000"],
  "allowed_ports": [443, "1-1024", 5432, "8000-8010"],
  "blocked_hosts": ["Tracker.example", "*.bad.example", "198.51.100.0/24", "2001:db8::1", "[2001:db8:1::]"],
  "max_connections": 16, "connections_per_second": 5,
  "max_connection_bytes": "10m", "max_bytes": 1000000, "bandwidth": "1g",
  "connect_timeout": "3s", "idle_timeout": "1m30s", "dns": ["192.0.2.53", "[2001:db8::53]:5353"]
}`

func TestParsePolicy(t *testing.T) {
	p := must.Get(ParsePolicy([]byte(whole)))(t)
	want := &Policy{
		Allow: []Rule{
			{Host: "example.com"}, {Host: "*.pypi.org", Ports: []Ports{{443, 443}}}, {CIDR: "10.1.2.0/24", Ports: []Ports{{5432, 5432}}},
			{CIDR: "192.0.2.1", Ports: []Ports{{123, 123}}, Mode: ModeUDP}, {CIDR: "2001:4860:4860::8888", Ports: []Ports{{853, 853}}},
			{Host: "api.example.com", Ports: []Ports{{443, 443}, {8000, 8010}}, Mode: ModeHTTP, Methods: []string{"GET", "HEAD"}, Paths: []string{"/v1", "/v2"}},
			{CIDR: "203.0.114.0/24", Ports: []Ports{anyPort}},
		},
		Deny:           []Rule{{Host: "evil.example.com"}, {CIDR: "10.1.2.3"}, {Host: "*.ads.example", Ports: []Ports{{8000, 9000}}}},
		AllowedPorts:   []Ports{{443, 443}, {1, 1024}, {5432, 5432}, {8000, 8010}},
		BlockedHosts:   []string{"tracker.example", "*.bad.example", "198.51.100.0/24", "2001:db8::1", "2001:db8:1::"},
		MaxConnections: 16, ConnectionsPerSecond: 5, MaxConnectionBytes: 10 << 20, MaxBytes: 1000000, Bandwidth: 1 << 30,
		ConnectTimeout: Duration(3 * time.Second), IdleTimeout: Duration(90 * time.Second), DNS: []string{"192.0.2.53", "[2001:db8::53]:5353"},
	}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("got  %+v\nwant %+v", p, want)
	}
	again(t, p)
	if servers := p.DNSServers(); len(servers) != 2 || servers[0].String() != "192.0.2.53:53" || servers[1].String() != "[2001:db8::53]:5353" {
		t.Errorf("DNS servers are %v", servers)
	}
	var within struct{ Net *Policy }
	if err := json.Unmarshal([]byte(`{"Net": `+whole+`}`), &within); err != nil || !reflect.DeepEqual(within.Net, want) {
		t.Errorf("within a structure: %+v, %v", within.Net, err)
	}
}

// again marshals and parses, which must change nothing.
func again(t *testing.T, p *Policy) {
	t.Helper()
	data := must.Get(json.Marshal(p))(t)
	back, err := ParsePolicy(data)
	if err != nil || !reflect.DeepEqual(back, p) {
		t.Errorf("%s comes back as %+v, %v", data, back, err)
	}
}

func TestZeroPolicy(t *testing.T) {
	for _, text := range []string{`{}`, `{"allow": []}`, ` {"deny": [], "blocked_hosts": [], "dns": []} `, `{"max_bytes": 0}`} {
		p, err := ParsePolicy([]byte(text))
		if err != nil || !reflect.DeepEqual(p, &Policy{}) {
			t.Errorf("%s: %+v, %v", text, p, err)
			continue
		}
		again(t, p)
	}
	ports, all := (&Policy{}).TCPPorts()
	if udp, problem := (&Policy{}).UDPPorts(); len(ports)+len(udp) > 0 || all || problem != nil {
		t.Errorf("an empty policy needs ports %v %v %v", ports, udp, problem)
	}
}

// Each refusal has its path, and a fix.
func TestParsePolicyRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                             `line 1 column 1: the JSON ends too early`,
		`{`:                            `the JSON ends too early`,
		`{"allow": ["a.com"}`:          `line 1 column 19: allow is not JSON: `,
		"{\n\n\"allow\": x}":           `line 3 column 10: allow is not JSON`,
		`{} {}`:                        `there is data after the closing brace: remove it`,
		`{} x`:                         `there is data after the closing brace`,
		`[]`:                           `it is a list: write an object`,
		`null`:                         `it is null: write an object`,
		"{\"allow\": [\"a\xff.com\"]}": `not UTF-8`,
		`{"alow": []}`:                 `"alow" is not a key here: did you mean allow?`,
		`{"Allow": []}`:                `"Allow" is not a key here: did you mean allow?`,
		`{"allowedPorts": [1]}`:        `did you mean allowed_ports?`,
		`{"maxconnections": 1}`:        `did you mean max_connections?`,
		`{"blocked": []}`:              `did you mean blocked_hosts?`,
		`{"zzzzzzzzzzzz": 1}`:          `write one of allow, allowed_hosts, allow_outbound, redirect, deny, allowed_ports`,
		"{\"a\\nb\": 1}":               `"a\nb" is not a key here`,
		`{"allow": [], "allow": []}`:   `allow: the key is there twice`,
		`{"allow": null}`:              `allow: it is null: write an array`,
		`{"allow": "example.com"}`:     `allow: it is "example.com": write an array of rules, as ["example.com"]`,
		`{"allow": ["a.com", 5]}`:      `allow[1]: it is the number 5: write a rule`,
		`{"allow": ["a.com:99999"]}`:   `allow[0]: "99999" is no port`,
		`{"allow": [{}]}`:              `allow[0].host: the rule names nothing: set host`,
		`{"allow": [{"host": "a.com", "host": "b.com"}]}`:                                      `allow[0].host: the key is there twice`,
		`{"allow": [{"host": "a.com", "cidr": "10.0.0.0/8"}]}`:                                 `allow[0].cidr: the rule has both host and cidr`,
		`{"allow": [{"hots": "a.com"}]}`:                                                       `allow[0]: "hots" is not a key here: did you mean host?`,
		`{"allow": [{"host": 5}]}`:                                                             `allow[0].host: it is the number 5: write a string`,
		`{"allow": [{"host": "a.com", "ports": 443}]}`:                                         `allow[0].ports: it is the number 443: write an array of ports`,
		`{"allow": [{"host": "a.com", "ports": []}]}`:                                          `allow[0].ports: it is empty: leave it out`,
		`{"allow": [{"host": "a.com", "ports": [443, 0]}]}`:                                    `allow[0].ports[1]: "0" is no port`,
		`{"allow": [{"host": "a.com", "ports": [4.5]}]}`:                                       `allow[0].ports[0]: "4.5" is no port`,
		`{"allow": [{"host": "a.com", "ports": [true]}]}`:                                      `allow[0].ports[0]: it is true: write a port`,
		`{"allow": [{"host": "a.com", "mode": "htttp"}]}`:                                      `allow[0].mode: "htttp" is no mode: did you mean http?`,
		`{"allow": [{"host": "a.com", "methods": ["GET"]}]}`:                                   `allow[0].methods: methods are looked at in http mode only: add "mode": "http"`,
		`{"allow": [{"host": "a.com", "paths": ["/"]}]}`:                                       `allow[0].paths: paths are looked at in http mode only`,
		`{"allow": [{"host": "a.com", "mode": "http", "methods": []}]}`:                        `allow[0].methods: it is empty`,
		`{"allow": [{"host": "a.com", "mode": "http", "methods": ["get"]}]}`:                   `allow[0].methods[0]: "get" is no HTTP method: write it in capitals`,
		`{"allow": [{"host": "a.com", "mode": "http", "methods": ["CONNECT"]}]}`:               `allow[0].methods[0]: CONNECT is never forwarded`,
		`{"allow": [{"host": "a.com", "mode": "http", "paths": ["api"]}]}`:                     `allow[0].paths[0]: "api" does not begin with a slash`,
		`{"allow": [{"host": "a.com", "mode": "http", "paths": ["/a/../b"]}]}`:                 `allow[0].paths[0]: "/a/../b" is not clean: write /b`,
		`{"allow": [{"host": "a.com", "mode": "http", "paths": ["/a//b"]}]}`:                   `is not clean: write /a/b`,
		`{"allow": [{"host": "a.com", "mode": "http", "paths": ["/a%2fb"]}]}`:                  `has a character that a prefix cannot have`,
		`{"allow": [{"host": "a.com", "mode": "http", "paths": ["/a?b"]}]}`:                    `has a character that a prefix cannot have`,
		`{"allow": [{"host": "a.com", "mode": "http", "paths": ["/a*"]}]}`:                     `has a character that a prefix cannot have`,
		"{\"allow\": [{\"host\": \"a.com\", \"mode\": \"http\", \"paths\": [\"/a\\u0000\"]}]}": `has a character that a prefix cannot have`,
		`{"allow": ["10.1.2.0/24"]}`:                                                           `allow[0].ports: a rule for addresses must name its ports: write 10.1.2.0/24:443 or 10.1.2.0/24:*`,
		`{"allow": ["[2001:4860::/32]"]}`:                                                      `write [2001:4860::/32]:443`,
		`{"allow": [{"cidr": "10.1.2.5/24", "ports": [1]}]}`:                                   `allow[0].cidr: "10.1.2.5/24" has bits set beyond`,
		`{"allow": ["169.254.169.254:80"]}`:                                                    `allow[0].cidr: 169.254.169.254 is a metadata service`,
		`{"allow": ["[fd00:ec2::254]:80"]}`:                                                    `is a metadata service`,
		`{"allow": ["127.0.0.1:80"]}`:                                                          `allow[0].cidr: 127.0.0.1 is loopback and never leaves the jail: the jail's loopback is its own`,
		`{"allow": ["127.0.0.0/8:80"]}`:                                                        `is loopback`,
		`{"allow": ["[::1]:80"]}`:                                                              `is loopback`,
		`{"allow": ["0.0.0.0:80"]}`:                                                            `is unspecified`,
		`{"allow": ["255.255.255.255:80"]}`:                                                    `is broadcast`,
		`{"allow": ["224.0.0.0/4:80"]}`:                                                        `is multicast`,
		`{"allow": ["198.18.0.0/16:80"]}`:                                                      `is benchmark and never leaves the jail: the jail's synthetic addresses are there`,
		`{"allow": ["[64:ff9b::a00:1]:80"]}`:                                                   `is nat64 and never leaves the jail: write the IPv4 address itself`,
		`{"allow": ["[2002:a00:1::]:80"]}`:                                                     `is 6to4`,
		`{"allow": ["[2001:0:1::]:80"]}`:                                                       `is teredo`,
		`{"allow": ["[2a00::5efe:a00:1]:80"]}`:                                                 `is isatap`,
		`{"allow": ["[fe80::1]:80"]}`:                                                          `is link-local`,
		`{"allow": ["9.9.9.9:53"]}`:                                                            `allow[0].ports: port 53 is the jail's own resolver`,
		`{"allow": ["example.com:53"]}`:                                                        `allow[0].ports: port 53 is the jail's own resolver`,
		`{"allow": ["udp://9.9.9.9:53"]}`:                                                      `port 53 is the jail's own resolver`,
		`{"allow": ["udp://9.9.9.9:50-60"]}`:                                                   `allow[0].ports: UDP port 53`,
		`{"allow": ["udp://9.9.9.9:1000-1016"]}`:                                               `allow[0].ports: the udp rules name more than 16 ports`,
		`{"allow": ["udp://9.9.9.9:1000-1009", "udp://9.9.9.8:2000-2009"]}`:                    `allow[1].ports: the udp rules name more than 16 ports`,
		`{"deny": ["tls://a.com"]}`:                                                            `deny[0].mode: a deny rule has no mode`,
		`{"deny": ["a.com", "a..com"]}`:                                                        `deny[1].host: "a..com" is no host name: it has an empty label`,
		`{"allowed_ports": []}`:                                                                `allowed_ports: it is empty`,
		`{"allowed_ports": ["http"]}`:                                                          `allowed_ports[0]: "http" is no port`,
		`{"blocked_hosts": ["a.com", "http://b.com"]}`:                                         `blocked_hosts[1]: "http://b.com" is no`,
		`{"blocked_hosts": [5]}`:                                                               `blocked_hosts[0]: it is the number 5: write a name`,
		`{"max_connections": -1}`:                                                              `max_connections: "-1" is no whole number`,
		`{"max_connections": 65537}`:                                                           `max_connections: it is above 65536`,
		`{"max_connections": "5"}`:                                                             `max_connections: it is "5": write a whole number`,
		`{"max_connections": 1e3}`:                                                             `max_connections: "1e3" is no whole number`,
		`{"max_bytes": "10x"}`:                                                                 `max_bytes: "10x" is no size: write a whole number of bytes`,
		`{"max_bytes": "k"}`:                                                                   `max_bytes: "k" is no size`,
		`{"max_bytes": -5}`:                                                                    `max_bytes: "-5" is no size`,
		`{"max_bytes": "9000000000000000g"}`:                                                   `is no size`,
		`{"bandwidth": true}`:                                                                  `bandwidth: it is true: write a number of bytes`,
		`{"idle_timeout": 30}`:                                                                 `idle_timeout: it is the number 30: write a time with its unit, as "30s"`,
		`{"idle_timeout": "30"}`:                                                               `idle_timeout: "30" is no time`,
		`{"idle_timeout": "1ns"}`:                                                              `idle_timeout: 1ns is not between`,
		`{"connect_timeout": "-1s"}`:                                                           `connect_timeout: "-1s" is no time`,
		`{"dns": ["ns.example.com"]}`:                                                          `dns[0]: "ns.example.com" is no address of a DNS server`,
		`{"dns": ["0.0.0.0"]}`:                                                                 `dns[0]: "0.0.0.0" is no address`,
		`{"dns": ["192.0.2.1:0"]}`:                                                             `dns[0]: "192.0.2.1:0" is no address`,
		strings.Repeat(`{"allow":[`, 40):                                                       `it is nested deeper than 32`,
		`{"allow": [` + strings.Repeat(`"a.com",`, MaxRules) + `"a.com"]}`:                     `allow: it has more than 16384 rules`,
	} {
		p, err := ParsePolicy([]byte(text))
		if p != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.120s: %v; want %q", text, err, want)
			continue
		}
		var problem *Problem
		if !errors.As(err, &problem) || problem.Reason == "" || problem.Fix == "" {
			t.Errorf("%.120s: %#v has no reason or fix", text, problem)
		}
	}
}

// Check returns every problem of a policy that did not come from a parser.
func TestCheckGivesAll(t *testing.T) {
	p := &Policy{
		Allow:        []Rule{{Host: "a..b"}, {Host: "ok.example"}, {CIDR: "10.0.0.0/8"}, {Host: "x.example", Ports: []Ports{{0, 5}}}, {Host: "x.example", Mode: "quic"}},
		Deny:         []Rule{{Host: "x.example", Mode: ModeTLS}},
		AllowedPorts: []Ports{{9, 5}}, BlockedHosts: []string{"%"}, DNS: []string{"x"}, MaxConnections: -1, ConnectionsPerSecond: -1,
		MaxConnectionBytes: -1, MaxBytes: -1, Bandwidth: -1, ConnectTimeout: -1, IdleTimeout: -1,
	}
	var paths []string
	for _, problem := range p.Check() {
		paths = append(paths, problem.Path)
		if problem.Fix == "" || problem.Reason == "" {
			t.Errorf("%+v", problem)
		}
	}
	want := "allow[0].host allow[2].ports allow[3].ports[0] allow[4].mode deny[0].mode allowed_ports[0] blocked_hosts[0] dns[0] " +
		"max_connections connections_per_second max_connection_bytes max_bytes bandwidth connect_timeout idle_timeout"
	if got := strings.Join(paths, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if m, err := p.Compile(); m != nil || err == nil {
		t.Error("it compiles")
	}
}

func TestPortsToListenAt(t *testing.T) {
	for _, c := range []struct {
		allow, narrow string
		want          int
		first, last   uint16
		all           bool
		udp           int
	}{
		{`"example.com"`, ``, 2, 80, 443, false, 0},
		{`"example.com", "a.com:22", "10.0.0.0/8:22"`, ``, 3, 22, 443, false, 0},
		{`"http://example.com"`, ``, 1, 80, 80, false, 0},
		{`"tls://example.com"`, ``, 1, 443, 443, false, 0},
		{`"example.com:50-55"`, ``, 5, 50, 55, false, 0},
		{`"example.com:1001-1064"`, ``, 64, 1001, 1064, false, 0},
		{`"example.com:1001-1065"`, ``, 0, 0, 0, true, 0},
		{`"example.com:*", "a.com", "b.com:22"`, ``, 3, 22, 443, true, 0},
		{`"example.com:*"`, `22, 443, 53`, 2, 22, 443, false, 0},
		{`"example.com"`, `8080`, 0, 0, 0, false, 0},
		{`"udp://192.0.2.1:123", "udp://192.0.2.2:123-125"`, ``, 0, 0, 0, false, 3},
		{`"udp://192.0.2.1:1-16"`, ``, 0, 0, 0, false, 16},
		{`"udp://192.0.2.1:1000-2000"`, `1500`, 0, 0, 0, false, 1},
	} {
		text := `{"allow": [` + c.allow + `]`
		if c.narrow != "" {
			text += `, "allowed_ports": [` + c.narrow + `]`
		}
		p, err := ParsePolicy([]byte(text + "}"))
		if err != nil {
			t.Fatalf("%s: %v", c.allow, err)
		}
		ports, all := p.TCPPorts()
		udp, problem := p.UDPPorts()
		if len(ports) != c.want || all != c.all || len(udp) != c.udp || problem != nil ||
			len(ports) > 0 && (ports[0] != c.first || ports[len(ports)-1] != c.last) {
			t.Errorf("%s within [%s]: %v %v, udp %v %v", c.allow, c.narrow, ports, all, udp, problem)
		}
	}
}

// The types work in other structures, too.
func TestUnmarshal(t *testing.T) {
	var v struct {
		Ports    Ports
		Bytes    Bytes
		Duration Duration
		Rules    []Rule
	}
	if err := json.Unmarshal([]byte(`{"Ports": "80-90", "Bytes": "2K", "Duration": "1m", "Rules": ["A.com", {"host": "b.com"}]}`), &v); err != nil {
		t.Fatal(err)
	}
	if v.Ports != (Ports{80, 90}) || v.Bytes != 2048 || v.Duration != Duration(time.Minute) || len(v.Rules) != 2 || v.Rules[0].Host != "a.com" {
		t.Errorf("%+v", v)
	}
	for _, text := range []string{`{"Ports": 0}`, `{"Bytes": -1}`, `{"Duration": 5}`, `{"Rules": ["a..b"]}`, `{"Rules": [{"host": "a.com", "port": 80}]}`} {
		var problem *Problem
		if err := json.Unmarshal([]byte(text), &v); !errors.As(err, &problem) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Fields of other NetworkPolicy types have their meaning here.
func TestForeignFields(t *testing.T) {
	for text, want := range map[string]map[string]bool{
		`{"allowed_hosts": ["a.test", "192.0.2.7"]}`:                             {"a.test:443": true, "a.test:80": true, "a.test:22": false, "192.0.2.7:443": true, "192.0.2.7:22": false},
		`{"allowed_hosts": ["a.test", "192.0.2.7"], "allowed_ports": [22]}`:      {"a.test:443": false, "a.test:22": true, "192.0.2.7:22": true, "b.test:22": false},
		`{"allowed_hosts": ["a.test"], "allow_outbound": false}`:                 {"a.test:443": false},
		`{"allow": ["a.test"], "allow_outbound": true}`:                          {"a.test:443": true, "b.test:443": false},
		`{"allow_outbound": true}`:                                               {"a.test:443": false},
		`{"allowed_hosts": ["*"], "blocked_ranges": ["192.0.2.0/24", "b.test"]}`: {"a.test:443": true, "b.test:443": false, "192.0.2.7:443": false},
		`{"allow": ["*:443"], "deny": ["*.evil.test"]}`:                          {"a.test:443": true, "a.test:80": false, "x.evil.test:443": false, "evil.test:443": true},
		`{"allow": ["a.test:8080"], "redirect": true}`:                           {"a.test:8080": true, "a.test:8081": false},
		`{"allow": ["*"], "blocked_hosts": ["*"]}`:                               {"a.test:443": false},
	} {
		p, err := ParsePolicy([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		m := must.Get(p.Compile())(t)
		for target, allowed := range want {
			host, port, _ := net.SplitHostPort(target)
			n, _ := strconv.Atoi(port)
			d := m.Host(host, uint16(n))
			if a, err := netip.ParseAddr(host); err == nil {
				d = m.Addr(a, uint16(n), false)
			}
			if d.Allow != allowed {
				t.Errorf("%s: %s: %v (%s)", text, target, d.Allow, d.Reason)
			}
		}
		again := must.Get(json.Marshal(p))(t)
		if q, err := ParsePolicy(again); err != nil || !reflect.DeepEqual(p, q) {
			t.Errorf("%s: became %s, %v", text, again, err)
		}
	}
}

// SetLimit knows the bounds and nothing else.
func TestSetLimit(t *testing.T) {
	p := &Policy{}
	for key, value := range map[string]string{"max_connections": "20", "connections_per_second": "5", "max_connection_bytes": "1m", "max_bytes": "2g",
		"bandwidth": "100k", "connect_timeout": "3s", "idle_timeout": "1m"} {
		if err := p.SetLimit(key, value); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	want := &Policy{MaxConnections: 20, ConnectionsPerSecond: 5, MaxConnectionBytes: 1 << 20, MaxBytes: 2 << 30, Bandwidth: 100 << 10,
		ConnectTimeout: Duration(3 * time.Second), IdleTimeout: Duration(time.Minute)}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("%+v", p)
	}
	for _, bad := range [][2]string{{"allow", "a.test"}, {"max_connections", "many"}, {"max_connections", "-1"}, {"bandwidth", "1x"}, {"idle_timeout", "5"}, {"", ""}} {
		if err := p.SetLimit(bad[0], bad[1]); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
