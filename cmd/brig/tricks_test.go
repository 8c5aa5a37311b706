package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
	"brig/internal/tricks"
	"brig/nsjail"
)

// without links a brig that does not use some tricks.
func without(t testing.TB, off ...tricks.Trick) string {
	t.Helper()
	mask := 0
	for _, trick := range off {
		mask |= 1 << trick
	}
	return link(t, mask)
}

// link links a brig, with further flags of go build.
func link(t testing.TB, mask int, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no compiler")
	}
	file := filepath.Join(t.TempDir(), "brig")
	cmd := exec.Command("../../scripts/static.sh", append(append([]string{"build", "-o", file}, flags...), ".")...)
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
	sets := [][]tricks.Trick{nil, all, {tricks.ForkEarly}, all[1:]}
	if testing.Short() { // each is linked
		sets = sets[:2]
	}
	for i, off := range sets {
		brig := brigBinary(t)
		if off != nil {
			brig = without(t, off...)
		}
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

// BenchmarkTricks measures each trick by runs of two binaries in turn: how much more a start takes without it.
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
			compare(b, with, off, args)
		})
	}
}

// BenchmarkLandlock measures how much more a start takes with a Landlock domain. The binary without is told by an
// overlay of the compiler's that the kernel has no Landlock.
func BenchmarkLandlock(b *testing.B) {
	if asuser.Second() {
		b.Skip("the first run has measured it")
	}
	source, err := filepath.Abs("../../landlock/landlock.go")
	must.Do(b, err)
	text, err := os.ReadFile(source)
	must.Do(b, err)
	const asks = "func ABI() int {\n"
	if !strings.Contains(string(text), asks) {
		b.Fatal("landlock.go asks the kernel elsewhere")
	}
	dir := b.TempDir()
	other, overlay := filepath.Join(dir, "landlock.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {source: other}})
	err = errors.Join(err, os.WriteFile(overlay, replace, 0o600), os.WriteFile(other,
		[]byte(strings.Replace(string(text), asks, asks+"\tif true {\n\t\treturn 0\n\t}\n", 1)), 0o600))
	must.Do(b, err)
	with, off := link(b, 0), link(b, 0, "-overlay", overlay)
	out, err := exec.Command(off, "explain", "--", "true").Output()
	if err != nil || !strings.Contains(string(out), "no Landlock") {
		b.Fatalf("the binary without has one: %v", err)
	}
	b.ResetTimer()
	compare(b, off, with, []string{"run", "--", "true"})
}

// compare reports how much more a start takes with the second binary than with the first, in percent with an interval
// of 95 %: of the time, and of the processor time of the keeper and its children, which other work on the machine
// changes less; and of the fastest tenth of the runs of each, which other work has not met. The order of the two is
// random in each pair. Where a file lies in the page cache moves a start by some percent, so there are eight copies of
// each.
func compare(b *testing.B, first, second string, args []string) {
	b.Helper()
	var files [2][8]string
	for i, file := range []string{first, second} {
		for k := range files[i] {
			files[i][k] = filepath.Join(b.TempDir(), "brig")
			if out, err := exec.Command("cp", file, files[i][k]).CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	}
	var wall, cpu []float64
	var times [2][]float64
	for b.Loop() {
		var w, c [2]float64
		turn := rand.IntN(2)
		for _, i := range []int{turn, 1 - turn} {
			w[i], c[i] = cost(b, files[i][rand.IntN(8)], args)
			times[i] = append(times[i], w[i])
		}
		wall, cpu = append(wall, w[1]/w[0]), append(cpu, c[1]/c[0])
	}
	for _, t := range times {
		slices.Sort(t)
	}
	b.ReportMetric(100*(times[1][len(wall)/10]/times[0][len(wall)/10]-1), "%fast")
	b.ReportMetric(1e3*times[1][len(wall)/10], "ms-fast")
	for name, ratios := range map[string][]float64{"time": wall, "cpu": cpu} {
		slices.Sort(ratios)
		n := float64(len(ratios))
		for suffix, at := range map[string]float64{
			"": n / 2, "-from": n/2 - 0.98*math.Sqrt(n), "-to": n/2 + 0.98*math.Sqrt(n),
		} {
			b.ReportMetric(100*(ratios[min(max(int(at), 0), len(ratios)-1)]-1), "%"+name+suffix)
		}
	}
}

// cost returns what a run takes, in seconds.
func cost(b *testing.B, brig string, args []string) (wall, cpu float64) {
	b.Helper()
	cmd := exec.Command(brig, args...)
	from := time.Now()
	must.Do(b, cmd.Run())
	return time.Since(from).Seconds(), (cmd.ProcessState.SystemTime() + cmd.ProcessState.UserTime()).Seconds()
}
