package lint

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"brig/internal/test/long"
)

// A program that embeds brig, built without cgo, is told so, and misses nothing else of ours.
func TestWithoutCgo(t *testing.T) {
	long.Test(t) // Go's own packages may have to be compiled without cgo
	cmd := exec.Command("go", "build", "./nsjail")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatal("brig/nsjail is built without cgo")
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "undefined") && !strings.Contains(line, "brig_needs_cgo_and_libseccomp_dev_see_examples_README_md") {
			t.Error(line)
		}
	}
	if !strings.Contains(string(out), "brig_needs_cgo") {
		t.Errorf("%s", out)
	}
}
