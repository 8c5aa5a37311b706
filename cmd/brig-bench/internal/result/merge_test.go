package result

import (
	"slices"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
)

// run is an invented run at an hour, in which a tool takes so many milliseconds.
func run(hour int, p50 float64) *Report {
	return &Report{Started: time.Date(2026, 3, 1, hour, 59, 0, 0, time.UTC), Machine: Machine{CPU: "A", User: "root", LoadBefore: float64(hour)},
		Tools: []Tool{{Name: "brig run", Version: "1"}},
		Tables: []Table{{ID: "job", Notes: []string{"noise"}, Rows: []Row{{Tool: "a", N: 2, P50: p50}, {Tool: "a", X: 4, N: 2, P50: 10 * p50},
			{Tool: "b", Error: "no"}}}}}
}

func TestMerge(t *testing.T) {
	lost := run(11, 3)
	lost.Tables[0].Rows = slices.Delete(lost.Tables[0].Rows, 1, 2)
	all := must.Get(Merge([]*Report{lost, run(9, 5), run(10, 1)}))(t)
	rows := all.Tables[0].Rows
	if !slices.Equal(rows[0].Medians, []float64{5, 1, 3}) || rows[0].P50 != 3 || rows[0].N != 6 {
		t.Errorf("%+v", rows[0])
	}
	if rows[1].Medians != nil || rows[1].Error != "not measured in each run" || rows[2].Error != rows[1].Error {
		t.Errorf("%+v", rows[1:])
	}
	if len(all.Runs) != 3 || all.Started.Hour() != 9 || all.Machine.LoadBefore != 11 || all.Tables[0].Notes != nil {
		t.Errorf("%+v", all)
	}
}

func TestMergeRefuses(t *testing.T) {
	for want, change := range map[string]func(*Report){
		"two runs of one hour":                func(r *Report) { r.Started = r.Started.Add(-time.Hour) },
		"a quick run":                         func(r *Report) { r.Quick = true },
		"different machines or users":         func(r *Report) { r.Machine.User = "user" },
		"other versions":                      func(r *Report) { r.Tools[0].Version = "2" },
		"other tools":                         func(r *Report) { r.Tools[0].Absent = "not installed" },
		`one has the tables ["job"], the oth`: func(r *Report) { r.Tables[0].ID = "start" },
	} {
		bad := run(11, 1)
		change(bad)
		if _, err := Merge([]*Report{run(9, 1), bad, run(10, 1)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := Merge([]*Report{run(9, 1), run(10, 1)}); err == nil || !strings.Contains(err.Error(), "2 runs: a range needs 3") {
		t.Error(err)
	}
}
