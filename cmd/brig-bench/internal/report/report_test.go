package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/cmd/brig-bench/internal/result"
	"brig/internal/test/golden"
	"brig/internal/test/must"
)

// docs holds the results of the last runs.
const docs = "../../../../docs/benchmarks"

func written(t *testing.T, path string, write func(io.Writer) error) {
	t.Helper()
	var got bytes.Buffer
	must.Do(t, write(&got))
	golden.File(t, path, got.String())
}

// sample is an invented run with everything that a run can hold: absent tools, failed rows, a table by a number.
func sample() *result.Report {
	ratio := &result.Ratio{To: "brig run", Median: 22.41, Low: 20, High: 25.06, Verdict: "slower"}
	return &result.Report{
		Started: time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC), Finished: time.Date(2026, 3, 1, 9, 47, 12, 0, time.UTC), Quick: true,
		Machine: result.Machine{CPU: "A CPU", Processors: 2, Memory: 8 << 30, Kernel: "6.1", OS: "Debian", Virtual: "kvm",
			Cgroups: "hybrid", User: "root", LoadBefore: 1.7, LoadAfter: 0.04},
		Tools: []result.Tool{{Name: "brig run", Version: "0.9"}, {Name: "bubblewrap", Version: "0.8", Differs: []string{"binds"}},
			{Name: "nsjail", Absent: "not installed"}},
		Tables: []result.Table{
			{ID: "start", Title: "Start", Question: "How long?", Unit: "ms", Notes: []string{"20 rounds"}, Rows: []result.Row{
				{Tool: "brig run", N: 20, P50: 5.5, P90: 6, P99: 12.25},
				{Tool: "podmän", N: 8, P50: 123.4, P90: 200, P99: 1250, Ratio: ratio},
				{Tool: "bubblewrap", N: 20, P50: 6, P90: 7, P99: 8, Ratio: &result.Ratio{To: "brig run", Median: 1.09, Low: 1.05, High: 1.1,
					Verdict: "slower"}},
				{Tool: "crun", Error: "exit status 1: no"}}},
			{ID: "api", Title: "Requests", Question: "How many?", Unit: "ms", X: "clients", Rows: []result.Row{
				{Tool: "/bin/true", X: 1, N: 9, P50: 2, P90: 3, P99: 4}, {Tool: "python", X: 64, Error: "no"}}},
			{ID: "none", Title: "Nothing", Question: "Is it there?", Unit: "ms"}},
	}
}

// TestSummary: the preferred tables come first, five at most, and the words are of brig run.
func TestSummary(t *testing.T) {
	table := func(id, verdict string) result.Table {
		return result.Table{ID: id, Title: id, Unit: "ms", Rows: []result.Row{{Tool: "brig run", N: 9, P50: 1},
			{Tool: "bubblewrap", N: 9, P50: 2, Ratio: &result.Ratio{To: "brig run", Verdict: verdict}}}}
	}
	r := &result.Report{Tables: []result.Table{table("a", "slower"), table("job-usr", "faster"), table("b", "no difference shown"),
		table("job", "slower"), table("c", "slower"), table("d", "slower"), {ID: "none"}}}
	var got []string
	for _, l := range summary(r) {
		got = append(got, l.Asked+": "+l.Verdict)
	}
	want := []string{"job: brig run is faster than bubblewrap (0.50 of it)", "job-usr: brig run is slower than bubblewrap (0.50 of it)",
		"a: brig run is faster than bubblewrap (0.50 of it)", "b: between brig run and bubblewrap, no difference shown",
		"c: brig run is faster than bubblewrap (0.50 of it)"}
	if !slices.Equal(got, want) {
		t.Errorf("the summary is\n%q", got)
	}
}

func TestGolden(t *testing.T) {
	written(t, "testdata/report.html", func(w io.Writer) error { return Page(w, sample()) })
	written(t, "testdata/report.txt", func(w io.Writer) error {
		err := errors.Join(Head(w, sample()), Short(w, sample()))
		for _, table := range sample().Tables {
			err = errors.Join(err, Table(w, table))
		}
		return err
	})
}

