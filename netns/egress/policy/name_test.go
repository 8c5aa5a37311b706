package policy

import (
	"strings"
	"testing"
)

// label is a label of n bytes.
func label(n int) string { return strings.Repeat("a", n) }

// long is a name of n bytes in labels of 49.
func long(n int) string {
	s := strings.Repeat(label(49)+".", 5) // 250
	return s[:min(len(s), n-2)] + strings.Repeat("b", n-min(len(s), n-2))
}

func TestNormalizeName(t *testing.T) {
	good := map[string]string{
		"example.com":      "example.com",
		"EXAMPLE.Com":      "example.com",
		"example.com.":     "example.com",
		"localhost":        "localhost",
		"a":                "a",
		"a.b.c.d.e.f.g":    "a.b.c.d.e.f.g",
		"1password.com":    "1password.com",
		"1.example":        "1.example",
		"1.2.3.4.example":  "1.2.3.4.example",
		"0x7f.example":     "0x7f.example",
		"example.0xyz":     "example.0xyz",
		"example.1a":       "example.1a",
		"example.x0":       "example.x0",
		"ex-ample.com":     "ex-ample.com",
		"a--b.com":         "a--b.com",
		"r3---sn-x.video":  "r3---sn-x.video",
		"_dmarc.example":   "_dmarc.example",
		"_http._tcp.a":     "_http._tcp.a",
		"_A.example":       "_a.example",
		label(63) + ".com": label(63) + ".com",
		long(253):          long(253),
		long(253) + ".":    long(253),
		long(252):          long(252),
		// IDNA, from RFC 3492 §7.1 and registries
		"xn--bcher-kva.example":                    "xn--bcher-kva.example",
		"XN--BCHER-KVA.example":                    "xn--bcher-kva.example",
		"xn--mnchen-3ya.de":                        "xn--mnchen-3ya.de",
		"xn--fiqs8s":                               "xn--fiqs8s",
		"xn--p1ai":                                 "xn--p1ai",
		"xn--80ak6aa92e.com":                       "xn--80ak6aa92e.com",
		"xn--ihqwcrb4cv8a8dqg056pqjye.example":     "xn--ihqwcrb4cv8a8dqg056pqjye.example",
		"xn--4dbcagdahymbxekheh6e0a7fei0b.example": "xn--4dbcagdahymbxekheh6e0a7fei0b.example",
		"xn--i-7iq.ws":                             "xn--i-7iq.ws",
		"xn--fa-hia.de":                            "xn--fa-hia.de",
		"a.xn--fiqs8s.b":                           "a.xn--fiqs8s.b",
	}
	for in, want := range good {
		got, ok := NormalizeName(in)
		if !ok || got != want {
			t.Errorf("NormalizeName(%q) = %q, %v; want %q", in, got, ok, want)
		}
	}
	for _, in := range badNames {
		if got, ok := NormalizeName(in); ok || got != "" {
			t.Errorf("NormalizeName(%q) = %q, %v; want it refused", in, got, ok)
		}
	}
	if n := len(good) + len(badNames); n < 100 {
		t.Errorf("only %d cases", n)
	}
}

