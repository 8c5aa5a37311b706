package policy

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestParseRule(t *testing.T) {
	for text, want := range map[string]struct {
		rule  Rule
		canon string
	}{
		"example.com":               {Rule{Host: "example.com"}, "example.com"},
		"EXAMPLE.com.":              {Rule{Host: "example.com"}, "example.com"},
		"example.com:443":           {Rule{Host: "example.com", Ports: []Ports{{443, 443}}}, "example.com:443"},
		"*.pypi.org:443":            {Rule{Host: "*.pypi.org", Ports: []Ports{{443, 443}}}, "*.pypi.org:443"},
		"*.Example.COM":             {Rule{Host: "*.example.com"}, "*.example.com"},
		"example.com:443,80":        {Rule{Host: "example.com", Ports: []Ports{{80, 80}, {443, 443}}}, "example.com:80,443"},
		"example.com:8000-8010":     {Rule{Host: "example.com", Ports: []Ports{{8000, 8010}}}, "example.com:8000-8010"},
		"example.com:80,81,82-90":   {Rule{Host: "example.com", Ports: []Ports{{80, 90}}}, "example.com:80-90"},
		"example.com:*":             {Rule{Host: "example.com", Ports: []Ports{{1, 65535}}}, "example.com:*"},
		"example.com:1-65535":       {Rule{Host: "example.com", Ports: []Ports{{1, 65535}}}, "example.com:*"},
		"example.com:5-5":           {Rule{Host: "example.com", Ports: []Ports{{5, 5}}}, "example.com:5"},
		"tcp://db.example:5432":     {Rule{Host: "db.example", Ports: []Ports{{5432, 5432}}, Mode: ModeTCP}, "tcp://db.example:5432"},
		"tls://example.com:8443":    {Rule{Host: "example.com", Ports: []Ports{{8443, 8443}}, Mode: ModeTLS}, "tls://example.com:8443"},
		"http://example.com":        {Rule{Host: "example.com", Mode: ModeHTTP}, "http://example.com"},
		"http://example.com/":       {Rule{Host: "example.com", Mode: ModeHTTP}, "http://example.com"},
		"https://example.com":       {Rule{Host: "example.com", Mode: ModeTLS}, "tls://example.com"},
		"HTTPS://example.com:8443/": {Rule{Host: "example.com", Ports: []Ports{{8443, 8443}}, Mode: ModeTLS}, "tls://example.com:8443"},
		"10.1.2.0/24:5432":          {Rule{CIDR: "10.1.2.0/24", Ports: []Ports{{5432, 5432}}}, "10.1.2.0/24:5432"},
		"10.1.2.3/32:22":            {Rule{CIDR: "10.1.2.3", Ports: []Ports{{22, 22}}}, "10.1.2.3:22"},
		"10.1.2.3":                  {Rule{CIDR: "10.1.2.3"}, "10.1.2.3"},
		"0.0.0.0/0:443":             {Rule{CIDR: "0.0.0.0/0", Ports: []Ports{{443, 443}}}, "0.0.0.0/0:443"},
		"udp://192.0.2.1:123":       {Rule{CIDR: "192.0.2.1", Ports: []Ports{{123, 123}}, Mode: ModeUDP}, "udp://192.0.2.1:123"},
		"[2001:DB8::1]:443":         {Rule{CIDR: "2001:db8::1", Ports: []Ports{{443, 443}}}, "[2001:db8::1]:443"},
		"[2001:db8:0:0::/32]:1-3":   {Rule{CIDR: "2001:db8::/32", Ports: []Ports{{1, 3}}}, "[2001:db8::/32]:1-3"},
		"udp://[2001:db8::1]:123":   {Rule{CIDR: "2001:db8::1", Ports: []Ports{{123, 123}}, Mode: ModeUDP}, "udp://[2001:db8::1]:123"},
		"[2001:db8::1/128]":         {Rule{CIDR: "2001:db8::1"}, "[2001:db8::1]"},
		"xn--bcher-kva.example:443": {Rule{Host: "xn--bcher-kva.example", Ports: []Ports{{443, 443}}}, "xn--bcher-kva.example:443"},
	} {
		got, err := ParseRule(text)
		if err != nil || !reflect.DeepEqual(got, want.rule) || got.String() != want.canon {
			t.Errorf("ParseRule(%q) = %+v %q, %v; want %+v %q", text, got, got, err, want.rule, want.canon)
			continue
		}
		again, err := ParseRule(got.String())
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("ParseRule(%q) = %+v, %v; want it unchanged", got, again, err)
		}
		data, err := json.Marshal(got)
		var back Rule
		if err == nil {
			err = json.Unmarshal(data, &back)
		}
		if err != nil || !reflect.DeepEqual(back, got) {
			t.Errorf("%s comes back as %+v, %v", data, back, err)
		}
	}
}

