package lint

import (
	"regexp"
	"strings"
	"testing"

	"brig/nsjail"
)

// TestLimitFlagsAreInTheTable: docs/reference/limits.md has a row for each flag of brig run that limits something. Where the
// group is made is no limit.
func TestLimitFlagsAreInTheTable(t *testing.T) {
	_, table, found := strings.Cut(read(t, "docs/reference/limits.md"), "<!-- limits:")
	table, _, end := strings.Cut(table, "<!-- end -->")
	if !found || !end {
		t.Fatal("docs/reference/limits.md has no table of limits")
	}
	_, help, _ := strings.Cut(read(t, "cmd/brig/testdata/help-run.txt"), "\nLimits:\n")
	help, _, _ = strings.Cut(help, "\nInput and report:\n")
	n := 0
	for _, m := range regexp.MustCompile(`(?m)^(?:  -.,|     ) (--[a-z-]+)`).FindAllStringSubmatch(help, -1) {
		if m[1] == "--cgroup-parent" || m[1] == "--systemd-scope" || m[1] == "--scratch" { // among the sizes
			continue
		}
		if n++; !regexp.MustCompile("(?m)^\\| `[^|]*" + m[1] + "[ `=]").MatchString(table) {
			t.Errorf("no row of the table of limits shows %s", m[1])
		}
	}
	if n < 20 {
		t.Errorf("only %d limits are in the help of brig run: the test is broken", n)
	}
}

// TestStatusesAreExplained: each status has a row, in the table of what ended the jail.
func TestStatusesAreExplained(t *testing.T) {
	_, table, _ := strings.Cut(read(t, "docs/reference/report.md"), "\n## What ended the jail\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, s := range []nsjail.Status{nsjail.StatusOK, nsjail.StatusFailed, nsjail.StatusSignal, nsjail.StatusTimeout, nsjail.StatusCPU, nsjail.StatusMemory,
		nsjail.StatusProcesses, nsjail.StatusOutput, nsjail.StatusDisk, nsjail.StatusViolation, nsjail.StatusCancelled, nsjail.StatusError} {
		if !regexp.MustCompile("(?m)^\\|[^|]*`" + string(s) + "`").MatchString(table) {
			t.Errorf("status %s has no row", s)
		}
	}
}
