// Package load is the part of the benchmark that runs in another process: in a jail, in a mount or network namespace of
// its own, under a large heap. The binary runs itself again with the hidden command `load`; the two exchange one JSON
// object a line over stdin and stdout, so that two workers can be asked in turn. A worker ends with its stdin.
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
	"sync"
	"syscall"
	"time"

	"brig/cmd/brig-bench/internal/peers"

	"golang.org/x/sys/unix"
)

// Subcommand is the hidden command that makes this binary a worker: Serve with the arguments after it.
const Subcommand = "load"

// Request asks a worker for one measurement.
type Request struct {
	Op  string `json:"op"`
	In  string `json:"in,omitempty"`  // a contender in the arena; empty is the worker itself
	Arg string `json:"arg,omitempty"` // what the operation works on: a path, a tool's name
	N   int    `json:"n,omitempty"`   // how often to perform it, or bytes to transfer
}

// Reply is the answer to one Request.
type Reply struct {
	Nanos []int64 `json:"ns,omitempty"`    // one for each repetition, or one for all N
	Usage *Usage  `json:"usage,omitempty"` // of the worker itself: the answer to "grow"
	Held  int64   `json:"held,omitempty"`  // bytes of a relay: the answer to "net-relay"
	Error string  `json:"error,omitempty"` // why there is no answer
}

// Config is a worker's only argument, as JSON.
type Config struct {
	Heap    int64  `json:"heap,omitempty"`    // bytes of live heap to hold
	Mounts  int    `json:"mounts,omitempty"`  // mounts to add to the worker's own mount namespace
	Arena   bool   `json:"arena,omitempty"`   // set the worker's own network namespace up and serve in it
	Ready   bool   `json:"ready,omitempty"`   // the namespace is set up
	Outside string `json:"outside,omitempty"` // the caller's namespace, which must not change
	Brig    string `json:"brig,omitempty"`    // the brig program
	Scratch string `json:"scratch,omitempty"` // a private directory for the tools' files and the mounts
}

// Client is the asking end of a worker.
type Client struct {
	in   io.WriteCloser
	out  *bufio.Reader
	wait func() error
}

// stopIn is how long a worker may take to end what it has started.
const stopIn = 20 * time.Second

// Self starts this binary as a worker. With Mounts or Arena it is in a namespace of its own, and unless the caller is
// root in a user namespace, without which it may not change that: user_namespaces(7). The user stays the same.
func Self(ctx context.Context, cfg Config) (_ *Client, err error) {
	attr := &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if name, flag, capability := cfg.namespace(); name != "" {
		if cfg.Outside, err = os.Readlink(name); err != nil {
			return nil, err
		}
		attr.Cloneflags = flag
		if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
			attr.Cloneflags |= unix.CLONE_NEWUSER
			attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
			attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
			attr.AmbientCaps = []uintptr{capability} // execve(2) drops all others
		}
	}
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", Subcommand, string(text))
	cmd.Stderr, cmd.SysProcAttr, cmd.WaitDelay = os.Stderr, attr, stopIn
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) } // it may have processes to end
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &Client{in, bufio.NewReader(out), cmd.Wait}, cmd.Start()
}

// Ask sends a request and waits for the reply. An error of the worker's is an error here.
func (c *Client) Ask(r Request) (reply Reply, err error) {
	line, err := json.Marshal(r)
	if err != nil {
		return reply, err
	}
	if _, err = c.in.Write(append(line, '\n')); err == nil {
		line, err = c.out.ReadBytes('\n')
	}
	if err != nil {
		return reply, fmt.Errorf("the worker for %q has ended: %w", r.Op, err)
	}
	if err := json.Unmarshal(line, &reply); err != nil {
		return reply, fmt.Errorf("the worker for %q answers %.100q: %w", r.Op, line, err)
	}
	if reply.Error != "" {
		return reply, errors.New(r.Op + ": " + reply.Error)
	}
	return reply, nil
}

// Close ends the worker and waits for it.
func (c *Client) Close() error { return errors.Join(c.in.Close(), c.wait()) }

// Job returns the job that is a worker in a jail.
func Job() (peers.Job, error) {
	exe, err := os.Executable()
	return peers.Job{Args: []string{peers.Target, Subcommand}, Show: exe}, err
}

// Jailed is a worker in a jail.
type Jailed struct {
	*Client
	running *peers.Running
}

// Within starts a worker in a jail that was prepared for Job, which it closes at the end. When the worker dies a pipe
// ends, since the other ends are closed here.
func Within(ctx context.Context, ready *peers.Ready) (*Jailed, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), theirIn.Close())
	}
	running, err := ready.Start(peers.Streams{In: theirIn, Out: theirOut})
	err = errors.Join(err, theirIn.Close(), theirOut.Close())
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	stop := context.AfterFunc(ctx, running.Kill)
	c := &Client{in, bufio.NewReader(out), sync.OnceValue(func() error {
		defer stop()
		return errors.Join(running.Wait(), running.Close(), out.Close())
	})}
	if _, err = c.Ask(Request{Op: "getppid", N: 1}); err == nil {
		return &Jailed{c, running}, nil
	}
	defer time.AfterFunc(answerIn, running.Kill).Stop()
	if cerr := c.Close(); cerr != nil { // a tool that starts and fails has its reason there
		err = cerr
	}
	return nil, err
}
