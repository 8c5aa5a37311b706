package nsjail

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"brig/internal/test/asuser"
)

// TestLimitSpeed times `brig run` with and without limits that need a control group, in turn, and logs the ratio. No
// number is required of it; BRIG_TEST_FULL asks for more rounds.
func TestLimitSpeed(t *testing.T) {
	tight(t, "true")
	rounds := 10
	if os.Getenv(fullVar) != "" {
		rounds = 200
	}
	brig := filepath.Join(asuser.Dir(), "brig")
	run := func(args ...string) time.Duration {
		begin := time.Now()
		if out, err := exec.Command(brig, append(append([]string{"run"}, args...), "--", "/bin/true")...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return time.Since(begin)
	}
	limits := []string{"--memory", "64m", "--cpus", "1", "--pids-limit", "64"}
	var plain, limited []time.Duration
	var ratios []float64
	for i := range rounds + 3 {
		var a, b time.Duration
		if i%2 == 0 {
			a, b = run(), run(limits...)
		} else {
			b, a = run(limits...), run()
		}
		if i >= 3 {
			plain, limited, ratios = append(plain, a), append(limited, b), append(ratios, float64(b)/float64(a))
		}
	}
	slices.Sort(plain)
	slices.Sort(limited)
	slices.Sort(ratios)
	mid := rounds / 2
	t.Logf("medians of %d rounds: without %s, with %s; ratio %.2f, paired %.2f", rounds, plain[mid], limited[mid],
		float64(limited[mid])/float64(plain[mid]), ratios[mid])
}
