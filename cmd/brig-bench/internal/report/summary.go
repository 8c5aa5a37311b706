package report

import (
	"fmt"
	"strings"

	"brig/cmd/brig-bench/internal/result"
)

const (
	startTable = "start"    // the ID of the table that the first paragraph is about
	brigTool   = "brig run" // what brig's start is measured by
	noJail     = "no jail"
)

// summary is the first paragraph: how long brig takes for a jail, and how that compares. It says what the paired samples
// show and leaves out what they do not: a comparison without a difference, or one that would have to divide medians of
// different rounds.
func summary(r *result.Report) string {
	t, row := find(r)
	if t == nil {
		return "This run has no figure for how long brig takes to start a jail."
	}
	unit := clean(t.Unit)
	s := fmt.Sprintf("brig takes %s %s for a jail, from its start to its end (median of %s", number(row.P50), unit, round(float64(row.N)))
	if drawable(row.P99) {
		s += fmt.Sprintf("; %s at the 99th percentile", number(row.P99))
	}
	s += ")"
	var versus []string
	if q, ok := against(t, row, noJail); ok {
		versus = append(versus, times(q, "a process takes without a jail"))
	}
	for _, other := range t.Rows {
		if strings.HasPrefix(other.Tool, "bubblewrap") {
			if q, ok := against(t, row, other.Tool); ok {
				versus = append(versus, times(q, quoted(other.Tool)+" takes"))
			}
		}
	}
	if len(versus) > 0 {
		s += ": " + strings.Join(versus, ", and ")
	}
	for _, other := range t.Rows {
		if q := other.Ratio; roleOf(other.Tool) == brig && other.Tool != brigTool && unmeasured(t, other) == "" &&
			q != nil && q.To == brigTool && shown(*q) && q.Median < 1 {
			return s + fmt.Sprintf(". %s takes %s %s, %s of that.", clean(other.Tool), number(other.P50), unit, share(q.Median))
		}
	}
	return s + "."
}

// find gives brig's row of the start table.
func find(r *result.Report) (*result.Table, result.Row) {
	for i := range r.Tables {
		t := &r.Tables[i]
		if t.ID != startTable {
			continue
		}
		for _, row := range t.Rows {
			if row.Tool == brigTool && unmeasured(t, row) == "" && row.P50 > 0 {
				return t, row
			}
		}
	}
	return nil, result.Row{}
}

// against gives the ratio of brig to another tool, whichever of the two rows has it.
func against(t *result.Table, row result.Row, other string) (result.Ratio, bool) {
	if q := row.Ratio; q != nil && q.To == other {
		return *q, shown(*q)
	}
	for _, o := range t.Rows {
		if q := o.Ratio; o.Tool == other && unmeasured(t, o) == "" && q != nil && q.To == row.Tool && shown(*q) {
			return result.Ratio{To: other, Median: 1 / q.Median, Low: 1 / q.High, High: 1 / q.Low, Verdict: q.Verdict}, true
		}
	}
	return result.Ratio{}, false
}

// shown tells a ratio that a sentence may be made of.
func shown(q result.Ratio) bool {
	for _, v := range []float64{q.Median, q.Low, q.High} {
		if !drawable(v) || v < 0 {
			return false
		}
	}
	return q.Verdict != "" && q.Verdict != noDifference
}

// times words a ratio with its interval.
func times(q result.Ratio, what string) string {
	of := "times"
	if q.Median < 1 {
		of = "of"
	}
	return fmt.Sprintf("%s (%s to %s) %s what %s", share(q.Median), share(q.Low), share(q.High), of, what)
}

// share writes a ratio for a sentence, where two decimals do.
func share(v float64) string {
	if v < 0.1 || v >= 10 {
		return number(v)
	}
	return fmt.Sprintf("%.2f", v)
}

// quoted is a tool's name, in quotes if it is more than a word.
func quoted(tool string) string {
	if tool = clean(tool); strings.Contains(tool, " ") {
		return "“" + tool + "”"
	}
	return tool
}
