package terminal

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"brig/cmd/brig-bench/internal/result"
)

var table = result.Table{ID: "start", Title: "Start", Question: "How long?", Unit: "ms", Rows: []result.Row{
	{Tool: "brig run", N: 20, P50: 5.5, P90: 6, P99: 12.25},
	{Tool: "podmän", N: 8, P50: 123.4, P90: 200, P99: 250, Ratio: &result.Ratio{To: "brig run", Median: 22.4, Low: 20, High: 25, Verdict: "slower"}},
	{Tool: "x", N: 8, P50: 0.0123, Ratio: &result.Ratio{To: "brig run", Median: 1.01, Low: 0.9, High: 1.1, Verdict: "no difference shown"}},
	{Tool: "crun", Error: "exit status 1: no"},
}, Notes: []string{"20 rounds"}}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	if err := New(&b, false).Table(table); err != nil {
		t.Fatal(err)
	}
	want := `
Start
How long?

               p50   p90   p99   n  ms
  brig run    5.50  6.00  12.2  20
  podmän       123   200   250   8  22x of brig run (20x to 25x): slower
  x         0.0123               8  1.01x of brig run (0.90x to 1.10x): no difference shown
  crun                              exit status 1: no
  20 rounds
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestTableWithX(t *testing.T) {
	var b bytes.Buffer
	err := New(&b, false).Table(result.Table{Title: "T", X: "clients", Unit: "1/s", Rows: []result.Row{{Tool: "a", X: 16, N: 1, P50: 2}, {Tool: "b", Error: "no"}}})
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(b.String(), "\n"); lines[4] != "     clients   p50  n  1/s" || lines[5] != "  a       16  2.00  1" || strings.TrimSpace(lines[6]) == "b" {
		t.Errorf("got\n%s", b.String())
	}
	b.Reset()
	err = New(&b, false).Table(result.Table{Title: "T", Unit: "ms", Rows: []result.Row{{Tool: "a", N: 9, P50: 2, P90: 3, P99: 4, Rate: 512}}})
	if lines := strings.Split(b.String(), "\n"); err != nil || lines[4] != "      p50   p90   p99  a second  n  ms" || lines[5] != "  a  2.00  3.00  4.00       512  9" {
		t.Errorf("%v, got\n%s", err, b.String())
	}
}

func TestColours(t *testing.T) {
	var plain, coloured bytes.Buffer
	if New(&plain, false).Table(table) != nil || New(&coloured, true).Table(table) != nil {
		t.Fatal("cannot write to memory")
	}
	if strings.Contains(plain.String(), "\x1b") || !strings.Contains(coloured.String(), "\x1b[31m22x of brig run") {
		t.Errorf("plain %q, coloured %q", plain.String(), coloured.String())
	}
	if strip := strings.NewReplacer("\x1b[0m", "", "\x1b[1m", "", "\x1b[2m", "", "\x1b[31m", "", "\x1b[32m", ""); strip.Replace(coloured.String()) != plain.String() {
		t.Error("colours change the text")
	}
	if Colours(&plain) {
		t.Error("memory is taken for a terminal")
	}
}

func TestHead(t *testing.T) {
	r := &result.Report{Machine: result.Machine{CPU: "A CPU", Processors: 2, Memory: 8 << 30, Kernel: "6.1", OS: "Debian", Cgroups: "hybrid", User: "user", LoadBefore: 1.7},
		Tools: []result.Tool{{Name: "bubblewrap", Version: "0.8", Differs: []string{"binds"}}, {Name: "nsjail", Absent: "not installed"}}}
	var b bytes.Buffer
	if err := New(&b, false).Head(r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"as an ordinary user", "2 x A CPU, 8.0 GiB, Linux 6.1, Debian, cgroups: hybrid", "load average before the run was 1.7",
		"differs: binds", "absent: not installed"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	b.Reset()
	r.Machine.LoadBefore = 0.2
	if err := New(&b, false).Head(r); err != nil || strings.Contains(b.String(), "load average") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestFigure(t *testing.T) {
	for v, want := range map[float64]string{0: "-", 0.001234: "0.00123", 0.5: "0.50", 9.994: "9.99", 12.34: "12.3", 1234.5: "1234"} {
		if got := Figure(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	if Times(9.5) != "9.50x" || Times(41.4) != "41x" {
		t.Error(Times(9.5), Times(41.4))
	}
}

// Progress goes to terminals alone, and not more often than somebody can read.
func TestProgress(t *testing.T) {
	var b bytes.Buffer
	NewProgress(&b).Say("no")
	if b.Len() > 0 {
		t.Errorf("wrote %q to memory", b.String())
	}
	p := &Progress{w: &b}
	p.Say("one")
	p.Say("two")
	p.last = time.Time{}
	p.Say(strings.Repeat("x", 100))
	p.Done()
	p.Done()
	if got := b.String(); got != "\r\x1b[Kone\r\x1b[K"+strings.Repeat("x", 76)+"\r\x1b[K" {
		t.Errorf("got %q", got)
	}
}
