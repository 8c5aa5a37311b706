package policy

import (
	"reflect"
	"strings"
	"testing"
)

// settings has every section that srt's own documentation has.
const settings = `{
  "network": {
    "allowedDomains": ["github.com", "*.npmjs.org", "api.example.com:8443", "localhost", "203.0.114.9", "[2001:4860::1]:443"],
    "deniedDomains": ["evil.npmjs.org", "*:22", "[2001:4860::2]", "198.51.100.7"],
    "deniedDomainReasons": {"evil.npmjs.org": "no"}, "strictAllowlist": true, "allowUnixSockets": ["/var/run/docker.sock"],
    "allowLocalBinding": false, "httpProxyPort": 3128, "somethingNew": [{"deep": [1, null, true]}]
  },
  "filesystem": {"denyRead": ["~/.ssh"], "allowWrite": ["."], "denyWrite": [".env"]},
  "ignoreViolations": {"*": ["/usr/bin"]}, "enableWeakerNestedSandbox": false, "mandatoryDenySearchDepth": 3
}`

func TestSRT(t *testing.T) {
	p, notes, err := LoadPolicy([]byte(settings))
	if err != nil {
		t.Fatal(err)
	}
	web := []Ports{{80, 80}, {443, 443}}
	want := &Policy{
		Allow: []Rule{{Host: "github.com"}, {Host: "*.npmjs.org"}, {Host: "api.example.com", Ports: []Ports{{8443, 8443}}},
			{CIDR: "203.0.114.9", Ports: web}, {CIDR: "2001:4860::1", Ports: []Ports{{443, 443}}}},
		Deny: []Rule{{Host: "evil.npmjs.org"}, {CIDR: "0.0.0.0/0", Ports: []Ports{{22, 22}}}, {CIDR: "::/0", Ports: []Ports{{22, 22}}},
			{CIDR: "2001:4860::2"}, {CIDR: "198.51.100.7"}},
	}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("got  %+v\nwant %+v", p, want)
	}
	text := strings.Join(notes, "\n")
	for _, note := range []string{
		`network.allowedDomains: entries without a port open 80 and 443 only; name others as "github.com:8443"`,
		`network.allowedDomains: "localhost": ignored: the jail's loopback is its own`,
		`network.strictAllowlist: ignored`, `network.allowUnixSockets: ignored`, `network.httpProxyPort: ignored`, `network.somethingNew: ignored: unknown`,
		`network.deniedDomainReasons: ignored`, `filesystem: ignored: not about the network`, `ignoreViolations: ignored`,
		`enableWeakerNestedSandbox: ignored`, `mandatoryDenySearchDepth: ignored`,
	} {
		if !strings.Contains(text, note) {
			t.Errorf("no note %q in\n%s", note, text)
		}
	}
	if plain, err := ParsePolicy([]byte(settings)); err != nil || !reflect.DeepEqual(plain, p) {
		t.Errorf("ParsePolicy reads %+v, %v", plain, err)
	}
	if _, notes, err := LoadPolicy([]byte(whole)); err != nil || notes != nil {
		t.Errorf("a policy of our own has notes %q, %v", notes, err)
	}
}

// The wildcard of srt is everything below at any depth, not the suffix itself; denied wins; "*" denies all.
func TestSRTMatches(t *testing.T) {
	m := matcher(t, settings)
	for name, want := range map[string]bool{"github.com": true, "api.github.com": false, "npmjs.org": false, "a.npmjs.org": true, "a.b.npmjs.org": true, "evil.npmjs.org": false} {
		if got := m.Host(name, 443).Allow; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	none := matcher(t, `{"network": {"allowedDomains": ["github.com"], "deniedDomains": ["*"]}}`)
	for _, a := range []string{"1.1.1.1", "2606::1"} {
		if got := none.Vet(matchAddr(t, a), 443); got != ReasonDenied {
			t.Errorf("with everything denied, Vet(%s) = %q", a, got)
		}
	}
	if d := none.Host("github.com", 443); d.Reason != ReasonDenied || d.Text != "0.0.0.0/0" || none.Knows("github.com") {
		t.Errorf("with everything denied, a name is still looked up: %+v", d)
	}
	half := matcher(t, `{"allow": ["github.com"], "deny": ["0.0.0.0/0", "[::/0]:443"]}`)
	if half.Host("github.com", 443).Allow || !half.Host("github.com", 80).Allow || !half.Knows("github.com") {
		t.Error("one family's denial counts for both")
	}
}

func TestSRTRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"network": {"allowedDomain": []}}`:                      `network.allowedDomain: it is not a key here: did you mean allowedDomains?`,
		`{"network": {"denyedDomains": []}}`:                      `network.denyedDomains: it is not a key here: did you mean deniedDomains?`,
		`{"network": {"allowedDomains": "a.com"}}`:                `network.allowedDomains: it is "a.com": write an array`,
		`{"network": {"allowedDomains": ["a.com", 5]}}`:           `network.allowedDomains[1]: it is the number 5: write a string`,
		`{"network": {"allowedDomains": ["https://a.com"]}}`:      `network.allowedDomains[0]: "https://a.com" has a scheme`,
		`{"network": {"allowedDomains": ["a.com/x"]}}`:            `network.allowedDomains[0]: "a.com/x" is no host name`,
		`{"network": {"allowedDomains": ["169.254.169.254"]}}`:    `network.allowedDomains[0]: 169.254.169.254 is a metadata service`,
		`{"network": {"allowedDomains": ["2001:db8::1:443"]}}`:    `network.allowedDomains[0]: "2001:db8::1:443" has more than one colon`,
		`{"network": {"deniedDomains": ["*:x"]}}`:                 `network.deniedDomains[0]: "x" is no port`,
		`{"network": {"allowedDomains": []}, "allow": ["a.com"]}`: `allow: the file is an srt settings file and a policy at once`,
		`{"network": {"deniedDomains": [], "deniedDomains": []}}`: `network.deniedDomains: the key is there twice`,
		`{"network": ["a.com"]}`:                                  `"network" is not a key here`,
		`{"filesystem": {"denyRead": []}}`:                        `"filesystem" is not a key here`,
	} {
		if p, notes, err := LoadPolicy([]byte(text)); p != nil || notes != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}
