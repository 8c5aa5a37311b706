package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/internal/test/asuser"
	"brig/internal/tricks"
	"brig/nsjail"
)

// without links a brig that does not use some tricks.
func without(t testing.TB, off ...tricks.Trick) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no compiler")
	}
	mask := 0
	for _, trick := range off {
		mask |= 1 << trick
	}
	file := filepath.Join(t.TempDir(), "brig")
	cmd := exec.Command("../../scripts/static.sh", "build", "-o", file, ".")
	cmd.Env = append(os.Environ(), fmt.Sprintf("EXTLDFLAGS=-Wl,--defsym=brig_tricks_off=%d", mask))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// A jail and its answer are the same without the tricks.
func TestTricksOff(t *testing.T) {
	if asuser.Second() {
		t.Skip("the first run has built it")
	}
	type answer struct {
		Status         nsjail.Status
		ExitCode       int               `json:"exit_code"`
		Enforced       map[string]string `json:"enforced"`
		Stdout, Stderr string
	}
	runs := [][]string{
		{"--", "sh", "-c", "id -u; nproc; ulimit -n; hostname; ls /; grep -c . /proc/self/mountinfo; exit 3"},
		{"--no-init", "--", "sh", "-c", "echo out; echo err >&2"},
		{"--net=none", "--hostname", "box", "--tmpfs", "/t", "--", "hostname"},
		{"--timeout", "200ms", "--", "sleep", "9"},
		{"--", "nosuchcommand"},
	}
	all := tricks.All()
	was := make([]answer, len(runs))
	for i, off := range [][]tricks.Trick{nil, {tricks.ForkEarly}, all[1:], all} {
		brig := without(t, off...)
		for k, args := range runs {
			out, _ := exec.Command(brig, append([]string{"run", "--json"}, args...)...).Output() // its exit code is in it
			var a answer
			if err := json.Unmarshal(out, &a); err != nil {
				t.Fatalf("%q without %v: %v\n%s", args, off, err, out)
			}
			for what, how := range a.Enforced { // not the ids, nor what was made ahead
				a.Enforced[what], _, _ = strings.Cut(how, " ")
			}
			if i == 0 {
				was[k] = a
			} else if got, want := fmt.Sprint(a), fmt.Sprint(was[k]); got != want {
				t.Errorf("%q without %v:\n%s\nand with them:\n%s", args, off, got, want)
			}
		}
	}
}

// BenchmarkTricks measures each trick by runs of two binaries in turn. The figures are how much more a start takes
// without the trick: of the time, and of the processor time of the keeper and its children, which other work on the
// machine changes less.
func BenchmarkTricks(b *testing.B) {
	if asuser.Second() {
		b.Skip("the first run has measured it")
	}
	with := without(b)
	for _, trick := range tricks.All() {
		if trick == tricks.SideBySide { // BenchmarkStart of nsjail
			continue
		}
		off := without(b, trick)
		b.Run(trick.String(), func(b *testing.B) {
			args := []string{"run", "--", "true"}
			if trick == tricks.OwnerMap {
				args = []string{"run", "--work", b.TempDir(), "--", "true"}
			}
			var wall, cpu []float64
			for b.Loop() {
				wall0, cpu0 := cost(b, with, args)
				wall1, cpu1 := cost(b, off, args)
				wall, cpu = append(wall, wall1/wall0), append(cpu, cpu1/cpu0)
			}
			slices.Sort(wall)
			slices.Sort(cpu)
			b.ReportMetric(100*(wall[len(wall)/2]-1), "%time")
			b.ReportMetric(100*(cpu[len(cpu)/2]-1), "%cpu")
		})
	}
}

// cost returns what a run takes, in seconds.
func cost(b *testing.B, brig string, args []string) (wall, cpu float64) {
	b.Helper()
	cmd := exec.Command(brig, args...)
	from := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
	return time.Since(from).Seconds(), (cmd.ProcessState.SystemTime() + cmd.ProcessState.UserTime()).Seconds()
}