// runs is an invented range over three runs.
func runs(t *testing.T) *result.Report {
	var all []*result.Report
	for i, p50 := range []float64{5, 6, 5.5} {
		r := sample()
		r.Quick, r.Started = false, r.Started.Add(time.Duration(i)*time.Hour)
		r.Tables[0].Rows = []result.Row{{Tool: "no jail", N: 5, P50: 1}, {Tool: "brig run", N: 5, P50: p50},
			{Tool: "bubblewrap", N: 5, P50: 4 + p50/2}, {Tool: "crun", Error: "exit status 1: a|b"}}
		r.Tables[1].Rows = append(r.Tables[1].Rows, result.Row{Tool: "bubblewrap", X: 1, N: 9, P50: p50})
		all = append(all, r)
	}
	return must.Get(result.Merge(all))(t)
}

func TestRanges(t *testing.T) {
	written(t, "testdata/ranges.md", func(w io.Writer) error {
		return errors.Join(Brief(w, runs(t)), Summary(w, runs(t)), Markdown(w, runs(t)))
	})
}

// What documents have between markers is what the results in docs/benchmarks say: "brig-bench: summary root".
func TestDocs(t *testing.T) {
	block := regexp.MustCompile(`(?s)(<!-- brig-bench: (\w+) (\w+) -->\n).*?(<!-- end -->)`)
	found := 0
	for _, name := range []string{docs + "/README.md", docs + "/../../README.md"} {
		text := must.Get(os.ReadFile(name))(t)
		written(t, name, func(w io.Writer) (err error) {
			fresh := block.ReplaceAllFunc(text, func(old []byte) []byte {
				m := block.FindSubmatch(old)
				data, rerr := os.ReadFile(filepath.Join(docs, string(m[3])+".json"))
				found++
				r, b := new(result.Report), bytes.NewBuffer(bytes.Clone(m[1]))
				write := map[string]func(io.Writer, *result.Report) error{"brief": Brief, "summary": Summary, "tables": Markdown}[string(m[2])]
				err = errors.Join(err, rerr, json.Unmarshal(data, r), write(b, r))
				return append(b.Bytes(), m[4]...)
			})
			_, werr := w.Write(fresh)
			return errors.Join(err, werr)
		})
	}
	if found != 4 {
		t.Errorf("%d blocks in the documents: the test is broken", found)
	}
}

// Text of tools, kernels and errors opens no element and ends no attribute, and has no control character. The page
// needs no network and no script.
func TestEscapes(t *testing.T) {
	const evil = "</style></title></text></svg><script>alert(1)</script>\" onload='alert(2)' &lt;]]>\x00\x1b[31m\u202e{{.}}<!--"
	r := sample()
	r.Machine = result.Machine{CPU: evil, Kernel: evil, OS: evil, Virtual: evil, Cgroups: evil, User: evil}
	r.Tools = []result.Tool{{Name: evil, Version: evil, Differs: []string{evil}}, {Name: evil, Absent: evil}}
	ratio := &result.Ratio{To: evil, Median: 2, Low: math.NaN(), High: math.Inf(1), Verdict: evil}
	r.Tables = append(r.Tables, result.Table{ID: evil, Title: evil, Question: evil, Unit: evil, Notes: []string{evil},
		Rows: []result.Row{{Tool: evil, P50: 1, P99: 2, Ratio: ratio}, {Tool: evil, Error: evil}}},
		result.Table{ID: "x", Title: evil, Question: evil, Unit: evil, X: evil, Rows: []result.Row{{Tool: evil, X: 1, P50: 1}}})
	var b bytes.Buffer
	must.Do(t, Page(&b, r))
	for dec := xml.NewDecoder(bytes.NewReader(b.Bytes())); ; {
		if _, err := dec.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
	}
	bad := `(?i)<script|<link|<img|<iframe|@import|url\(|\ssrc=|\son[a-z]+=['"]|href="[^#]|\x00|\x1b|\x{202e}`
	if m := regexp.MustCompile(bad).FindString(b.String()); m != "" {
		t.Errorf("the page has %q", m)
	}
	if n := strings.Count(b.String(), "alert(1)"); n < 20 {
		t.Errorf("only %d of the strings are on the page", n)
	}
	r.Tools = []result.Tool{{Version: evil, Differs: []string{evil}}, {Absent: evil}}
	r.Machine.User = "root"
	ratio.Verdict = "slower"
	table := result.Table{Notes: []string{evil}, Rows: []result.Row{{P50: 1, Ratio: ratio}, {Error: evil}}}
	var text bytes.Buffer
	must.Do(t, errors.Join(Head(&text, r), Table(&text, table)))
	if strings.ContainsAny(text.String(), "\x00\x1b\u202e") || strings.Count(text.String(), "alert(1)") < 8 {
		t.Errorf("%q", text.String())
	}
}

