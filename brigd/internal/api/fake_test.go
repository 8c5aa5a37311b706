package api

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"brig/brigd/engine"
	"brig/brigd/internal/fakes"
	"brig/brigd/job"
	"brig/nsjail"
)

// fake is an Engine whose programs are words: Code names what the run does.
type fake struct {
	*fakes.Engine
	runs  atomic.Int64
	ended chan string // why a run that waits has ended
}

func newFake() *fake {
	f := &fake{ended: make(chan string, 100)}
	f.Engine = fakes.New(f.do)
	return f
}

func (f *fake) do(ctx context.Context, r *engine.Request, stream func(engine.Event)) *engine.Response {
	resp := &engine.Response{ID: fmt.Sprint("run_", f.runs.Add(1)), Status: "ok", Usage: &nsjail.Usage{}}
	if code, ok := strings.CutPrefix(r.Code, "refuse "); ok {
		code, layer, _ := strings.Cut(code, " ")
		resp.Status, resp.ExitCode, resp.Error = "refused", -1,
			&job.Refusal{Message: "no", Code: code, Layer: layer, Rule: "r", NextSteps: []string{"do else"}}
		return resp
	}
	say := func(kind, data string) {
		switch {
		case stream != nil:
			stream(engine.Event{Type: kind, Data: data})
		case kind == "stdout":
			resp.Stdout += data
		default:
			resp.Stderr += data
		}
	}
	if stream != nil {
		stream(engine.Event{Type: "start", ID: resp.ID})
	}
	var in io.Reader = strings.NewReader(r.Stdin)
	if r.StdinReader != nil {
		in = r.StdinReader
	}
	switch word, rest, _ := strings.Cut(r.Code, " "); word {
	case "say":
		say("stdout", rest)
		say("stderr", "é\n")
	case "fail":
		resp.Status, resp.ExitCode = "failed", 3
	case "cat":
		buf := make([]byte, 4096)
		for {
			n, err := in.Read(buf)
			if n > 0 {
				say("stdout", string(buf[:n]))
			}
			if err != nil {
				break
			}
		}
	case "flood":
		for ctx.Err() == nil {
			say("stdout", strings.Repeat("x", 64<<10))
		}
		f.ended <- "flood"
		resp.Status, resp.ExitCode = "cancelled", -1
	case "wait":
		<-ctx.Done()
		f.ended <- "wait"
		resp.Status, resp.ExitCode = "cancelled", -1
	case "panic":
		panic("fake")
	}
	return resp
}
