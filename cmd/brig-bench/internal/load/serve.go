package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
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
