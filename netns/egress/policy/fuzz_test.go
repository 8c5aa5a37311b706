package policy

import (
	"encoding/json"
	"errors"
	"net/netip"
	"net/url"
	"path"
	"reflect"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// FuzzNormalizeName: what comes out is LDH, within bounds, no address, and comes out again as it is.
func FuzzNormalizeName(f *testing.F) {
	for _, s := range badNames {
		f.Add(s)
	}
	for _, s := range []string{"example.com", "EXAMPLE.com.", "_http._tcp.a", "xn--bcher-kva.example", "xn--fiqs8s", "r3---sn-x.video", long(253)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name, ok := NormalizeName(s)
		if !ok {
			if name != "" {
				t.Fatalf("%q is refused and is %q", s, name)
			}
			return
		}
		if again, ok := NormalizeName(name); !ok || again != name {
			t.Fatalf("%q becomes %q, and that %q, %v", s, name, again, ok)
		}
		if again, ok := NormalizeName(strings.ToUpper(name) + "."); !ok || again != name {
			t.Fatalf("%q in capitals becomes %q, %v", name, again, ok)
		}
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-._") != "" || len(name) == 0 || len(name) > 253 {
			t.Fatalf("%q becomes %q", s, name)
		}
		if !strings.EqualFold(name, strings.TrimSuffix(s, ".")) {
			t.Fatalf("%q becomes another name, %q", s, name)
		}
		for part := range strings.SplitSeq(name, ".") {
			if part == "" || len(part) > 63 || strings.HasPrefix(part, "-") || strings.HasSuffix(part, "-") || strings.LastIndex(part, "_") > 0 {
				t.Fatalf("%q has the label %q", name, part)
			}
		}
		if _, err := netip.ParseAddr(name); err == nil {
			t.Fatalf("%q is an address", name)
		}
	})
}

// FuzzParseRule: an accepted rule has one text and one JSON form, and both are read back as the same rule.
func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"", "example.com", "*.pypi.org:443", "tcp://db.example:5432,80-90", "10.1.2.0/24:5432", "[2001:db8::/32]:1-3", "udp://192.0.2.1:123",
		"[::ffff:10.0.0.1]:1", "[fe80::1%a]:1", "https://a", "a:*", "*:1", "127.1:1", "0x7f.1", "b\u00fccher.example", "xn--bcher-kva.example:1-65535", "1.1.1.1:0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRule(s)
		if err != nil {
			judge(t, err)
			return
		}
		again, err := ParseRule(r.String())
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Fatalf("%q is %+v, and %q is %+v, %v", s, r, r, again, err)
		}
		if (r.Host == "") == (r.CIDR == "") || r.Methods != nil || r.Paths != nil {
			t.Fatalf("%q is %+v", s, r)
		}
		data, err := json.Marshal(r)
		var back Rule
		if err != nil || json.Unmarshal(data, &back) != nil || !reflect.DeepEqual(back, r) {
			t.Fatalf("%s is %+v, %v", data, back, err)
		}
	})
}

// judge holds an error to what every error has: a reason, a fix, one line without control bytes.
func judge(t *testing.T, err error) {
	t.Helper()
	var p *Problem
	if !errors.As(err, &p) || p.Reason == "" || p.Fix == "" {
		t.Fatalf("%#v has no reason or no fix", err)
	}
	for _, r := range p.Error() {
		if r < ' ' || r == 0x7f || r == '\ufffd' {
			t.Fatalf("%q has control bytes", p.Error())
		}
	}
	if strings.Count(p.Error(), "") > 4096 {
		t.Fatalf("%d bytes of error", len(p.Error()))
	}
}