var badNames = []string{
	"", ".", "..", ".com", "a..b", "example.com..", ".example.com",
	"example.com\x00", "\x00", "exa\x00mple.com", "example.com\x00.evil.com", "a\tb.com", "a b.com", " a.com", "a.com ",
	"a.com\n", "a\r\n.com", "a\x7f.com", "a\x1b[0m.com",
	"b\u00fccher.example", "\xff.com", "a\x80.com", "\u0430pple.com", "example\u3002com", "example\uff0ecom", "a\u200d.com",
	"\u24d4xample.com", "\uff45xample.com", "\u0130.com", "K\u212a.com",
	`a\.b.com`, `a\000.com`, `\101.com`, "a/b.com", "a:b", "a.com:443", "user@a.com", "a%2ecom", "a%00.com", "*.a.com", "*", "a,b.com",
	"a+b.com", "a=b.com", "a?b", "a#b", "[::1]", "::1", "fe80::1", "a'b.com", `a"b.com`, "(a).com", "a;b.com", "a|b", "a&b", "$a.com", "~a.com",
	"-a.com", "a-.com", "-", "a.-", "a.-.b", "_", "_.com", "a._", "a_b.com", "a_.com", "__a.com", "_-a.com", "_a-.com", "a.b_c.d",
	label(64) + ".com", "a." + label(64), "_" + label(63) + ".com", long(254), long(255), long(254) + ".", label(300),
	"1", "127.1", "127.0.0.1", "1.2.3", "0", "0x7f.1", "0x7f000001", "0X7F", "0x", "a.0x", "017700000001", "a.1", "a.0x1f", "example.123",
	"1.2.3.4.", "256.256.256.256", "00.0", "0177.0.0.01", "a.0xabcdef",
	"xn--", "xn--.com", "xn---", "xn--a.com", "xn--a-.com", "xn--abc-.com", "xn---a.com", "xn--99999999.com", "xn--zzzzzzzzzzzzzzzzzz.com",
	"xn--bcher-kvb-.com", "xn--Bcher-KVA\x00.com", "xn--bcher-kv.com", "xn--_-kva.com",
	"xn--bcher-2pa.example",                              // the same letters as before, an upper-case U-umlaut
	"xn--0zwm56d\u00e4.com",                              // 8-bit after the prefix
	"xn--a-0hb.xn--a-0hb.1",                              // a numeric last label
	"xn--egbpdaj6bu4bxfgehfvwxn.example", "xn--l-0ga\\.", // a question mark, an escape
}

// Punycode of what no label has, encoded by another implementation.
func TestNormalizeNameRefusesDecoded(t *testing.T) {
	for text, decoded := range map[string]string{"wca": "\u00dc", "bcher-2pa": "b\u00dccher", "ab-r13a": "a\u3002b", "ab-yu3n": "a\uff0eb",
		"mi7c": "\uff41", "6a": "\u00a0", "ab-x3t": "a\u2028b", "62g": "\u212a", "0y0c": "\ue000", "1426e": "\U000e0001", "zn7c": "\ufffd",
		"ab-g4t": "a\u202eb", "mwg": "\u2044", "w9g": "\u2215", "zva": "\u0378", "bb0c": "a surrogate"} {
		if why := punycodeProblem("xn--" + text); why != "an xn-- label has a character that no label has" {
			t.Errorf("%q as %q: %q", decoded, text, why)
		}
	}
	for _, text := range []string{"", "-", "abc-", "9", "99999999", "zzzzzzzzzzzzzzzzzz"} {
		if why := punycodeProblem("xn--" + text); why != "an xn-- label is not Punycode" {
			t.Errorf("%q: %q", text, why)
		}
	}
}

// The samples of RFC 3492 §7.1 that are lower case. The first one has a question mark, which no name has.
func TestASCIIName(t *testing.T) {
	for unicode, ascii := range map[string]string{
		"\u0644\u064a\u0647\u0645\u0627\u0628\u062a\u0643\u0644\u0645\u0648\u0634\u0639\u0631\u0628\u064a\u061f": "",
		"\u4ed6\u4eec\u4e3a\u4ec0\u4e48\u4e0d\u8bf4\u4e2d\u6587":                                                 "xn--ihqwcrb4cv8a8dqg056pqjye",
		"3\u5e74b\u7d44\u91d1\u516b\u5148\u751f":                                                                 "xn--3b-ww4c5e180e575a65lsy2b",
		"\u305d\u306e\u30b9\u30d4\u30fc\u30c9\u3067":                                                             "xn--d9juau41awczczp",
		"xn--abc-.example": "", "b\u00fccher\u3002example": "",
		"B\u00fccher.example": "xn--bcher-kva.example",
	} {
		if got := asciiName(unicode); got != ascii {
			t.Errorf("asciiName(%q) = %q, want %q", unicode, got, ascii)
		}
	}
}
