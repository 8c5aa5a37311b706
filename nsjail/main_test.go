package nsjail

import (
	"os"
	"testing"

	"brig/internal/test/asuser"
	"brig/nsjail/internal/plan"
)

// TestMain runs the suite as root, again as an ordinary user, and the stories of limits once more as one with control
// groups of its own: these callers take other paths through the plan.
func TestMain(m *testing.M) {
	os.Exit(asuser.Main(m, asuser.ShareTestdata, asuser.Build("./cmd/brig", "brig"), asuser.Delegate("^TestLimit")))
}

// edit lets a test change the plan of a jail, which is then made from the host's root.
func (c *Cmd) edit(change func(*plan.Plan)) {
	c.way = func(r *Runner) source { return hostRoot{r.roots, change} }
}
