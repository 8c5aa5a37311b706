package attack

import (
	"os"
	"strings"
	"testing"

	"brig/internal/test/must"
)

func TestHeaders(t *testing.T) {
	a, err := Parse("net-x.py", "# It is a claim that somebody makes (CVE-2024-21626).\n# args: $DIR/x $MARK\n# setup: pipe\n"+
		"# spec: {\"user\": \"0:0\"}\n# prose with: a colon\n# unless: {\"net\": \"host\"}\n# harm: it kills\n# root: why\n"+
		"# refusal: reason\n# plan: leak=$DIR\n# off: user bind=/tmp\n# off: label=caps\nfrom kernel import *\n# off: not read\n")
	must.Do(t, err)
	if a.Title() != "net-x" || a.Lane != "root" || a.LaneReason != "why" || !a.MayRefuse || a.Harm != "it kills" ||
		len(a.Unless) != 1 || len(a.Plans) != 1 || len(a.Specs) != 1 || len(a.Setups) != 1 {
		t.Errorf("%+v", a)
	}
	if got := a.Mitigation(); got != "user: bind=/tmp; label=caps" {
		t.Error(got)
	}
	if got := a.CVEs(); len(got) != 1 || got[0] != "CVE-2024-21626" {
		t.Error(got)
	}
	s := &Scene{Vars: map[string]string{"DIR": "/d", "MARK": "m"}}
	if got := strings.Join(a.Command(s), " "); got != "python3 /escape/net-x.py /d/x m" {
		t.Error(got)
	}
	const claim = "# It is a claim that somebody makes.\n"
	for text, want := range map[string]string{
		"":                                  "is not a claim",
		"# short.\n":                        "is not a claim",
		"# It is a claim without a stop\n":  "is not a claim",
		claim:                               "no off",
		claim + "# off: caps\n":             "is not KIND=VALUE",
		claim + "# plan: caps\n":            "is not KIND=VALUE",
		claim + "# setup: none\n":           `there is no setup "none"`,
		claim + "# colour: red\n":           `"colour" is not a field`,
		claim + "# off:none, because\n#x\n": "",
	} {
		switch _, err := Parse("x.py", text); {
		case err == nil && want != "":
			t.Errorf("%q is read", text)
		case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzParse: whatever a file begins with, there is an attack with a claim and an off, or an error.
func FuzzParse(f *testing.F) {
	list := must.Get(Load(os.DirFS("../../testdata"), "escape"))(f)
	for _, a := range list {
		head, _, _ := strings.Cut(a.Text, "\nfrom ")
		f.Add(head)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Parse("x.py", text)
		if err != nil {
			return
		}
		if len(a.Claim) < 12 || a.Mitigation() == "" || strings.Contains(a.Claim, "\n") {
			t.Errorf("%q: %+v", text, a)
		}
		for _, o := range append(a.Offs, a.Plans...) {
			if o.Lane != "" && o.Lane != "root" && o.Lane != "user" {
				t.Errorf("%q: %+v", text, o)
			}
		}
	})
}
