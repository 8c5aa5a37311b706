package freezer

import (
	"context"
	"os"
	"strings"
	"testing"

	"brig/brigd/job"
	"brig/internal/test/asuser"
	"brig/internal/test/must"
	"brig/nsjail"
)

// TestMain runs the suite as root and again as an ordinary user.
func TestMain(m *testing.M) { os.Exit(asuser.Main(m)) }

// Jails are known by their sandbox as long as they run, and the Job's own function is called as well.
func TestTrack(t *testing.T) {
	r := must.Get(nsjail.NewRunner())(t)
	defer r.Close()
	for box, want := range map[string]string{"sb_a": "started known", "": "started"} {
		var f Freezer
		var seen []string
		known := func() bool {
			n := 0
			for range f.in.Range {
				n++
			}
			return n > 0
		}
		j := &job.Job{Sandbox: box, Spec: nsjail.Spec{Args: []string{"cat"}}, Stdin: strings.NewReader("")}
		j.Started = func(*nsjail.Cmd) {
			if seen = append(seen, "started"); known() {
				seen = append(seen, "known")
			}
			thaw, n := f.Freeze("sb_other")
			if err := thaw(); err != nil || n != 0 {
				t.Errorf("%d jails of another sandbox are frozen: %v", n, err)
			}
			thaw, _ = f.Freeze(box) // none, if this machine gives no control group
			must.Do(t, thaw())
		}
		end := f.Track(j)
		if res := must.Get(job.On(r).Execute(context.Background(), j))(t); res.Status != nsjail.StatusOK {
			t.Errorf("%+v", res)
		}
		if end(); known() || strings.Join(seen, " ") != want {
			t.Errorf("%q: %q", box, seen)
		}
	}
}
