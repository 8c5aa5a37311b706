package job

import (
	"context"
	"os"
	"strings"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
	"brig/nsjail"
)

// TestMain runs the suite as root and again as an ordinary user.
func TestMain(m *testing.M) { os.Exit(asuser.Main(m)) }

// A Job runs with its streams and functions, and a refused one does not.
func TestOn(t *testing.T) {
	r := must.Get(nsjail.NewRunner())(t)
	defer r.Close()
	var out strings.Builder
	var seen []string
	j := &Job{Spec: nsjail.Spec{Args: []string{"cat"}}, Stdin: strings.NewReader("in"), Stdout: &out, WantPlanDigest: true,
		Started: func(*nsjail.Cmd) { seen = append(seen, "started") }, Ended: func() { seen = append(seen, "ended") }}
	res := must.Get(On(r).Execute(context.Background(), j))(t)
	if res.Status != nsjail.StatusOK || out.String() != "in" || strings.Join(seen, " ") != "started ended" ||
		len(j.PlanDigest) != 64 {
		t.Errorf("%v, %q, %q, digest %q", res, out.String(), seen, j.PlanDigest)
	}
	j = &Job{Spec: nsjail.Spec{Args: []string{"true"}}}
	no := &Refusal{Message: "no", Layer: "policy"}
	j.Refuse(no)
	j.Refuse(&Refusal{Message: "again", Layer: "jail"})
	if res, err := On(r).Execute(context.Background(), j); res != nil || err != no || err.Error() != "policy: no" {
		t.Errorf("a refused Job: %v, %v", res, err)
	}
}
