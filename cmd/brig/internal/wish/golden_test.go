package wish

import (
	"strings"
	"testing"

	"brig/internal/test/golden"
	"brig/internal/test/must"
)

// What flags mean, as brig spec prints it.
func TestGolden(t *testing.T) {
	w, _, err := Parse("spec", nil, strings.Fields("--input a --work . --tmpfs /t:size=64m -e A=b --pass-env LC_* --user 0 --net none --timeout 30s "+
		"--ulimit nofile=64:128 --memory 1g --optional memory --rootfs r --rootfs-writable=1g --no-init -t -- sh -c id"), noFiles)
	must.Do(t, err)
	golden.File(t, "testdata/spec.json", string(w.Spec.JSON()))
	if w, _, err = Parse("spec", nil, strings.Fields(everyLimit), noFiles); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/spec-limits.json", string(w.Spec.JSON()))
}