func TestBars(t *testing.T) {
	rows := func(figures ...float64) (list []result.Row) {
		for _, f := range figures {
			list = append(list, result.Row{Tool: "t", P50: f})
		}
		return list
	}
	for _, tt := range []struct {
		rows   []result.Row
		log    bool
		widths []int
	}{
		{rows(1, 2, 4), false, []int{110, 220, 440}},
		{rows(1, 10, 100), true, []int{22, 231, 440}},
		{rows(3), false, []int{440}},
		{rows(0, -1, math.NaN(), math.Inf(1)), false, nil},
		{append(rows(5), result.Row{Tool: "e", Error: "no"}), false, []int{440}},
	} {
		c := bars(result.Table{Rows: tt.rows})
		var widths []int
		for _, b := range c.Bars {
			widths = append(widths, b.Width)
		}
		if c.Log != tt.log || len(widths) != len(tt.widths) || c.Height != chartHead+chartLine*len(widths) {
			t.Errorf("%v: %+v", tt.rows, c)
		}
		for i := range min(len(widths), len(tt.widths)) {
			if widths[i] != tt.widths[i] {
				t.Errorf("%v: %v, want %v", tt.rows, widths, tt.widths)
			}
		}
	}
	if c := bars(result.Table{X: "clients", Rows: rows(1)}); c.Bars != nil {
		t.Errorf("a chart of a table by a number: %+v", c)
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", 0.0001234: "0.000123", 0.5: "0.50", 9.994: "9.99", 12.34: "12.3", 999: "999",
		1234.5: "1,234", 1234567: "1,234,567", -5: "-5.00", -123456: "-123,456", 1e15: "1e+15", math.Inf(1): "–"} {
		if got := number(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestWriteFails(t *testing.T) {
	for _, err := range []error{Page(broken{}, sample()), Head(broken{}, sample()), Table(broken{}, sample().Tables[0])} {
		if err == nil || !strings.Contains(err.Error(), "the disk is full") {
			t.Errorf("%v", err)
		}
	}
}

// Summary writes what starts take against bubblewrap: a row for each table that has it, and a column for each way to
// make a jail that readers ask about.
func Summary(w io.Writer, r *result.Report) error { return ratios(w, r, nil) }

// Brief writes a Summary of the four most important tables.
func Brief(w io.Writer, r *result.Report) error {
	return ratios(w, r, []string{"job", "job-python", "job-limits", "start"})
}

func ratios(w io.Writer, r *result.Report, only []string) error {
	var b strings.Builder
	tools := []string{"brig run", "brig Runner", "brig Runner, pool", "isolate", "runc", "no jail"}
	head(&b, append([]string{"× bubblewrap, as " + r.Machine.User}, tools...)...)
	for _, t := range r.Tables {
		to := find(t, "bubblewrap", 0)
		if to.Medians == nil || t.Unit != "ms" || t.X != "" || only != nil && !slices.Contains(only, t.ID) {
			continue
		}
		cells := []string{t.Title}
		for _, tool := range tools {
			cells = append(cells, against(find(t, tool, 0), to))
		}
		line(&b, cells...)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