// The error of a refused rule tells why, and how to write it.
func TestParseRuleRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                               `host: the rule names nothing: set host`,
		":443":                           `host: the rule names nothing`,
		"*.":                             `host: "*." is no host name`,
		"*.*.example.com":                `a * stands alone before the first dot`,
		"a.*.example.com":                `a * stands alone before the first dot`,
		"*example.com":                   `a * stands alone before the first dot`,
		"example.*":                      `a * stands alone before the first dot`,
		"https://example.com/a":          `write the name alone; a path goes into a policy file`,
		"https://10.0.0.1":               `an address has no name`,
		"ftp://example.com":              `"ftp" is no mode: `,
		"htp://example.com":              `did you mean http?`,
		"TCP://example.com":              `did you mean tcp?`,
		"://example.com":                 `is no mode`,
		"http://example.com/api":         `"paths": ["/api"]`,
		"example.com/24":                 `write the name alone`,
		"user@example.com":               `write the name alone`,
		"example.com:":                   `"" is no port`,
		"example.com:0":                  `"0" is no port`,
		"example.com:65536":              `"65536" is no port: write a number from 1 to 65535`,
		"example.com:080":                `"080" is no port`,
		"example.com:+80":                `"+80" is no port`,
		"example.com:-80":                `"-80" is no port`,
		"example.com:80-":                `"80-" is no port`,
		"example.com:90-80":              `ends before it begins: write 80-90`,
		"example.com:80,":                `"" is no port`,
		"example.com:80, 443":            `" 443" is no port`,
		"example.com:https":              `"https" is no port`,
		"example.com:80:81":              `more than one colon`,
		"2001:db8::1":                    `in brackets`,
		"2001:db8::1:443":                `in brackets`,
		"[2001:db8::1":                   `no bracketed IPv6`,
		"[2001:db8::1]443":               `no bracketed IPv6`,
		"[10.0.0.1]:443":                 `no bracketed IPv6`,
		"[example.com]:443":              `no bracketed IPv6`,
		"[2001:db8::1]/64:443":           `no bracketed IPv6`,
		"[fe80::1%eth0]:443":             `has a zone`,
		"[::ffff:10.0.0.1]:443":          `write 10.0.0.1`,
		"[::ffff:10.0.0.0/104]:443":      `write 10.0.0.0/8`,
		"10.1.2.3/24:443":                `write 10.1.2.0/24 for the network, or 10.1.2.3`,
		"[2001:db8::1/32]:443":           `write 2001:db8::/32`,
		"10.1.2.0/33:443":                `is no address or prefix`,
		"10.1.2.0/024:443":               `is no address or prefix`,
		"010.1.2.3:443":                  `looks like a number`,
		"127.1:443":                      `looks like a number`,
		"2130706433":                     `looks like a number`,
		"0x7f.0.0.1":                     `looks like a number`,
		"b\u00fccher.example":            `write xn--bcher-kva.example`,
		"B\u00dcCHER.example":            `write xn--bcher-kva.example`,
		"exa mple.com":                   `has ' ', which no host name has`,
		"exa\x00mple.com":                `"exa\x00mple.com" is no host name: it has control bytes`,
		"a\nb":                           `"a\nb" is no host name`,
		"udp://example.com:123":          `mode: udp goes to addresses only`,
		"udp://*.example.com:123":        `mode: udp goes to addresses only`,
		"tls://10.0.0.1:443":             `mode: an address has no name`,
		"http://10.0.0.0/8:80":           `mode: an address has no name`,
		"example.com:443 GET":            `"443 GET" is no port`,
		strings.Repeat("a", 70) + ".com": `longer than 63 bytes`,
		"*." + long(252):                 `no name below it is short enough`,
		strings.Repeat("\x1b", 1<<16):    `... (65536 bytes)`,
	} {
		r, err := ParseRule(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseRule(%.80q) = %+v, %v; want %q", text, r, err, want)
			continue
		}
		if p := err.(*Problem); p.Fix == "" || p.Reason == "" || len(err.Error()) > 800 || strings.ContainsAny(err.Error(), "\n\x1b\x00") {
			t.Errorf("ParseRule(%.80q): %q", text, err)
		}
	}
}

func TestPortSet(t *testing.T) {
	all := portSet{anyPort}
	for _, c := range []struct{ got, want string }{
		{newPortSet([]Ports{{5, 9}, {1, 3}, {4, 4}, {20, 30}, {25, 26}}).String(), "1-9,20-30"},
		{newPortSet(nil).String(), ""},
		{newPortSet([]Ports{{65535, 65535}, {1, 65534}}).String(), "*"},
		{all.minus(portSet{{53, 53}}).String(), "1-52,54-65535"},
		{all.minus(portSet{{1, 1}, {65535, 65535}}).String(), "2-65534"},
		{all.minus(all).String(), ""},
		{all.and(portSet{{7, 9}}).String(), "7-9"},
		{portSet{{1, 10}, {20, 30}}.and(portSet{{5, 25}}).String(), "5-10,20-25"},
		{portSet{{1, 10}}.and(portSet{{11, 12}}).String(), ""},
		{portSet{{1, 10}}.minus(portSet{{3, 4}, {6, 6}}).String(), "1-2,5,7-10"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
