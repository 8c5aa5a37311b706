package egress

import (
	"fmt"
	"strings"
	"testing"

	"brig/internal/words"
	"brig/netns/egress/policy"
)

// flags is a reader's dialect: allow: ["HOST"] is --allow HOST.
func flags(r words.Ref) (string, bool) {
	return "--" + strings.ReplaceAll(r.Field, "_", "-") + " " + strings.TrimSuffix(strings.TrimPrefix(strings.Trim(r.Value, `"`), `["`), `"]`), true
}

func TestRefusedLine(t *testing.T) {
	for _, c := range []struct {
		events []Event
		want   string
	}{
		{nil, ""},
		{[]Event{{Kind: KindTLS, Verdict: VerdictAllow, Name: "a.example", Port: 443}}, ""},
		{[]Event{{Kind: KindDNS, Verdict: VerdictDeny, Reason: policy.ReasonType, Name: "a.example", Port: 53}}, ""},
		{[]Event{{Kind: KindDNS, Verdict: VerdictDeny, Reason: policy.ReasonNoRule, Name: "pypi.org", Port: 53}},
			"the network refused pypi.org once: no rule allows it (--allow pypi.org)"},
		{[]Event{{Kind: KindTLS, Verdict: VerdictDeny, Reason: policy.ReasonBlocked, Name: "db.example", Port: 443, Address: "10.1.2.3:443", Repeated: 3}},
			"the network refused db.example:443 3 times: it leads to 10.1.2.3, a private address (--allow 10.1.2.3:443)"},
		{[]Event{{Kind: KindTCP, Verdict: VerdictDeny, Reason: policy.ReasonBlocked, Destination: "[fd00::1]:22", Port: 22}},
			"the network refused [fd00::1]:22 once: it is a private address (--allow [fd00::1]:22)"},
		{[]Event{{Kind: KindTLS, Verdict: VerdictDeny, Reason: policy.ReasonOwnAddress, Name: "me.example", Port: 443, Address: "44.1.2.3:443"}},
			"the network refused me.example:443 once: it leads to 44.1.2.3, which is this machine's (--allow 44.1.2.3:443)"},
		{[]Event{{Kind: KindHTTP, Verdict: VerdictDeny, Reason: policy.ReasonMaxConnections, Name: "a.example", Port: 80}},
			"the network refused a.example:80 once: max connections"},
	} {
		s := newSummary()
		for _, e := range c.events {
			e.clean()
			s.count(&e)
		}
		if got := s.RefusedLine().In(flags); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := (*Summary)(nil).RefusedLine(); got != "" {
		t.Errorf("without a network: %q", got)
	}
}

// What a payload makes up can neither grow the summary nor drive the terminal that shows the line.
func TestRefusedIsBounded(t *testing.T) {
	s := newSummary()
	for i := range 1000 {
		e := Event{Kind: KindDNS, Verdict: VerdictDeny, Reason: policy.ReasonNameInvalid, Name: fmt.Sprintf("\x1b[31m\n%d", i), Port: 53}
		e.clean()
		s.count(&e)
		s.count(&e)
	}
	if len(s.Refused) != maxRefused || s.Refused[0].Count != 2 {
		t.Errorf("%+v", s.Refused)
	}
	line := s.RefusedLine().In(flags)
	if !strings.HasSuffix(line, "; and 1994 more (--net-log FILE lists them)") || !plain(strings.ReplaceAll(line, `\`, "")) {
		t.Errorf("%q", line)
	}
	if c := s.clone(); &c.Refused[0] == &s.Refused[0] {
		t.Error("a copy shares its entries")
	}
}
