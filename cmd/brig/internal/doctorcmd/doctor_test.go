package doctorcmd

import (
	"strings"
	"testing"

	"brig/nsjail/doctor"
)

func TestDoctorTable(t *testing.T) {
	d := diagnosis{Findings: []doctor.Finding{
		{Name: "jail", State: doctor.Partial, Why: "it fails", Fix: "mend it"},
		{Name: "outer filter", State: doctor.Missing, Why: "hostile \x1b[31m\n\u202e text", Text: "line 1\nline 2\n"},
	}}
	want := `jail          partial  it fails
                       fix: mend it
outer filter  missing  hostile \x1b[31m\x0a\u202e text
                       | line 1
                       | line 2

a default jail does not work here; the fixes are above
`
	if got := d.table(false); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	d.Works = true
	if got := d.table(true); !strings.Contains(got, "\x1b[33mpartial\x1b[0m  it fails") || !strings.HasSuffix(got, "\na default jail works here\n") {
		t.Errorf("in colour: %q", got)
	}
}
