package load

import (
	"context"
	"errors"
	"fmt"
	"net"

	"brig/cmd/brig-bench/internal/peers"
)

// arena is a network namespace with a server, and the jails that can reach it: the first request to a place starts it.
type arena struct {
	ctx     context.Context
	tools   *spawner
	places  map[string]*place
	server  net.Listener
	serving chan error
}

// place is a worker in a jail with a network.
type place struct {
	*Jailed
	ready *peers.Ready
}

// newArena listens in the namespace that enter has set up.
func newArena(ctx context.Context, tools *spawner) (*arena, error) {
	l, err := net.Listen("tcp4", peers.Server)
	if err != nil {
		return nil, err
	}
	a := &arena{ctx: ctx, tools: tools, places: map[string]*place{}, server: l, serving: make(chan error, 1)}
	go func() { a.serving <- serveNet(l) }()
	return a, nil
}

// ask performs a request at a place: what concerns its relay here, the rest in its jail.
func (a *arena) ask(r Request) (reply Reply, err error) {
	if r.Op == "net-end" {
		return reply, a.end(r.In)
	}
	p := a.places[r.In]
	if p == nil {
		if p, err = a.open(r.In); err != nil {
			return reply, err
		}
		a.places[r.In] = p
	}
	if r.Op == "net-relay" {
		if p.running.Pid == 0 {
			return reply, errors.New("nothing relays here")
		}
		reply.Held, err = field(fmt.Sprintf("/proc/%d/smaps_rollup", p.running.Pid), "Pss")
		reply.Held <<= 10
		return reply, err
	}
	r.In = ""
	if reply, err = p.Ask(r); err != nil && reply.Error != "" {
		err = errors.New(reply.Error) // the caller names the operation
	}
	return reply, err
}

// open starts a worker in a jail with its network.
func (a *arena) open(name string) (*place, error) {
	tool, err := a.tools.find(name)
	if err != nil {
		return nil, err
	}
	job, err := Job()
	if err != nil {
		return nil, err
	}
	ready, err := tool.Prepare(job)
	if err != nil {
		return nil, err
	}
	p, err := Within(a.ctx, ready)
	if err != nil {
		return nil, errors.Join(err, ready.Close())
	}
	return &place{p, ready}, nil
}

// end closes a place; the next request makes a fresh one.
func (a *arena) end(name string) error {
	p := a.places[name]
	if p == nil {
		return nil
	}
	delete(a.places, name)
	return errors.Join(p.Close(), p.ready.Close())
}

func (a *arena) close() (err error) {
	for name := range a.places {
		if e := a.end(name); e != nil && a.ctx.Err() == nil { // else killed with the context
			err = errors.Join(err, e)
		}
	}
	return errors.Join(err, a.server.Close(), <-a.serving)
}
