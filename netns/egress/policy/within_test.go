package policy

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A set of ports less another one has the ports that only the first has.
func TestMinus(t *testing.T) {
	random := func() (set portSet) {
		for range rand.IntN(4) {
			from := uint16(rand.IntN(20))
			set = append(set, Ports{From: from, To: from + uint16(rand.IntN(6))})
		}
		return set
	}
	for range 2000 {
		a, b := random(), random()
		left := newPortSet(a).minus(newPortSet(b))
		for p := range uint16(30) {
			if left.contains(p) != (a.contains(p) && !b.contains(p)) {
				t.Fatalf("%v less %v is %v, for port %d", a, b, left, p)
			}
		}
	}
}

// What a run may ask for is within what a policy allows, rule by rule and port by port.
func TestWithin(t *testing.T) {
	rows := func(rules ...string) []Row {
		p := &Policy{}
		for _, text := range rules {
			r, err := ParseRule(text)
			if err != nil {
				t.Fatal(text, err)
			}
			p.Allow = append(p.Allow, r)
		}
		return slices.DeleteFunc(Effective(p), func(r Row) bool { return r.Verdict != "allow" })
	}
	for _, c := range []struct {
		asked string
		have  []string
		want  bool
	}{
		{"https://example.org", []string{"https://example.org"}, true},
		{"https://example.org", nil, false},
		{"https://example.org", []string{"https://example.com"}, false},
		{"https://example.org", []string{"https://*"}, true},
		{"https://a.example.org", []string{"https://*.example.org"}, true},
		{"https://example.org", []string{"https://*.example.org"}, false},
		{"https://*.a.example.org", []string{"https://*.example.org"}, true},
		{"https://*.example.org", []string{"https://a.example.org"}, false},
		{"https://*", []string{"https://*.example.org"}, false},
		{"https://xexample.org", []string{"https://*.example.org"}, false},
		{"tcp://example.org:443", []string{"https://example.org"}, false},
		{"https://example.org", []string{"tcp://example.org:443"}, true},
		{"tcp://example.org:80,443", []string{"tcp://example.org:80", "tcp://example.org:443"}, true},
		{"tcp://example.org:79-81", []string{"tcp://example.org:79-80", "tcp://example.org:82"}, false},
		{"tcp://1.2.3.4:80", []string{"tcp://1.2.3.0/24:80"}, true},
		{"tcp://1.2.3.0/24:80", []string{"tcp://1.2.3.4:80"}, false},
		{"tcp://1.2.0.0/16:80", []string{"tcp://1.2.3.0/24:80"}, false},
		{"tcp://10.0.0.1:80", []string{"tcp://0.0.0.0/0:80"}, false},
		{"tcp://10.0.0.1:80", []string{"tcp://10.0.0.0/8:80"}, true},
		{"tcp://0.0.0.0/0:80", []string{"tcp://0.0.0.0/0:80-90"}, true},
		{"tcp://[fd00::1]:80", []string{"tcp://[::/0]:80"}, false},
		{"tcp://1.2.3.4:80", []string{"tcp://*:80"}, false},
		{"udp://1.2.3.4:53", []string{"tcp://1.2.3.4:53"}, false},
		{"udp://1.2.3.4:53", []string{"udp://1.2.3.4:53"}, true},
		{"tcp://[2001:db8::1]:80", []string{"tcp://1.2.3.4:80"}, false},
	} {
		for _, row := range rows(c.asked) {
			if got := row.Within(rows(c.have...)); got != c.want {
				t.Errorf("%s within %q: %v", c.asked, c.have, got)
			}
		}
	}
}

func TestListWithin(t *testing.T) {
	same := func(a, h string) bool { return a == h }
	for _, c := range []struct {
		asked, have string
		want        bool
	}{{"", "", true}, {"GET", "", true}, {"", "GET", false}, {"GET", "GET,POST", true}, {"GET,PUT", "GET,POST", false}} {
		if got := listWithin(c.asked, c.have, ",", same); got != c.want {
			t.Errorf("%q within %q: %v", c.asked, c.have, got)
		}
	}
}

// Methods and paths are compared by the rows of mode http alone.
func TestWithinHTTP(t *testing.T) {
	row := func(mode Mode, methods, paths string) Row {
		return Row{Verdict: "allow", Target: "example.org", Ports: "80", Mode: mode, Methods: methods, Paths: paths}
	}
	for _, c := range []struct {
		asked, have Row
		want        bool
	}{
		{row(ModeHTTP, "", ""), row(ModeHTTP, "", ""), true},
		{row(ModeHTTP, "", ""), row(ModeHTTP, "GET", ""), false},
		{row(ModeHTTP, "GET", ""), row(ModeHTTP, "", ""), true},
		{row(ModeHTTP, "GET", ""), row(ModeHTTP, "GET,HEAD", ""), true},
		{row(ModeHTTP, "GET,PUT", ""), row(ModeHTTP, "GET,HEAD", ""), false},
		{row(ModeHTTP, "GET", ""), row(ModeHTTP, "GET", "/api"), false},
		{row(ModeHTTP, "GET", "/api/v1 /api"), row(ModeHTTP, "GET", "/api"), true},
		{row(ModeHTTP, "GET", "/apis"), row(ModeHTTP, "GET", "/api /v2"), false},
		{row(ModeHTTP, "GET", "/v2"), row(ModeTCP, "", ""), true},
		{row(ModeTCP, "", ""), row(ModeHTTP, "GET", "/v2"), false},
	} {
		if got := c.asked.Within([]Row{c.have}); got != c.want {
			t.Errorf("%+v within %+v: %v", c.asked, c.have, got)
		}
	}
}
