package policy

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	const base = `{"commands": [{"command": "/usr/bin/git"}], "languages": ["python"], "limits": {"wall": "1m"},
		"paths": {"read": ["/srv"]},
		"network": {"modes": ["egress"], "egress": {"allow": ["https://example.org"], "deny": ["8.8.8.8:53"]}}}`
	for name, c := range map[string]struct {
		from, to string // replaced in base
		want     []Change
	}{
		"the same": {"", "", nil},
		"a language more": {`["python"]`, `["python", "bash"]`,
			[]Change{{Field: "languages", More: []string{"bash"}}}},
		"a language less": {`["python"]`, `[]`,
			[]Change{{Field: "languages", Less: []string{"python"}}}},
		"any language": {`["python"]`, `["*"]`,
			[]Change{{Field: "languages", More: []string{"*"}}}},
		"a command with arguments": {`{"command": "/usr/bin/git"}`,
			`{"command": "/usr/bin/git", "allow": [["log", "..."]], "deny_flags": ["-c"]}`,
			[]Change{{Field: "commands", More: []string{"/usr/bin/git (only log ...; without the options -c)"},
				Less: []string{"/usr/bin/git"}}}},
		"a command without arguments": {`{"command": "/usr/bin/git"}`,
			`{"command": "/usr/bin/git", "allow": [[]], "deny": [["x"]], "flags": []}`,
			[]Change{{Field: "commands", More: []string{"/usr/bin/git (only (no arguments); never x; with no options but none)"},
				Less: []string{"/usr/bin/git"}}}},
		"another path": {`"/srv"`, `"/data"`,
			[]Change{{Field: "paths.read", More: []string{"/data"}, Less: []string{"/srv"}}}},
		"a lower ceiling": {`"1m"`, `"30s"`,
			[]Change{{Field: "limits.wall", Less: []string{"30s instead of 1m0s"}}}},
		"a higher ceiling": {`"1m"`, `"2m"`,
			[]Change{{Field: "limits.wall", More: []string{"2m0s instead of 1m0s"}}}},
		"no ceiling": {`{"wall": "1m"}`, `{}`,
			[]Change{{Field: "limits.wall", More: []string{"any instead of 1m0s"}},
				{Field: "limits.grace", More: []string{"any instead of 10s"}}}},
		"a new ceiling": {`{"wall": "1m"}`, `{"wall": "1m", "open_files": 10}`,
			[]Change{{Field: "limits.open_files", Less: []string{"10 instead of any"}}}},
		"another host": {`https://example.org`, `https://example.com`,
			[]Change{{Field: "network.egress", More: []string{"tls://example.com:443"},
				Less: []string{"tls://example.org:443"}}}},
		"a denial less": {`, "deny": ["8.8.8.8:53"]`, ``,
			[]Change{{Field: "network.egress.deny", More: []string{"no longer 8.8.8.8:53"}}}},
		"a bound of the network": {`"deny": [`, `"max_bytes": "1m", "deny": [`,
			[]Change{{Field: "network.egress.max_bytes", Less: []string{"1m instead of any"}}}},
	} {
		a, b := parsed(t, base), parsed(t, strings.Replace(base, c.from, c.to, 1))
		if got := Diff(a, b); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, c.want)
		}
		var back []Change // seen from the other side, more is less
		for _, ch := range Diff(b, a) {
			if len(c.want) == 1 && !strings.Contains(ch.Field, "limits") && !strings.Contains(ch.Field, "egress.") {
				back = append(back, Change{Field: ch.Field, More: ch.Less, Less: ch.More})
			}
		}
		if back != nil && !strings.Contains(name, "any language") && !reflect.DeepEqual(back, c.want) {
			t.Errorf("%s, from the other side:\ngot  %+v\nwant %+v", name, back, c.want)
		}
	}
}

func TestExplain(t *testing.T) {
	p := parsed(t, `{"description": "For tests", "commands": [{"command": "/usr/bin/git", "flags": ["-C"]}],
		"paths": {"read": ["/srv"]}, "limits": {"memory": "1g", "wall": "1m"},
		"network": {"modes": ["none"], "publish": ["8080-8090"]},
		"sandbox": {"operations": ["create"], "ttl": "1h"}, "features": ["tty"]}`)
	said := Explain(p)
	for _, want := range []string{
		"For tests.",
		"Commands that a request may name: /usr/bin/git (with no options but -C).",
		"Paths of the host that may be shown: /srv.",
		"Paths of the host that may be written to: none.",
		"Network modes: none.",
		"What may be reached: none.",
		"Ports of 127.0.0.1 that may be published: 8080-8090.",
		"What may be done with sandboxes: create.",
		"Features: tty.",
	} {
		if !slices.Contains(said, want) {
			t.Errorf("not said: %s", want)
		}
	}
	all := strings.Join(said, "\n")
	for _, part := range []string{"At most: ", "memory 1g", "wall 1m", "sandbox.ttl 1h", "Without a ceiling: "} {
		if !strings.Contains(all, part) {
			t.Errorf("not said: %s\n%s", part, all)
		}
	}
	if strings.Contains(all, ": .") || strings.Contains(all, "%!") {
		t.Errorf("%s", all)
	}
	open := Explain(parsed(t, `{"open": true}`))
	if !strings.HasPrefix(open[0], "It restricts only what it mentions") {
		t.Errorf("%q", open[0])
	}
	text, err := ExplainJSON(p)
	var back struct {
		Policy json.RawMessage
		Means  []string
	}
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil || !slices.Equal(back.Means, said) {
		t.Errorf("%v %q", err, back.Means)
	}
	if again := parsed(t, string(back.Policy)); len(Diff(again, p)) != 0 {
		t.Errorf("the policy in the answer is another one: %s", back.Policy)
	}
}

// In an open policy what is absent allows anything, and an empty list nothing.
func TestExplainOpen(t *testing.T) {
	for text, want := range map[string]string{
		`{"open": true}`: "anything",
		`{"open": true, "commands": [], "languages": [], "network": {"modes": [], "egress": {}, "publish": []}}`: "none",
	} {
		said := Explain(parsed(t, text))
		for _, field := range []string{"commands", "languages", "network.modes", "network.egress", "network.publish"} {
			if !slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, titles[field]+": "+want+".") }) {
				t.Errorf("%s: %s is not %s: %q", text, field, want, said)
			}
		}
	}
}

// A list in a sentence is bounded.
func TestOrNone(t *testing.T) {
	long := strings.Split(strings.Repeat("x ", 65), " ")
	for _, c := range []struct {
		list []string
		want string
	}{{nil, "none"}, {[]string{"a", "b"}, "a, b"}, {long, strings.Repeat("x, ", 63) + "x and others"}} {
		if got := orNone(c.list); got != c.want {
			t.Errorf("%q", got)
		}
	}
}
