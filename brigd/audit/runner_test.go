package audit

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"brig/brigd/job"
	"brig/internal/test/must"
	"brig/nsjail"
)

// What a jail has really done stands in its events.
func TestWithARunner(t *testing.T) {
	r, err := nsjail.NewRunner()
	if err != nil {
		t.Skip("no jail can be made here: ", err)
	}
	defer r.Close()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, Options{Path: path, Sync: SyncAlways})
	e := Wrap(job.On(r), l)
	var out strings.Builder
	j := &job.Job{ID: "a", Spec: nsjail.Spec{Args: []string{"sh", "-c", "echo $HOME; exit 3"}}, Stdout: &out}
	res := must.Get(e.Execute(context.Background(), j))(t)
	if _, err := e.Execute(context.Background(),
		&job.Job{ID: "b", Spec: nsjail.Spec{Args: []string{"true"}, Hostname: "-\n"}}); err == nil {
		t.Error("a wrong Spec was performed")
	}
	closeLog(t, l)
	list, rep := lines(t, path)
	if rep.Started != 2 || rep.Ended != 2 {
		t.Fatalf("%+v", rep)
	}
	start, end, failed := list[1], list[2], list[4]
	if "sha256:"+start.SpecDigest != res.SpecDigest || len(end.PlanDigest) != 64 || *end.ExitCode != 3 ||
		end.Status != "failed" ||
		end.Output.StdoutBytes != int64(out.Len()) || out.Len() == 0 {
		t.Errorf("%+v\n%+v\n%+v", start.Event, end.Event, res)
	}
	var usage struct {
		Wall float64 `json:"wall_ms"`
	}
	if err := json.Unmarshal(end.Usage, &usage); err != nil || usage.Wall <= 0 {
		t.Errorf("%s %v", end.Usage, err)
	}
	if failed.Status != "error" || failed.Error == "" || failed.ExitCode != nil {
		t.Errorf("%+v", failed.Event)
	}
}