// FuzzParsePolicy: a policy that is taken compiles, comes back from its JSON, and never allows what nothing may allow.
func FuzzParsePolicy(f *testing.F) {
	for _, s := range []string{``, `{}`, `[]`, whole, settings, names1, addresses, requests, `{"allow": ["a.com"], "allow": []}`, `{"allow": [{"host": "*"}]}`,
		`{"allow": ["0.0.0.0/0:*", "[::/0]:*", "*.com:*"]}`, `{"network": {"deniedDomains": ["*:22"]}}`, `{"max_bytes": "10k", "idle_timeout": "1h"}`} {
		f.Add([]byte(s))
	}
	never := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1"), netip.MustParseAddr("64:ff9b::7f00:1"), netip.MustParseAddr("198.18.0.1")}
	never = append(never, metadata()...)
	f.Fuzz(func(t *testing.T, data []byte) {
		p, notes, err := LoadPolicy(data)
		if err != nil {
			if p != nil || notes != nil {
				t.Fatal("a refused policy is given all the same")
			}
			judge(t, err)
			return
		}
		again(t, p)
		m := must.Get(p.Compile())(t)
		for _, a := range never {
			for _, port := range []uint16{0, 1, 80, 443, 65535} {
				if m.Addr(a, port, false).Allow || m.Addr(a, port, true).Allow || m.Vet(a, port) == "" {
					t.Fatalf("%s allows %v:%d", data, a, port)
				}
			}
		}
		for _, r := range p.Allow {
			host := strings.Replace(r.Host, "*.", "x.", 1)
			for _, port := range []uint16{80, 443} {
				if d := m.Host(host, port); d.Allow && !m.Knows(host) || d.Allow && d.Mode == ModeDefault {
					t.Fatalf("%s: Host(%s, %d) = %+v", data, host, port, d)
				}
			}
		}
		for _, text := range []string{p.Table(), p.NFT(), p.Kubernetes(string(data))} {
			for _, r := range text {
				if r < ' ' && r != '\n' && r != '\t' || r == '\ufffd' {
					t.Fatalf("%q in %q", r, text)
				}
			}
		}
	})
}

// FuzzRequest: a path that is allowed is below its prefix however it is decoded and cleaned.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{"/v1", "/v1/", "/v1/../x", "/v1/%2e%2e/x", "/%76%31/x?q", "/v1//x", "//v1", "/v1/..;/x", "/v1%2fx", "/v1/%252e", `/v1\x`, "*", ""} {
		f.Add(s)
	}
	p := must.Get(ParsePolicy([]byte(requests)))(f)
	m := must.Get(p.Compile())(f)
	d := m.Host("api.example", 80)
	f.Fuzz(func(t *testing.T, target string) {
		checkPath(t, target)
		if m.Request(d, "GET", target) != "" {
			return
		}
		raw, _, _ := strings.Cut(target, "?")
		raw, _, _ = strings.Cut(raw, "#")
		for _, reading := range []func(string) (string, error){
			func(s string) (string, error) { return s, nil }, url.PathUnescape,
			func(s string) (string, error) {
				once, err := url.PathUnescape(s)
				if twice, err := url.PathUnescape(once); err == nil {
					return twice, nil
				}
				return once, err
			},
		} {
			read, err := reading(raw)
			if err != nil {
				t.Fatalf("%q is allowed and does not decode: %v", target, err)
			}
			for _, form := range []string{read, strings.ReplaceAll(read, `\`, "/")} {
				clean := path.Clean(form)
				if decoded, err := url.PathUnescape(clean); err == nil {
					clean = path.Clean(decoded)
				}
				if clean != "/v1" && !strings.HasPrefix(clean, "/v1/") {
					t.Fatalf("%q is allowed and may be read as %q", target, clean)
				}
			}
		}
	})
}

// checkPath: a clean path is what net/url decodes, and has nothing left to clean.
func checkPath(t *testing.T, target string) {
	p, ok := cleanPath(target)
	if !ok {
		return
	}
	raw, _, _ := strings.Cut(target, "?")
	u, err := url.ParseRequestURI(raw)
	if err != nil || u.Path != p || path.Clean(p) != p && path.Clean(p)+"/" != p {
		t.Errorf("%q is %q, %v", target, p, err)
	}
}
