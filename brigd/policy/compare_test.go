package policy

import (
	"slices"
	"testing"
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

func TestMayPublish(t *testing.T) {
	p := parsed(t, `{"network": {"modes": ["loopback"], "publish": ["8000-8010"]}}`)
	for text, want := range map[string]bool{"8000:80": true, "8010:80/tcp": true, "127.0.0.1:8001:80": true,
		"7999:80":     false,
		"8000:80/udp": false, "0.0.0.0:8000:80": false, "[::1]:8000:80": false, "8000": false, "": false, "x:80": false,
		"70000:80": false,
		"1:2:3:4":  false} {
		if got := p.network().mayPublish(text); got != want {
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
