// Package load is what the benchmark runs elsewhere than in itself: in a jail, in a mount namespace of its own, under a
// heap of its own. The binary runs itself again with the hidden command `load`; the two exchange one JSON object a
// line over stdin and stdout, so that two workers can be asked in turn and whatever else the machine does meets both
// alike. A worker ends with its stdin.
package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Subcommand is the hidden command that makes this binary a worker: Serve with the arguments after it.
const Subcommand = "load"

// Request asks a worker for one measurement.
type Request struct {
	Op string `json:"op"`
	// In is where: the name of a contender in the arena. Empty is the worker itself.
	In string `json:"in,omitempty"`
	// Arg is what the operation works on: a path, a command line's name.
	Arg string `json:"arg,omitempty"`
	// N is how often to perform it, or milliseconds for an operation that takes a time.
	N int `json:"n,omitempty"`
}

// Reply is the answer to one Request.
type Reply struct {
	// Nanos are nanoseconds: one for each repetition, or one for all N.
	Nanos []int64 `json:"ns,omitempty"`
	// Usage is what the worker itself holds: the answer to "grow".
	Usage *Usage `json:"usage,omitempty"`
	// Held is what a relay's processes hold, in bytes: the answer to "net-relay".
	Held int64 `json:"held,omitempty"`
	// Pauses is the answer to "pauses".
	Pauses *Pauses `json:"pauses,omitempty"`
	// Error is why there is no answer.
	Error string `json:"error,omitempty"`
}

// Config is a worker's only argument, as JSON.
type Config struct {
	// Heap is the live heap to hold, in bytes.
	Heap int64 `json:"heap,omitempty"`
	// Mounts is how many mounts to add to the mount namespace, which must be the worker's own.
	Mounts int `json:"mounts,omitempty"`
	// Dir is an empty directory to mount them below.
	Dir string `json:"dir,omitempty"`
	// Outside is the caller's mount namespace, in which nothing is to be mounted.
	Outside string `json:"outside,omitempty"`
	// Network is the caller's network namespace: the worker is to make its own the arena.
	Network string `json:"network,omitempty"`
	// Arena has the worker be the arena's server, and start whom requests name.
	Arena bool `json:"arena,omitempty"`
	// Brig is the brig program, and Scratch a private directory for the tools' files.
	Brig    string `json:"brig,omitempty"`
	Scratch string `json:"scratch,omitempty"`
	// Blast has the worker answer nothing and write so many bytes to its stdout instead.
	Blast int64 `json:"blast,omitempty"`
}

// Client is the asking end of a worker.
type Client struct {
	in   io.WriteCloser
	out  *bufio.Reader
	wait func() error
}

// NewClient speaks to a worker whose stdin and stdout are given; wait waits for its end.
func NewClient(in io.WriteCloser, out io.Reader, wait func() error) *Client {
	return &Client{in, bufio.NewReader(out), wait}
}

// Start starts a command line that ends in a worker: the binary itself, or a jail around it.
func Start(cmd *exec.Cmd) (*Client, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return NewClient(in, out, cmd.Wait), nil
}

// Self starts this binary as a worker.
func Self(ctx context.Context, cfg Config) (*Client, error) {
	cmd, err := SelfCommand(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return Start(cmd)
}

// SelfCommand is this binary as a worker, not yet started.
func SelfCommand(ctx context.Context, cfg Config) (*exec.Cmd, error) {
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", Subcommand, string(text))
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// Ask sends a request and waits for the reply. An error of the worker's is an error here.
func (c *Client) Ask(r Request) (Reply, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return Reply{}, err
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return Reply{}, fmt.Errorf("the worker for %q has ended: %w", r.Op, err)
	}
	if line, err = c.out.ReadBytes('\n'); err != nil {
		return Reply{}, fmt.Errorf("the worker for %q has ended: %w", r.Op, err)
	}
	var reply Reply
	if err := json.Unmarshal(line, &reply); err != nil {
		return Reply{}, fmt.Errorf("the worker for %q answers %.100q: %w", r.Op, line, err)
	}
	if reply.Error != "" {
		return reply, errors.New(r.Op + ": " + reply.Error)
	}
	return reply, nil
}

// Close ends the worker and waits for it.
func (c *Client) Close() error { return errors.Join(c.in.Close(), c.wait()) }
