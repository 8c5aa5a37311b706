package report

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"brig/cmd/brig-bench/internal/result"
)

func TestSummary(t *testing.T) {
	const start = "brig takes 5.74 ms for a jail, from its start to its end (median of 200; 8.90 at the 99th percentile)"
	for _, test := range []struct {
		name   string
		change func(r *result.Report)
		want   string
	}{
		{"all", func(*result.Report) {}, start + ": 8.06 (7.87 to 8.26) times what a process takes without a jail, and " +
			"0.84 (0.82 to 0.86) of what bubblewrap takes. brig Runner takes 1.92 ms, 0.33 of that."},
		{"ratios in brig's row", func(r *result.Report) {
			rows := r.Tables[0].Rows
			rows[0].Ratio, rows[2].Ratio, rows[3].Ratio = nil, nil, nil
			rows[3].Tool = "bubblewrap, fewer mounts"
			rows[1].Ratio = ratio("bubblewrap, fewer mounts", 1.2, 1.1, 1.3, "slower")
		}, start + ": 1.20 (1.10 to 1.30) times what “bubblewrap, fewer mounts” takes."},
		{"no differences", func(r *result.Report) {
			for i := range r.Tables[0].Rows {
				if q := r.Tables[0].Rows[i].Ratio; q != nil {
					q.Verdict = noDifference
				}
			}
		}, start + "."},
		{"against something else", func(r *result.Report) {
			for i := range r.Tables[0].Rows {
				if q := r.Tables[0].Rows[i].Ratio; q != nil {
					q.To = "nsjail"
				}
			}
		}, start + "."},
		{"ratios that are none", func(r *result.Report) {
			rows := r.Tables[0].Rows
			rows[0].Ratio.Low, rows[2].Ratio.Median, rows[3].Ratio.High = 0, math.NaN(), math.Inf(1)
		}, start + "."},
		{"brig failed", func(r *result.Report) { r.Tables[0].Rows[1].Error = "no" }, "This run has no figure for how long brig takes to start a jail."},
		{"no table", func(r *result.Report) { r.Tables = nil }, "This run has no figure for how long brig takes to start a jail."},
	} {
		r := sample()
		test.change(r)
		if got := summary(r); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

// What tools, kernels and errors say is text: it opens no element, ends no attribute, and reaches neither the anchor of a
// label nor a control character.
func TestEscapes(t *testing.T) {
	const evil = "\uE002</style></title></text></svg><script>alert(1)</script>\" onload='alert(2)' &lt;]]>\x00\x1b[31m\u202e{{.}}<!--"
	r := sample()
	r.Machine = result.Machine{CPU: evil, Kernel: evil, OS: evil, Virtual: evil, Cgroups: evil, User: evil}
	r.Tools = []result.Tool{{Name: evil, Version: evil, Differs: []string{evil}}, {Name: evil, Absent: evil}}
	bars := []result.Row{{Tool: evil, P50: 1, P99: 2, Ratio: ratio(evil, 2, 1, 3, evil)}, {Tool: evil, Error: evil}}
	lines := []result.Row{{Tool: evil, X: 1, P50: 1}, {Tool: evil, X: 2, P50: 1}, {Tool: evil, X: 3, Error: evil}}
	r.Tables = append(r.Tables, result.Table{ID: evil, Title: evil, Question: evil, Unit: evil, Rows: bars, Notes: []string{evil}},
		result.Table{ID: evil, Title: evil, Question: evil, Unit: evil, X: evil, Rows: lines})
	r.Tables[0].Rows[2].Tool = "brig " + evil
	page := string(render(t, r))
	for _, bad := range []string{"<script", "</style></title>", "onload='", `onload="`, "]]>", "\x00", "\x1b", "\u202e", "\uE002", "<!--"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if n := strings.Count(page, "alert(1)"); n < 20 {
		t.Errorf("only %d of the strings are on the page: the test tests nothing", n)
	}
	if want, got := len(r.Tables), strings.Count(page, "<svg "); got != want {
		t.Errorf("%d plots for %d tables", got, want)
	}
	for i := range r.Tables {
		if svg := string(plotOf(t, &r.Tables[i])); strings.Contains(svg, "<script") {
			t.Errorf("%s", svg)
		}
	}
}

func TestPageSays(t *testing.T) {
	r := sample()
	r.Quick, r.Machine.LoadBefore = true, 50.4
	r.Tables = append(r.Tables, result.Table{ID: "start", Title: "Again", Question: "Why twice?"},
		result.Table{ID: "group", Title: "In a group", Rows: []result.Row{{Tool: "one", Error: "no group"}, {Tool: "two", Error: "no group"}, {Tool: "three", Error: "no disk"}}})
	page := string(render(t, r))
	for _, want := range []string{"not measured: exit status 1", "no daemon answers", "1 March 2026, 09:30 UTC, for 17m12s", "8 GiB", "quick run",
		"load average before the run was 50.4", "one, two</th>", "three</th>",
		`id="t-start"`, `id="t-start-2"`, "There are no figures in this table.", "<b>1.19</b> × brig run", `<td class="none">no difference shown</td>`,
		`<td class="shown">slower</td>`, "no system-call filter", "A difference below 2.1 %"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if page := string(render(t, &result.Report{})); !strings.Contains(page, "no figure") || !strings.Contains(page, "No tool took part.") {
		t.Errorf("an empty report says\n%s", page)
	}
}

// broken is a writer that takes nothing.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

// A table of times may say how many there were in a second, and a row without figures spans that, too.
func TestRates(t *testing.T) {
	r := &result.Report{Tables: []result.Table{{ID: "api", Title: "T", Unit: "ms", X: "clients", Rows: []result.Row{
		{Tool: "/bin/true", X: 1, N: 9, P50: 2, P90: 3, P99: 4, Rate: 512}, {Tool: "python", X: 1, Error: "none"}}}}}
	page := string(render(t, r))
	for _, want := range []string{`<th scope="col" class="n">a second</th>`, `<td class="n">512</td>`, `colspan="5"`} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
}

func TestErrors(t *testing.T) {
	if err := Write(&bytes.Buffer{}, nil); err == nil {
		t.Error("no report is a report")
	}
	if _, err := SVG(nil); err == nil {
		t.Error("no table is a table")
	}
	if err := Write(broken{}, sample()); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("a write that fails: %v", err)
	}
}
