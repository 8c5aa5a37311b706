package egress

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"brig/internal/rig"
	"brig/internal/test/asuser"
)

// TestMain runs the suite as root and as an ordinary user; a process in the rig is already one of them.
func TestMain(m *testing.M) {
	if code, is := goClient(); is {
		os.Exit(code)
	}
	if rig.Inside() {
		os.Exit(m.Run())
	}
	// all parts at once: most of their time is waiting
	if err := flag.Set("test.parallel", strconv.Itoa(parts)); err != nil {
		panic(err)
	}
	os.Exit(asuser.Main(m, asuser.ShareTestdata, asuser.Build("./cmd/brig", "brig")))
}
