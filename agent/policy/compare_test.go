package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	egress "brig/netns/egress/policy"
)

// A wildcard matches bytes of one argument, and nothing of the next.
func TestFits(t *testing.T) {
	for _, c := range []struct {
		item, arg string
		want      bool
	}{
		{"", "", true}, {"", "a", false}, {"a", "", false}, {"*", "", true}, {"*", "a/b\n", true}, {"?", "", false},
		{"?", "a", true},
		{"?", "ab", false}, {"a*", "a", true}, {"a*", "ba", false}, {"*a", "ba", true}, {"*a", "ab", false},
		{"a*b*c", "aXbYc", true},
		{"a*b*c", "acb", false}, {"**", "x", true}, {"*?", "", false}, {"*?", "x", true}, {`\*`, "*", true},
		{`\*`, "a", false},
		{`a\`, `a\`, true}, {`\\`, `\`, true}, {`[a]`, "a", false}, {`[a]`, "[a]", true}, {"é", "é", true}, {"?", "é", false},
		{"*ab*ab*ab*", "ababab", true}, {"*ab*ab*ab*", "abab", false},
	} {
		if got := fits(c.item, c.arg); got != c.want {
			t.Errorf("%q %q: %v", c.item, c.arg, got)
		}
	}
}

// An option is found in every usual spelling.
func TestSpells(t *testing.T) {
	for _, c := range []struct {
		name string
		yes  []string
		no   []string
	}{
		{"-o", []string{"-o", "-ofile", "-vo", "-o=x", "--o"}, []string{"o", "-", "--out", "-v", "", "-O"}},
		{"--output", []string{"--output", "--output=x", "--out", "--o", "-ou", "-output", "-output=x", "-out"},
			[]string{"-o", "output", "--outputs", "--", "-", "--input", "-x"}},
		{"-exec", []string{"-exec", "--exec", "-exe", "--e"}, []string{"-e", "exec", "-execdir", "--execute"}},
	} {
		for _, arg := range c.yes {
			if !spells(c.name, arg) {
				t.Errorf("%s is not found in %s", c.name, arg)
			}
		}
		for _, arg := range c.no {
			if spells(c.name, arg) {
				t.Errorf("%s is found in %s", c.name, arg)
			}
		}
	}
}

func TestFlagAllowed(t *testing.T) {
	list := []string{"-a", "-b", "--long", "--value="}
	for arg, want := range map[string]bool{"-a": true, "-ab": true, "-ba": true, "-c": false, "-abc": false,
		"--long": true, "--lon": false,
		"--long=x": false, "--value=x": true, "--value=": true, "--value": false, "-a=x": false, "x": true, "": true,
		"-": true, "--": true,
		"-é": false} {
		if got := flagAllowed(list, arg); got != want {
			t.Errorf("%q: %v", arg, got)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, args []string
		allows        bool // as an entry that allows
		denies        bool // as one that denies
	}{
		{nil, nil, true, true},
		{nil, []string{"x"}, false, false},
		{[]string{"..."}, nil, true, true},
		{[]string{"..."}, []string{"a", "b"}, true, true},
		{[]string{"a", "..."}, []string{"a"}, true, true},
		{[]string{"a", "..."}, []string{"b"}, false, false},
		{[]string{"...", "x"}, []string{"a", "x"}, true, true},
		{[]string{"...", "x"}, []string{"x", "a"}, false, false},
		{[]string{"...", "x", "..."}, []string{"a", "x", "b"}, true, true},
		{[]string{"...", "-exec", "..."}, []string{".", "--exe", "id"}, false, true},
		{[]string{"...", "-e*", "..."}, []string{".", "--exec"}, false, false},
	} {
		if a, d := matches(c.pattern, c.args, false), matches(c.pattern, c.args, true); a != c.allows || d != c.denies {
			t.Errorf("%q %q: allows %v, denies %v", c.pattern, c.args, a, d)
		}
	}
}

// A set of ports less another one has the ports that only the first has.
func TestWithout(t *testing.T) {
	random := func() (set []egress.Ports) {
		for range rand.IntN(4) {
			from := uint16(rand.IntN(20))
			set = append(set, egress.Ports{From: from, To: from + uint16(rand.IntN(6))})
		}
		return set
	}
	has := func(set []egress.Ports, p uint16) bool {
		return slices.ContainsFunc(set, func(r egress.Ports) bool { return r.Contains(p) })
	}
	for range 2000 {
		a, b := random(), random()
		left := without(a, b)
		for p := range uint16(30) {
			if has(left, p) != (has(a, p) && !has(b, p)) {
				t.Fatalf("%v less %v is %v, for port %d", a, b, left, p)
			}
		}
	}
}

// What a run may ask for is within what a policy allows, rule by rule and port by port.
func TestCovered(t *testing.T) {
	rows := func(rules ...string) []egress.Row {
		p := &egress.Policy{}
		for _, text := range rules {
			var r egress.Rule
			if err := r.UnmarshalJSON(fmt.Appendf(nil, "%q", text)); err != nil {
				t.Fatal(text, err)
			}
			p.Allow = append(p.Allow, r)
		}
		return allows(p)
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
		{"tcp://1.2.3.4:80", []string{"tcp://*:80"}, false},
		{"udp://1.2.3.4:53", []string{"tcp://1.2.3.4:53"}, false},
		{"udp://1.2.3.4:53", []string{"udp://1.2.3.4:53"}, true},
		{"tcp://[2001:db8::1]:80", []string{"tcp://1.2.3.4:80"}, false},
	} {
		for _, row := range rows(c.asked) {
			if got := covered(row, rows(c.have...)); got != c.want {
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

func TestMayPublish(t *testing.T) {
	p := parsed(t, `{"network": {"modes": ["loopback"], "publish": ["8000-8010"]}}`)
	for text, want := range map[string]bool{"8000:80": true, "8010:80/tcp": true, "127.0.0.1:8001:80": true,
		"7999:80":     false,
		"8000:80/udp": false, "0.0.0.0:8000:80": false, "[::1]:8000:80": false, "8000": false, "": false, "x:80": false,
		"70000:80": false,
		"1:2:3:4":  false} {
		if got := p.mayPublish(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A name on a list is enough for a variable that steers; a glob is not.
func TestVariableAllowed(t *testing.T) {
	list := []string{"LC_*", "*", "LD_PRELOAD", "API_KEY"}
	for name, want := range map[string]bool{"LC_ALL": true, "FOO": true, "LD_PRELOAD": true, "LD_LIBRARY_PATH": false,
		"PATH":    false,
		"API_KEY": true, "OTHER_TOKEN": false, "GOMAXPROCS": true, "GOFLAGS": false, "PYTHONUTF8": true, "pythonpath": false,
		"BASH_ENV": false,
		"NODE_ENV": true, "NODE_OPTIONS": false, "TMPDIR": false} {
		if got := variableAllowed(list, name); got != want {
			t.Errorf("%s: %v, %q", name, got, steerReason(name))
		}
	}
	if variableAllowed([]string{"A"}, "B") || variableAllowed(nil, "A") {
		t.Error("a name that is not on the list")
	}
}

// Policies add up to the same denials in any order.
func TestUnion(t *testing.T) {
	key := func(s string) string { return s }
	a, b := []string{"c", "a"}, []string{"b", "c"}
	if got := union(a, b, key); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("%q", got)
	}
	if got := union(a, []string{"a"}, key); !slices.Equal(got, []string{"c", "a"}) {
		t.Errorf("nothing is new: %q", got)
	}
}
