package measure

import (
	"context"
	"errors"
	"strings"
	"time"

	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
)

// baseTool is what every contender is compared with.
const baseTool = "brig run"

// startToExit times a job in the jail of each tool. Tools that cannot limit a jail take part without limits, and a note
// names them.
func startToExit(ctx context.Context, e *Env, t *result.Table, p plan, job peers.Job) (err error) {
	readies, closeAll := e.prepare(ctx, e.Tools, t, job)
	defer func() { err = errors.Join(err, closeAll()) }()
	var without []string
	for _, r := range readies {
		if !r.Tool.Limits {
			without = append(without, r.Tool.Info.Name)
		}
	}
	if job.Limited {
		t.Notes = append(t.Notes, "without limits, which they have not: "+strings.Join(without, "; "))
	}
	p.Base = baseTool
	return timeAll(ctx, e, t, p, readies)
}

// timeAll times one jail after the other, of each tool in turn.
func timeAll(ctx context.Context, e *Env, t *result.Table, p plan, readies []*peers.Ready) error {
	var all []contender
	for _, r := range readies {
		if e.Quick && r.Tool.Slow {
			continue
		}
		all = append(all, contender{r.Tool.Info.Name, func(context.Context) (float64, error) {
			start := time.Now()
			err := r.Run()
			return float64(time.Since(start).Microseconds()) / 1e3, err
		}})
	}
	_, err := e.compare(ctx, t, p, all)
	return err
}

// prepare makes a job ready with each tool that takes its binds. One that refuses has a row with the reason.
func (e *Env) prepare(ctx context.Context, tools []*peers.Tool, t *result.Table,
	j peers.Job) (all []*peers.Ready, closeAll func() error) {
	for _, tool := range tools {
		if (j.Show != "" || j.Dir != "") && !tool.Binds || j.Show != "" && tool.Box || ctx.Err() != nil {
			continue
		}
		e.Progress(tool.Info.Name + ": preparing")
		var err error
		if j.Dir != "" { // one for each tool: what one's payload leaves another's may not change
			j.Dir, err = e.jobDir()
		}
		var r *peers.Ready
		if err == nil {
			r, err = tool.Prepare(j)
		}
		if err != nil {
			t.Rows = append(t.Rows, result.Row{Tool: tool.Info.Name, Error: err.Error()})
			continue
		}
		r.Tool = tool
		all = append(all, r)
	}
	return all, func() (err error) {
		for _, p := range all {
			err = errors.Join(err, p.Close())
		}
		return err
	}
}
