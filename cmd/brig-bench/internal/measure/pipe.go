package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/stats"
)

// copiedToo marks the tools whose output is copied.
const copiedToo = ", copied"

func pipe() Dimension {
	return Dimension{"inside-pipe", "Output of a jail", runPipe}
}

// runPipe has each tool's payload write as fast as it can, to a descriptor that it inherits and, where the caller's
// process can copy, to one that is copied.
func runPipe(ctx context.Context, e *Env) (t result.Table, err error) {
	t = result.Table{ID: "inside-pipe", Title: "Output of a jail", Unit: "MiB/s", Higher: true,
		Question: "How fast does output arrive that a jail writes in blocks of 64 KiB?",
		Notes: []string{"from the first byte to the last; copied: the caller gives a writer in the place of a file",
			"the payload stays on one processor, and who reads what it inherits on another"}}
	bytes := int64(256 << 20)
	if e.Quick {
		bytes = 32 << 20
	}
	exe, err := os.Executable()
	if err != nil {
		return t, err
	}
	var all []Contender
	var refused []result.Row
	base := ""
	for _, tool := range e.Tools {
		if !tool.Binds && tool.Kind != peers.Bare || e.Quick && slowToStart(tool) {
			continue
		}
		job := peers.Job{Args: []string{probeTarget, load.Subcommand, fmt.Sprintf(`{"blast":%d}`, bytes)}, Binds: []peers.Bind{{Source: exe, Target: probeTarget}}}
		if tool.Kind == peers.Bare {
			job.Args[0], job.Binds, base = exe, nil, tool.Info.Name
		}
		e.say("%s: preparing", tool.Info.Name)
		ready, perr := tool.Prepare(job)
		if perr != nil {
			refused = append(refused, result.Row{Tool: tool.Info.Name, Error: perr.Error()})
			continue
		}
		defer func() { err = errors.Join(err, ready.Close()) }()
		all = append(all, Contender{tool.Info.Name, func(ctx context.Context) (float64, error) { return inherited(ctx, ready, bytes) }})
		if tool.Kind == peers.Bare || tool.Info.Name == "brig Runner" {
			all = append(all, Contender{tool.Info.Name + copiedToo, func(ctx context.Context) (float64, error) { return copied(ctx, ready, bytes) }})
		}
	}
	s, err := Interleave(ctx, e, Plan{Rounds: e.Count(30, 8), Base: base, Words: stats.Rate, Budget: e.budget(40, 2)}, all)
	if err != nil {
		return t, err
	}
	for _, row := range s.Rows() {
		if strings.HasSuffix(row.Tool, copiedToo) && row.Tool != base+copiedToo && row.Error == "" {
			row.Ratio = stats.Compare(base+copiedToo, s.Samples(row.Tool), s.Samples(base+copiedToo), s.Floor(), stats.Rate)
		}
		t.Rows = append(t.Rows, row)
	}
	t.Rows, t.Notes = append(t.Rows, refused...), append(t.Notes, s.Notes()...)
	return t, nil
}

// meter counts what is written to it, and when.
type meter struct {
	bytes       int64
	first, last time.Time
}

// Write counts; it is never an error.
func (m *meter) Write(b []byte) (int, error) {
	m.last = time.Now()
	if m.bytes == 0 {
		m.first = m.last
	}
	m.bytes += int64(len(b))
	return len(b), nil
}

// read takes everything, on a processor of its own.
func (m *meter) read(in io.Reader) (err error) {
	unpin, err := load.Pin(false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unpin()) }()
	_, err = io.CopyBuffer(m, struct{ io.Reader }{in}, make([]byte, 64<<10))
	return err
}

// rate is in MiB per second. All that was to come must have come.
func (m *meter) rate(want int64) (float64, error) {
	if m.bytes != want {
		return 0, fmt.Errorf("%d of %d bytes have arrived", m.bytes, want)
	}
	return float64(m.bytes) / (1 << 20) / m.last.Sub(m.first).Seconds(), nil
}

// inherited reads a pipe whose other end is the payload's.
func inherited(ctx context.Context, ready *peers.Ready, bytes int64) (_ float64, err error) {
	in, out, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	r, err := ready.Start(peers.Streams{Out: out})
	err = errors.Join(err, out.Close())
	if err != nil {
		return 0, errors.Join(err, in.Close())
	}
	defer context.AfterFunc(ctx, r.Kill)()
	var m meter
	err = m.read(in)
	if err = errors.Join(err, r.Wait(), in.Close()); err != nil {
		return 0, err
	}
	return m.rate(bytes)
}

// copied lets the tool's side in this process copy to a writer.
func copied(ctx context.Context, ready *peers.Ready, bytes int64) (float64, error) {
	var m meter
	r, err := ready.Start(peers.Streams{Out: &m})
	if err != nil {
		return 0, err
	}
	defer context.AfterFunc(ctx, r.Kill)()
	if err := r.Wait(); err != nil {
		return 0, err
	}
	return m.rate(bytes)
}
