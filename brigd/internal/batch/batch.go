// Package batch implements brigd submit, brigd map and brigd queue, which ask a running brigd.
package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/client"
	"brig/brigd/internal/front"
	"brig/brigd/internal/verbs"
)

// Usage is the help text.
const Usage = `  brigd submit -- python3 -c 'print(6*7)'               # prints the run's id
  brigd submit --wait --priority 1 -- make test         # prints its output, and exits as it did
  brigd map --jobs jobs.jsonl --out results.jsonl --plot report.html
  brigd queue; brigd queue result ID; brigd queue cancel ID; brigd queue requeue ID

Usage: brigd submit [FLAG...] -- COMMAND [ARG...]
       brigd map [FLAG...] --jobs FILE --out FILE
       brigd queue [FLAG...] [result|cancel|requeue ID]

They speak to a brigd that has a queue (brigd serve --jetstream):

` + client.FlagsUsage + `
submit puts a command into the queue. It runs there with brigd's defaults, whatever becomes of this program.
  --wait          wait for its end
  --key WORD      a second submit with this key is the same run
  --priority N    0 to 7, the smallest first (3)

map sends each line of --jobs, a JSON request as for POST /v1/run, and writes a line {"job": N, "result": {...}} for
each to --out as they end. Begun again after a crash or Ctrl-C, it goes on with what is missing there; a job that had
ended meanwhile is not run again.
  --parallel N    requests under way at once (32)
  --plot FILE     write a page with the statuses, the times and the progress

queue shows length, rate, workers, and the runs that were given up. requeue lets one of these begin again.
  --json          print the answer as JSON

Exit codes: 0; submit --wait: as the command; map: 1 if a job was refused or cancelled; 125 brigd
could not do it.
`

// command has the flags and the connection of the three commands.
type command struct {
	client.Client
	out, errs io.Writer
	words     []string // behind --

	key, jobs, results, plot string
	priority, parallel       int
	wait, json               bool
}

// Submit runs brigd submit.
func Submit(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	return run("submit", args, stdout, stderr)
}

// Map runs brigd map.
func Map(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	return run("map", args, stdout, stderr)
}

// Queue runs brigd queue.
func Queue(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	return run("queue", args, stdout, stderr)
}

func run(name string, args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := &command{out: stdout, errs: stderr, priority: 3, parallel: 32}
	if i := slices.Index(args, "--"); i >= 0 {
		args, c.words = args[:i], args[i+1:]
	}
	with := func(do func(context.Context, []string) error) func([]string) error {
		return func(args []string) error {
			if err := c.Connect(); err != nil {
				return err
			}
			return do(ctx, args)
		}
	}
	s := &verbs.Set{Name: "brigd", Usage: Usage, Verbs: []verbs.Verb{
		{Name: "submit", Args: "[FLAG...] -- COMMAND", Run: with(c.submit), Flags: client.Flags + " wait key priority"},
		{Name: "map", Args: "[FLAG...] --jobs FILE --out FILE", Run: with(c.mapJobs),
			Flags: client.Flags + " jobs out parallel plot"},
		{Name: "queue", Args: "[result|cancel|requeue ID]", Most: 2, Run: with(c.queue), Flags: client.Flags + " json"}}}
	f := &s.Flags
	c.AddFlags(f)
	for name, to := range map[string]*string{"key": &c.key, "jobs": &c.jobs, "out": &c.results, "plot": &c.plot} {
		f.StringVar(to, name, "", "")
	}
	f.IntVar(&c.priority, "priority", c.priority, "")
	f.IntVar(&c.parallel, "parallel", c.parallel, "")
	f.BoolVar(&c.wait, "wait", false, "")
	f.BoolVar(&c.json, "json", false, "")
	return s.Main(append([]string{name}, args...), stdout, stderr)
}

// submit puts a command into the queue, and perhaps waits for it.
func (c *command) submit(ctx context.Context, _ []string) error {
	if len(c.words) == 0 {
		return errors.New("there is no command; write brigd submit -- COMMAND")
	}
	body, err := json.Marshal(&engine.Request{Cmd: c.words})
	if err != nil {
		return err
	}
	header := []string{"Priority", "u=" + strconv.Itoa(c.priority)}
	if c.key != "" {
		header = append(header, "Idempotency-Key", c.key)
	}
	if !c.wait {
		var info struct {
			ID    string `json:"id"`
			State string `json:"state"`
		}
		_, err := c.Call(ctx, "POST", "/v1/run", body, &info, append(header, "Prefer", "respond-async")...)
		if err == nil && info.State == "" {
			err = errors.New("that brigd has no queue, and has run the command; start it with --jetstream, or add --wait")
		}
		if err != nil {
			return err
		}
		return verbs.Print(c.out, "%s\n", info.ID)
	}
	var a engine.Response
	if _, err := c.Call(ctx, "POST", "/v1/run", body, &a, header...); err != nil {
		return err
	}
	if _, err := io.WriteString(c.errs, a.Stderr); err != nil {
		return err
	}
	if err := verbs.Print(c.out, "%s", a.Stdout); err != nil || client.Code(&a) == 0 {
		return err
	}
	if code := client.Code(&a); code > 0 {
		return verbs.Exit(code)
	}
	return fmt.Errorf("the run ended as %s", a.Status)
}

// queue shows the queue, or does something with a run of it.
func (c *command) queue(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return c.show(ctx)
	}
	if len(args) != 2 || !front.ID.MatchString(args[1]) {
		return errors.New("write brigd queue, or brigd queue result, cancel or requeue, with the ID of a run")
	}
	var err error
	switch verb, id := args[0], args[1]; verb {
	case "result":
		var text json.RawMessage
		if _, err = c.Call(ctx, "GET", "/v1/runs/"+id, nil, &text); err == nil {
			err = verbs.Print(c.out, "%s\n", text)
		}
	case "cancel":
		_, err = c.Call(ctx, "DELETE", "/v1/runs/"+id, nil, nil)
	case "requeue":
		_, err = c.Call(ctx, "POST", "/v1/queue/"+id+"/requeue", nil, nil)
	default:
		err = fmt.Errorf("%q is none of result, cancel and requeue", verb)
	}
	return err
}

func (c *command) show(ctx context.Context) error {
	if c.json {
		var text json.RawMessage
		if _, err := c.Call(ctx, "GET", "/v1/queue", nil, &text); err != nil {
			return err
		}
		return verbs.Print(c.out, "%s\n", text)
	}
	var q front.QueueInfo
	if _, err := c.Call(ctx, "GET", "/v1/queue", nil, &q); err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d runs, of which wait: %d high, %d normal, %d low; %.1f a second leave\n", q.Length,
		q.Waiting["high"], q.Waiting["normal"], q.Waiting["low"], q.Rate)
	for _, w := range q.Workers {
		fmt.Fprintf(&b, "worker %-40s %d of %d slots, %d taken, %d again, %d languages, %s\n", w.Worker, w.Running, w.Slots,
			w.Taken, w.Again, len(w.Languages), w.Version)
		if w.ShortOf != "" {
			fmt.Fprintf(&b, "  takes nothing: it is short of %s\n", w.ShortOf)
		}
	}
	for _, d := range q.Dead {
		fmt.Fprintf(&b, "given up %s at %s: %s\n", d.ID, d.When.Format(time.DateTime), d.Reason)
	}
	return verbs.Print(c.out, "%s", b.String())
}
