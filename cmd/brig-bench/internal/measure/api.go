package measure

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
)

// The contenders of the tables on brigd: the library with the same options in this process, and brigd.
const (
	itself  = "the Runner itself"
	request = "POST /v1/run"
	warm    = "POST /v1/run, warm" // of a brigd that keeps interpreters started
)

// call is a request to brigd, and the command that a Runner runs for comparison.
type call struct {
	id, title string
	args      []string
	body      map[string]any
	warm      []string // flags of a further brigd; nil for none
}

// api returns the measurements of brigd by HTTP at its Unix socket.
func api() (all []Dimension) {
	for _, c := range []call{
		{"api", "/bin/true", []string{"/bin/true"}, map[string]any{"cmd": []string{"/bin/true"}}, nil},
		{"api-python", "Python's print(1)", []string{"/usr/bin/python3", "-c", "print(1)"},
			map[string]any{"language": "python", "code": "print(1)"}, []string{"--warm", "python=8"}},
	} {
		notes := []string{"brigd and its clients share the processors; " + itself +
			" is in the benchmark's process; neither has a pool"}
		one := result.Table{ID: c.id, Title: "A request to brigd: " + c.title, Unit: "ms", Notes: notes,
			Question: "How long does a run take by HTTP, 10 ms after another?"}
		many := result.Table{ID: c.id + "-load", Title: "Requests a second to brigd: " + c.title, Unit: "1/s", Higher: true,
			X: "clients", Notes: notes, Question: "How many runs can be made in a second, by so many clients at once?"}
		all = append(all,
			Dimension{Table: one, run: func(ctx context.Context, e *Env, t *result.Table) error {
				return c.with(e, t, func(readies []*peers.Ready) error {
					p := plan{Rounds: e.count(120, 15), Budget: e.budget(40, 2), Base: itself,
						Idle: 10 * time.Millisecond} // for the pools, which refill when a run has ended
					return timeAll(ctx, e, t, p, readies)
				})
			}},
			Dimension{Table: many, run: func(ctx context.Context, e *Env, t *result.Table) error {
				return c.with(e, t, func(readies []*peers.Ready) error {
					return rates(ctx, e, t, []int{1, 4, 8}, itself, readies)
				})
			}})
	}
	return all
}

// with prepares the contenders, calls measure, and closes the contenders.
func (c call) with(e *Env, t *result.Table, measure func([]*peers.Ready) error) (err error) {
	program, err := load.BrigdBeside(e.Brig)
	if err == nil {
		_, err = os.Stat(c.args[0])
	}
	if err != nil {
		t.Notes = []string{"left out: " + err.Error()}
		return nil
	}
	var all []*peers.Ready
	end := func(close func() error) { err = errors.Join(err, close()) }
	job := peers.Job{Args: c.args}
	for _, tool := range e.Tools {
		name := map[string]string{peers.Bare: peers.Bare, "brig Runner": itself}[tool.Info.Name]
		if name == "" {
			continue
		}
		r, err := tool.Prepare(job)
		if err != nil {
			return err
		}
		defer end(r.Close)
		start := r.Start
		r.Start = func(peers.Streams) (*peers.Running, error) { return start(peers.Streams{Out: io.Discard}) }
		r.Tool = &peers.Tool{Info: result.Tool{Name: name}}
		all = append(all, r)
	}
	for i, flags := range [][]string{{}, c.warm} {
		name := []string{request, warm}[i]
		if flags == nil {
			continue
		}
		dir, err := e.scratch()
		if err != nil {
			return err
		}
		b, err := load.StartBrigd(program, dir, flags...)
		if err != nil {
			t.Rows = append(t.Rows, result.Row{Tool: name, Error: err.Error()})
			continue
		}
		defer end(b.Close)
		r, err := b.Ready(name, c.body)
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	return measure(all)
}
