package result

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// fewestRuns is the number of runs below which there is no range.
const fewestRuns = 3

// Merge returns the medians of several runs as one report. It refuses those that do not measure the same: fewer than
// three, quick ones, two of one hour, other machines, tools or tables.
func Merge(runs []*Report) (*Report, error) {
	if len(runs) < fewestRuns {
		return nil, fmt.Errorf("%d runs: a range needs %d or more, of different hours", len(runs), fewestRuns)
	}
	runs = slices.SortedFunc(slices.Values(runs), func(a, b *Report) int { return a.Started.Compare(b.Started) })
	first, last := runs[0], runs[len(runs)-1]
	all := &Report{Started: first.Started, Finished: last.Finished, Machine: first.Machine, Tools: first.Tools}
	for i, r := range runs {
		if i > 0 && r.Started.Truncate(time.Hour).Equal(runs[i-1].Started.Truncate(time.Hour)) {
			return nil, fmt.Errorf("two runs of one hour, %s; measure again in another", r.Started.Format("2006-01-02 15:04"))
		}
		if err := alike(first, r); err != nil {
			return nil, fmt.Errorf("the runs of %s and %s: %w", first.Started.Format("15:04"), r.Started.Format("15:04"), err)
		}
		all.Runs = append(all.Runs, r.Started)
		all.Machine.LoadBefore = max(all.Machine.LoadBefore, r.Machine.LoadBefore)
		all.Machine.LoadAfter = max(all.Machine.LoadAfter, r.Machine.LoadAfter)
	}
	for i, t := range first.Tables {
		rows := t.Rows
		t.Rows, t.Notes = nil, nil // notes are on the noise of one run
		for _, row := range rows {
			t.Rows = append(t.Rows, merged(row, i, runs))
		}
		all.Tables = append(all.Tables, t)
	}
	return all, nil
}

// alike reports what makes two runs no measurements of the same.
func alike(a, b *Report) error {
	am, bm := a.Machine, b.Machine
	am.LoadBefore, am.LoadAfter, bm.LoadBefore, bm.LoadAfter = 0, 0, 0, 0
	var at, bt []string
	for _, t := range a.Tables {
		at = append(at, t.ID)
	}
	for _, t := range b.Tables {
		bt = append(bt, t.ID)
	}
	same := func(a, b Tool) bool {
		return a.Name == b.Name && a.Version == b.Version && (a.Absent == "") == (b.Absent == "")
	}
	switch {
	case a.Quick || b.Quick:
		return errors.New("a quick run has too few samples; leave --quick out")
	case am != bm:
		return fmt.Errorf("they are of different machines or users: %+v and %+v", am, bm)
	case !slices.EqualFunc(a.Tools, b.Tools, same):
		return errors.New("other tools, or other versions of them, took part; use the same --tools")
	case !slices.Equal(at, bt):
		return fmt.Errorf("one has the tables %q, the other %q; use the same --only", at, bt)
	}
	return nil
}

// merged returns the row of the same tool and X in each run. One that failed in a run has no figure; the reason may
// name the machine, and stays with that run.
func merged(row Row, table int, runs []*Report) Row {
	all := Row{Tool: row.Tool, X: row.X}
	for _, r := range runs {
		i := slices.IndexFunc(r.Tables[table].Rows, func(o Row) bool { return o.Tool == row.Tool && o.X == row.X })
		if i < 0 || r.Tables[table].Rows[i].Error != "" {
			return Row{Tool: row.Tool, X: row.X, Error: "not measured in each run"}
		}
		o := r.Tables[table].Rows[i]
		all.N += o.N
		all.Medians = append(all.Medians, o.P50)
	}
	sorted := slices.Sorted(slices.Values(all.Medians))
	all.P50 = sorted[len(sorted)/2]
	return all
}
