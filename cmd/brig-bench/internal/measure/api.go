package measure

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
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/stats"
)

// apiClients are the numbers of clients that ask at once.
var apiClients = []int{1, 8, 64}

// apiRuns are the runs that they ask for: bodies of POST /v1/run.
var apiRuns = []struct{ name, body string }{
	{"/bin/true", `{"cmd":["/bin/true"]}`},
	{"python", `{"language":"python","code":"print(6*7)"}`},
}

func api() Dimension {
	return Dimension{result.Table{ID: "api", Title: "Requests to brigd", Unit: "ms", X: "clients",
		Question: "How long does a run take by HTTP at brigd's Unix socket, and how many are there in a second, with so many clients at once?",
		Notes:    []string{"brigd with default settings, each client an agent of its own; clients and brigd share the processors"}}, runAPI}
}

// runAPI starts a brigd with default settings. Clients of different agents ask it for runs, each as soon as it has its
// answer. The turns of all numbers of clients interleave, and the figures are those of all turns together.
func runAPI(ctx context.Context, e *Env, t *result.Table) (err error) {
	program := filepath.Join(filepath.Dir(e.Brig), "brigd")
	if _, err := os.Stat(program); err != nil {
		t.Notes = []string{"left out: there is no brigd beside brig; make build makes one"}
		return nil
	}
	client, stop, err := serveAPI(ctx, e, program)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	turn := 2 * time.Second
	if e.Quick {
		turn = 150 * time.Millisecond
	}
	cells := make([]cell, len(apiRuns)*len(apiClients))
	for round := range e.count(5, 2) {
		for i := range cells {
			c, run, n := &cells[i], apiRuns[i/len(apiClients)], apiClients[i%len(apiClients)]
			e.Progress(fmt.Sprintf("round %d: %s, %d clients", round+1, run.name, n))
			if c.failed == nil && ctx.Err() == nil {
				c.failed = c.turn(ctx, client, run.body, n, turn)
			}
		}
	}
	for i, c := range cells {
		row := stats.Row(apiRuns[i/len(apiClients)].name, c.took)
		row.Rate = float64(len(c.took)) / c.lasted.Seconds()
		if c.failed != nil {
			row = result.Row{Tool: row.Tool, Error: c.failed.Error()}
		}
		row.X = float64(apiClients[i%len(apiClients)])
		t.Rows = append(t.Rows, row)
	}
	return nil
}

// cell holds the measurements of one run with one number of clients.
type cell struct {
	took   []float64 // of each answered request, in milliseconds
	lasted time.Duration
	failed error
}

// turn lets n clients ask for the time d, after one request each that is not counted.
func (c *cell) turn(ctx context.Context, client *http.Client, body string, n int, d time.Duration) error {
	var mu sync.Mutex
	var clients, warm sync.WaitGroup
	var failed error
	begin := make(chan struct{})
	warm.Add(n)
	for i := range n {
		clients.Go(func() {
			agent := fmt.Sprintf("client-%d", i)
			_, err := ask(ctx, client, agent, body)
			warm.Done()
			<-begin
			var took []float64
			for start := time.Now(); err == nil && time.Since(start) < d; {
				var one time.Duration
				if one, err = ask(ctx, client, agent, body); err == nil {
					took = append(took, millis(one))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			c.took = append(c.took, took...)
			if err != nil {
				failed = err
			}
		})
	}
	warm.Wait()
	start := time.Now()
	close(begin)
	clients.Wait()
	c.lasted += time.Since(start)
	return failed
}

// ask sends one request and returns how long the answer took. A run that did not end well is an error.
func ask(ctx context.Context, client *http.Client, agent, body string) (time.Duration, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://brigd/v1/run", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Agent-Id", agent)
	start := time.Now()
	w, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	text, err := io.ReadAll(w.Body)
	took := time.Since(start)
	var answer struct{ Status, Error string }
	if err := errors.Join(err, w.Body.Close()); err != nil {
		return 0, err
	}
	_ = json.Unmarshal(text, &answer) // an answer of another form has no status, and fails below
	if answer.Status != "ok" {
		return 0, fmt.Errorf("%s: %s %s", w.Status, answer.Status, answer.Error)
	}
	return took, nil
}

// serveAPI starts brigd at a Unix socket of its own and waits until it is ready (sd_notify(3)).
func serveAPI(ctx context.Context, e *Env, program string) (client *http.Client, stop func() error, err error) {
	dir, err := os.MkdirTemp(e.Dir, "api")
	if err != nil {
		return nil, nil, err
	}
	news, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "n"), Net: "unixgram"})
	if err != nil {
		return nil, nil, err
	}
	defer news.Close()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "serve", "--listen", "unix:"+filepath.Join(dir, "s"), "--log-level", "warn")
	cmd.Env, cmd.Stderr = append(os.Environ(), "NOTIFY_SOCKET="+filepath.Join(dir, "n")), &said
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		_ = news.SetReadDeadline(time.Unix(1, 0)) // ends ready; it only fails on a closed socket, when ready has ended
	}()
	if err := errors.Join(news.SetReadDeadline(time.Now().Add(15*time.Second)), ready(news)); err != nil {
		_ = cmd.Process.Kill() // an error means that it has ended
		return nil, nil, errors.Join(fmt.Errorf("brigd is not ready: %w", err), <-ended, ctx.Err(), errors.New(said.String()))
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "s"))
	}
	transport := &http.Transport{MaxIdleConnsPerHost: apiClients[len(apiClients)-1], DialContext: dial}
	return &http.Client{Transport: transport}, func() error {
		transport.CloseIdleConnections()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		if err := <-ended; err != nil && ctx.Err() == nil {
			return fmt.Errorf("brigd: %w: %s", err, said.String())
		}
		return nil
	}, nil
}

// ready waits for the datagram with READY=1.
func ready(news *net.UnixConn) error {
	buf := make([]byte, 4096)
	for {
		n, err := news.Read(buf)
		if err != nil || strings.Contains(string(buf[:n]), "READY=1") {
			return err
		}
	}
}
