package load

import (
	"bufio"
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
	"sync/atomic"
	"syscall"
	"time"

	"brig/cmd/brig-bench/internal/peers"

	"golang.org/x/sys/unix"
)

// requestTime bounds the time of a request.
const requestTime = 20 * time.Second

// agents is how many callers share the requests: brigd divides its jails fairly between callers.
const agents = 16

// Brigd is a running brigd.
type Brigd struct {
	cmd    *exec.Cmd
	client *http.Client
	asked  atomic.Int64
}

// StartBrigd starts the program at a Unix socket in dir, which holds no other, and waits until it serves.
func StartBrigd(program, dir string, flags ...string) (*Brigd, error) {
	socket := filepath.Join(dir, "s")
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	b := &Brigd{cmd: exec.Command(program, append([]string{"serve", "--listen", "unix:" + socket}, flags...)...),
		client: &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: agents},
			Timeout: requestTime}}
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	said, err := b.cmd.StderrPipe()
	if err == nil {
		err = b.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	last := "it has said nothing"
	for lines := bufio.NewScanner(said); lines.Scan(); last = lines.Text() {
		if strings.Contains(lines.Text(), "msg=ready ") {
			go func() { _, _ = io.Copy(io.Discard, said) }() // it ends with brigd
			return b, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("brigd has ended: %s", last), b.cmd.Wait())
}

// Close ends brigd in the way that leaves nothing behind.
func (b *Brigd) Close() error {
	b.client.CloseIdleConnections()
	return errors.Join(b.cmd.Process.Signal(unix.SIGTERM), b.cmd.Wait())
}

// Ready makes each start a request for a run, whose answer is its end.
func (b *Brigd) Ready(name string, request map[string]any) (*peers.Ready, error) {
	body, err := json.Marshal(request)
	tool := &peers.Tool{}
	tool.Info.Name = name
	start := func(peers.Streams) (*peers.Running, error) {
		return &peers.Running{Wait: func() error { return b.run(body) }}, nil
	}
	return &peers.Ready{Tool: tool, Start: start, Close: func() error { return nil }}, err
}

// run sends a request, of one agent after the other, and reads the answer.
func (b *Brigd) run(body []byte) error {
	r, err := http.NewRequest(http.MethodPost, b.URL("/v1/run"), bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("X-Agent-Id", fmt.Sprint("client-", b.asked.Add(1)%agents))
	text, err := b.do(r)
	var said struct{ Status string }
	if err == nil && (json.Unmarshal(text, &said) != nil || said.Status != "ok") {
		err = fmt.Errorf("brigd answers %.300s", text)
	}
	return err
}

// Ask sends a request and returns the answer; one that refuses is an error.
func (b *Brigd) Ask(method, path string, body io.Reader) ([]byte, error) {
	r, err := http.NewRequest(method, b.URL(path), body)
	if err != nil {
		return nil, err
	}
	return b.do(r)
}

func (b *Brigd) do(r *http.Request) ([]byte, error) {
	r.Header.Set("Content-Type", "application/json")
	answer, err := b.client.Do(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err == nil && answer.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("brigd answers %s: %.300s", answer.Status, text)
	}
	return text, err
}

// URL returns the URL of a path, for Client.
func (b *Brigd) URL(path string) string { return "http://brigd" + path }

// Client returns a client whose requests reach brigd.
func (b *Brigd) Client() *http.Client { return b.client }

// BrigdBeside returns the brigd in the directory of a brig, or an error that tells how to have one.
func BrigdBeside(brig string) (string, error) {
	program := filepath.Join(filepath.Dir(brig), "brigd")
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("%w; make build makes brigd beside brig", err)
	}
	return program, nil
}
