package live

import (
	"context"
	"errors"
	"strings"
	"testing"

	"brig/brigd/job"
	"brig/nsjail"
)

// begins is an Executor that starts a jail without a control group, and looks at the table then.
type begins struct{ look func() }

func (b begins) Execute(_ context.Context, j *job.Job) (*nsjail.Result, error) {
	if j.Started(&nsjail.Cmd{}); b.look != nil {
		b.look()
	}
	return nil, errors.New("over")
}

func TestTable(t *testing.T) {
	table, told := &Table{}, 0
	j := &job.Job{ID: "run_b", Sandbox: "sb", Started: func(*nsjail.Cmd) { told++ }}
	_, err := table.Wrap(begins{func() {
		if r := table.Run("run_b"); r.ID != "run_b" || r.Usage != nil || !strings.Contains(r.NoUsage, "no control group") {
			t.Errorf("%+v", r)
		}
		_, _ = table.Wrap(begins{func() {
			if list := table.In("sb"); len(list) != 2 || list[0].ID != "run_a" || list[1].ID != "run_b" {
				t.Errorf("%+v", list)
			}
			if list := table.In("other"); list == nil || len(list) != 0 {
				t.Errorf("%+v", list)
			}
		}}).Execute(t.Context(), &job.Job{ID: "run_a", Sandbox: "sb"})
		if memory, tasks := table.Sum(); memory != 0 || tasks != 0 {
			t.Errorf("%v %v", memory, tasks)
		}
	}}).Execute(t.Context(), j)
	if err == nil || told != 1 {
		t.Errorf("%v, told %d times", err, told)
	}
	if r := table.Run("run_b"); !strings.Contains(r.NoUsage, "no jail") || len(table.In("sb")) != 0 {
		t.Errorf("%+v", r)
	}
}
