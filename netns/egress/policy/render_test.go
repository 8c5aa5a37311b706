package policy

import (
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/golden"
	"brig/internal/test/must"
)

// audited has every kind of rule.
const audited = `{"allow": ["example.com", "*.pypi.org:443", "tcp://db.example:5432", "any.example:*", "10.1.2.0/24:5432", "203.0.114.0/24:22,8000-8010",
    "[2001:4860::/32]:443", "0.0.0.0/0:9418", "udp://17.253.34.125:123",
    {"host": "api.example", "mode": "http", "ports": [8080], "methods": ["GET", "HEAD"], "paths": ["/v1", "/v2"]}],
  "deny": ["evil.pypi.org", "10.1.2.66", "203.0.114.0/28:22", "*.ads.example:25"], "blocked_hosts": ["198.51.100.0/24", "44.0.0.0/8", "tracker.example"],
  "allowed_ports": ["1-10000"]}`

// The texts for auditors, for a policy with everything and one with nothing.
func TestGolden(t *testing.T) {
	for name, text := range map[string]string{"full": audited, "empty": "{}"} {
		p := must.Get(ParsePolicy([]byte(text)))(t)
		for ext, got := range map[string]string{"table": p.Table(), "nft": p.NFT(), "yaml": p.Kubernetes("Build 7: x\nkind: Pod")} {
			rendered(t, filepath.Join("testdata", name+"."+ext), got)
		}
	}
}

func rendered(t *testing.T, path, got string) {
	t.Helper()
	golden.File(t, path, got)
	for i, line := range strings.Split(got, "\n") {
		if line != strings.TrimRight(line, " \t") {
			t.Errorf("%s:%d ends in a blank", path, i+1)
		}
	}
}

// The effective policy agrees with the matcher, row by row.
func TestEffective(t *testing.T) {
	p := must.Get(ParsePolicy([]byte(audited)))(t)
	var texts []string
	for _, r := range Effective(p) {
		texts = append(texts, strings.TrimSpace(strings.Join([]string{r.Verdict, r.Target, r.Protocol, r.Ports, string(r.Mode), r.Methods, r.Paths}, " ")))
	}
	want := []string{
		"deny evil.pypi.org any *", "deny 10.1.2.66 any *", "deny 203.0.114.0/28 any 22", "deny *.ads.example any 25",
		"deny 198.51.100.0/24 any *", "deny 44.0.0.0/8 any *", "deny tracker.example any *",
		"allow example.com tcp 80 http", "allow example.com tcp 443 tls", "allow *.pypi.org tcp 443 tls", "allow db.example tcp 5432 tcp",
		"allow any.example tcp 80 http", "allow any.example tcp 443 tls", "allow any.example tcp 1-52,54-79,81-442,444-10000 tcp",
		"allow 10.1.2.0/24 tcp 5432 tcp", "allow 203.0.114.0/24 tcp 22,8000-8010 tcp", "allow 2001:4860::/32 tcp 443 tcp",
		"allow 0.0.0.0/0 tcp 9418 tcp", "allow 17.253.34.125 udp 123 udp", "allow api.example tcp 8080 http GET,HEAD /v1 /v2",
	}
	if got := strings.Join(texts, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s", got)
	}
	all := &Policy{Allow: []Rule{{CIDR: "8.8.8.8", Ports: []Ports{anyPort}}}}
	if rows := Effective(all); len(rows) != 1 || rows[0].Ports != "1-52,54-65535" {
		t.Errorf("%+v", rows)
	}
}

func TestKubernetesName(t *testing.T) {
	for in, want := range map[string]string{"": "brig-egress", "---": "brig-egress", "Build_7": "build-7", "a\nb: c": "a-b--c", "\u00fc": "brig-egress",
		strings.Repeat("x", 99): strings.Repeat("x", 63), strings.Repeat("-", 62) + "xy": "x"} {
		if got := k8sName(in); got != want {
			t.Errorf("k8sName(%q) = %q, want %q", in, got, want)
		}
	}
}

// A range that is denied completely has no entry, and an exception is smaller than its range.
func TestKubernetesDenials(t *testing.T) {
	p, err := ParsePolicy([]byte(`{"allow": ["44.1.0.0/16:80", "45.0.0.0/8:80,81"], "deny": ["44.0.0.0/8", "45.0.0.0/8:81", "45.1.0.0/16", "45.1.2.3"]}`))
	if err != nil {
		t.Fatal(err)
	}
	text := p.Kubernetes("x")
	if strings.Contains(text, "44.") || strings.Contains(text, "81") || strings.Contains(text, "45.1.2.3") ||
		strings.Count(text, "cidr: 45.0.0.0/8\n") != 1 || strings.Count(text, "- 45.1.0.0/16\n") != 1 {
		t.Error(text)
	}
	p.Deny = append(p.Deny, Rule{CIDR: "45.0.0.0/8"})
	if text := p.Kubernetes("x"); !strings.HasSuffix(text, "  egress: []\n") {
		t.Error(text)
	}
}
