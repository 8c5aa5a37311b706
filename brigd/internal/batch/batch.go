// Package batch implements brigd submit, brigd map and brigd queue, which speak to a running brigd at its Unix socket.
package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/brigd/internal/listen"
	"brig/brigd/internal/verbs"
	"brig/brigd/job"
)

// Usage is the help text.
const Usage = `  brigd submit -- python3 -c 'print(6*7)'               # prints the run's id
  brigd submit --wait --priority 1 -- make test         # prints its output, and exits as it did
  brigd map --jobs jobs.jsonl --out results.jsonl --plot report.html
  brigd queue; brigd queue result ID; brigd queue cancel ID; brigd queue requeue ID

Usage: brigd submit [FLAG...] -- COMMAND [ARG...]
       brigd map [FLAG...] --jobs FILE --out FILE
       brigd queue [FLAG...] [result|cancel|requeue ID]

They speak to a brigd at a Unix socket, which has a queue (brigd serve --jetstream). $BRIGD_TOKEN is sent if it is set.

  --socket PATH   the socket of brigd; if left out its default one, or else /run/brigd/brigd.sock

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

// client has the flags and the connection of the three commands.
type client struct {
	out, errs io.Writer
	http      http.Client
	command   []string // behind --

	brigd                    listen.Dialer
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
	c := &client{out: stdout, errs: stderr, priority: 3, parallel: 32}
	c.http.Transport = &http.Transport{MaxIdleConnsPerHost: 1024, DialContext: c.dial}
	if i := slices.Index(args, "--"); i >= 0 {
		args, c.command = args[:i], args[i+1:]
	}
	with := func(do func(context.Context, []string) error) func([]string) error {
		return func(args []string) error { return do(ctx, args) }
	}
	s := &verbs.Set{Name: "brigd", Usage: Usage, Verbs: []verbs.Verb{
		{Name: "submit", Args: "[FLAG...] -- COMMAND", Run: with(c.submit), Flags: "socket wait key priority"},
		{Name: "map", Args: "[FLAG...] --jobs FILE --out FILE", Run: with(c.mapJobs),
			Flags: "socket jobs out parallel plot"},
		{Name: "queue", Args: "[result|cancel|requeue ID]", Most: 2, Run: with(c.queue), Flags: "socket json"}}}
	f := &s.Flags
	for name, to := range map[string]*string{"socket": &c.brigd.Path, "key": &c.key, "jobs": &c.jobs, "out": &c.results,
		"plot": &c.plot} {
		f.StringVar(to, name, "", "")
	}
	f.IntVar(&c.priority, "priority", c.priority, "")
	f.IntVar(&c.parallel, "parallel", c.parallel, "")
	f.BoolVar(&c.wait, "wait", false, "")
	f.BoolVar(&c.json, "json", false, "")
	return s.Main(append([]string{name}, args...), stdout, stderr)
}

func (c *client) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return c.brigd.Dial(ctx)
}

// exitTimeout is the exit code of brig run for a command that its time limit has ended.
const exitTimeout = 124

// tokenVar names the variable with a capability token.
const tokenVar = "BRIGD_TOKEN"

// call sends a request and decodes the JSON answer into out, if that is not nil. A refusal is a *job.Refusal, and
// after is when to ask again, or 0.
func (c *client) call(ctx context.Context, method, path string, body []byte, out any, header ...string) (
	after time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://brigd"+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if bearer := os.Getenv(tokenVar); bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	w, err := c.http.Do(r)
	if err != nil {
		return time.Second, fmt.Errorf("brigd does not answer: %w", c.brigd.Explain(err))
	}
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	switch {
	case err != nil:
		return time.Second, err
	case w.StatusCode >= 300:
		no := &job.Refusal{Message: w.Status, Layer: "request"}
		_ = json.Unmarshal(text, no) // without JSON, the refusal has the status only
		if seconds, err := strconv.Atoi(w.Header.Get("Retry-After")); err == nil {
			after = time.Duration(seconds) * time.Second
		}
		return after, no
	case out == nil:
		return 0, nil
	}
	return 0, json.Unmarshal(text, out)
}

// submit puts a command into the queue, and perhaps waits for it.
func (c *client) submit(ctx context.Context, _ []string) error {
	if len(c.command) == 0 {
		return errors.New("there is no command; write brigd submit -- COMMAND")
	}
	body, err := json.Marshal(&engine.Request{Cmd: c.command})
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
		_, err := c.call(ctx, "POST", "/v1/run", body, &info, append(header, "Prefer", "respond-async")...)
		if err == nil && info.State == "" {
			err = errors.New("that brigd has no queue, and has run the command; start it with --jetstream, or add --wait")
		}
		if err != nil {
			return err
		}
		return verbs.Print(c.out, "%s\n", info.ID)
	}
	var a engine.Response
	if _, err := c.call(ctx, "POST", "/v1/run", body, &a, header...); err != nil {
		return err
	}
	if _, err := io.WriteString(c.errs, a.Stderr); err != nil {
		return err
	}
	if err := verbs.Print(c.out, "%s", a.Stdout); err != nil || a.ExitCode == 0 {
		return err
	}
	switch number := unix.SignalNum(a.Signal); {
	case a.ExitCode > 0:
		return verbs.Exit(a.ExitCode)
	case a.TimedOut:
		return verbs.Exit(exitTimeout)
	case number > 0:
		return verbs.Exit(128 + int(number))
	}
	return fmt.Errorf("the run ended as %s", a.Status)
}

// queue shows the queue, or does something with a run of it.
func (c *client) queue(ctx context.Context, args []string) error {
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
		if _, err = c.call(ctx, "GET", "/v1/runs/"+id, nil, &text); err == nil {
			err = verbs.Print(c.out, "%s\n", text)
		}
	case "cancel":
		_, err = c.call(ctx, "DELETE", "/v1/runs/"+id, nil, nil)
	case "requeue":
		_, err = c.call(ctx, "POST", "/v1/queue/"+id+"/requeue", nil, nil)
	default:
		err = fmt.Errorf("%q is none of result, cancel and requeue", verb)
	}
	return err
}

func (c *client) show(ctx context.Context) error {
	if c.json {
		var text json.RawMessage
		if _, err := c.call(ctx, "GET", "/v1/queue", nil, &text); err != nil {
			return err
		}
		return verbs.Print(c.out, "%s\n", text)
	}
	var q front.QueueInfo
	if _, err := c.call(ctx, "GET", "/v1/queue", nil, &q); err != nil {
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
