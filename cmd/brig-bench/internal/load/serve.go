package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"

	"brig/cmd/brig-bench/internal/peers"
)

// worker is a running worker.
type worker struct {
	cfg    Config
	ctx    context.Context
	heap   [][]byte // what Config.Heap holds live
	spawn  spawner
	grown  *growth
	arena  *arena
	held   []net.Conn // what net-hold keeps open
	closes []func() error
}

// Serve is the command `load`: it answers requests until in ends. args is a Config as JSON, or nothing.
func Serve(ctx context.Context, args []string, in io.Reader, out io.Writer) (err error) {
	w := &worker{ctx: ctx}
	if len(args) > 0 {
		if err := json.Unmarshal([]byte(args[0]), &w.cfg); err != nil {
			return fmt.Errorf("load: bad configuration: %w; it is the benchmark's own command, started by it alone", err)
		}
	}
	if name, _, _ := w.cfg.namespace(); name != "" && !w.cfg.Ready {
		return w.cfg.enter()
	}
	w.spawn.cfg = w.cfg
	w.heap = fill(w.cfg.Heap)
	defer func() { err = errors.Join(err, w.close()) }()
	if w.cfg.Arena {
		if w.arena, err = newArena(ctx, &w.spawn); err != nil {
			return err
		}
		w.closes = append(w.closes, w.arena.close)
	}
	lines, enc := bufio.NewScanner(in), json.NewEncoder(out)
	for lines.Scan() {
		var r Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("load: bad request: %w", err)
		}
		reply, err := w.answer(r)
		if err != nil {
			reply.Error = err.Error()
		}
		if err := enc.Encode(reply); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (w *worker) close() (err error) {
	for _, c := range append(w.closes, w.spawn.close) {
		err = errors.Join(err, c())
	}
	runtime.KeepAlive(w.heap)
	return err
}

func (w *worker) answer(r Request) (reply Reply, err error) {
	if r.In != "" && w.arena != nil {
		return w.arena.ask(r)
	}
	if f := probes[r.Op]; f != nil {
		ns, err := fastest(f, r)
		return Reply{Nanos: []int64{ns}}, err
	}
	switch r.Op {
	case "grow":
		reply.Usage, err = w.grow(r.N)
	case "run":
		reply.Nanos, err = w.spawn.times(r)
	case "net-down", "net-up":
		reply.Nanos, err = transfer(r)
	case "net-dial", "net-connect":
		reply.Nanos, err = exchanges(r)
	case "net-hold":
		more, herr := hold(r.Arg, r.N-len(w.held))
		w.held, err = append(w.held, more...), herr
	default:
		err = fmt.Errorf("no operation of that name")
	}
	return reply, err
}

// fill makes a live heap. Each page is written, or the kernel would give it no memory.
func fill(bytes int64) (heap [][]byte) {
	const chunk = 1 << 20
	for ; bytes > 0; bytes -= chunk {
		c := make([]byte, chunk)
		for i := 0; i < len(c); i += 4096 {
			c[i] = 1
		}
		heap = append(heap, c)
	}
	return heap
}

// Namespaces is the name of a way to start a payload without a tool: see peers.Namespaces.
const Namespaces = "os/exec, namespaces"

// spawner starts payloads with tools, each prepared at its first start.
type spawner struct {
	cfg     Config
	tools   []*peers.Tool // all, looked for at the first start
	readies map[string]*peers.Ready
}

// find returns the tool of a name; in the arena it may be one with a network, or the same without.
func (s *spawner) find(name string) (*peers.Tool, error) {
	if s.tools == nil {
		h := &peers.Host{Dir: s.cfg.Scratch, Brig: s.cfg.Brig, Root: os.Geteuid() == 0}
		s.readies = map[string]*peers.Ready{}
		if !s.cfg.Arena {
			s.tools = append(peers.All(h), peers.Namespaces(h, Namespaces))
		} else {
			for _, r := range peers.Relays(h) {
				s.tools = append(s.tools, r)
				if r.Without != nil {
					s.tools = append(s.tools, r.Without)
				}
			}
		}
	}
	i := slices.IndexFunc(s.tools, func(t *peers.Tool) bool { return t.Info.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no tool %q", name)
	}
	if why := s.tools[i].Info.Absent; why != "" {
		return nil, errors.New(why)
	}
	return s.tools[i], nil
}

// times starts and awaits a payload N times with the tool that Arg names, and returns the nanoseconds of each. In the
// arena the payload waits until its network is ready.
func (s *spawner) times(r Request) (nanos []int64, err error) {
	tool, err := s.find(r.Arg)
	if err != nil {
		return nil, err
	}
	ready := s.readies[r.Arg]
	if ready == nil {
		payload := "/bin/true"
		if s.cfg.Arena {
			payload = "/bin/cat"
		}
		if ready, err = tool.Prepare(peers.Job{Args: []string{payload}}); err != nil {
			return nil, err
		}
		s.readies[r.Arg] = ready
	}
	for range r.N {
		took, err := ready.Time()
		if err != nil {
			return nil, err
		}
		nanos = append(nanos, took.Nanoseconds())
	}
	return nanos, nil
}

func (s *spawner) close() (err error) {
	for _, r := range s.readies {
		err = errors.Join(err, r.Close())
	}
	return err
}
