package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"brig/cmd/brig-bench/internal/peers"
)

// Server is the address of the arena's server: no loopback one, which relays treat as their own.
const Server = "10.9.9.9:17000"

// Target is the path at which a jail shows this program.
const Target = "/brig-bench"

// arena is a network namespace with a server, and the jails that can reach it: the first request to a place starts it.
type arena struct {
	ctx     context.Context
	relays  []*peers.Relay
	places  map[string]*place
	server  net.Listener
	serving chan error
}

// place is a worker in a jail, and its network.
type place struct {
	client *Client
	link   *peers.Link
	kill   func()
}

// newArena listens in the namespace that enter has set up.
func newArena(ctx context.Context, cfg Config) (*arena, error) {
	l, err := net.Listen("tcp4", Server)
	if err != nil {
		return nil, err
	}
	relays := peers.Relays(&peers.Host{Dir: cfg.Scratch, Brig: cfg.Brig, Root: os.Geteuid() == 0})
	a := &arena{ctx: ctx, relays: relays, places: map[string]*place{}, server: l, serving: make(chan error, 1)}
	go func() { a.serving <- serveNet(l) }()
	return a, nil
}

// ask performs a request at a place: what concerns its relay here, the rest in its jail.
func (a *arena) ask(r Request) (reply Reply, err error) {
	i := slices.IndexFunc(a.relays, func(p *peers.Relay) bool { return p.Info.Name == r.In })
	if i < 0 {
		return reply, fmt.Errorf("there is no place %q", r.In)
	}
	switch r.Op {
	case "net-start":
		took, err := a.relays[i].Time(a.ctx, r.N > 0, Server)
		return Reply{Nanos: []int64{took.Nanoseconds()}}, err
	case "net-end":
		return reply, a.end(r.In)
	}
	p := a.places[r.In]
	if p == nil {
		if p, err = a.open(a.relays[i]); err != nil {
			return reply, err
		}
		a.places[r.In] = p
	}
	if r.Op == "net-relay" {
		if p.link.Pid == 0 {
			return reply, errors.New("nothing relays here")
		}
		reply.Held, err = field(fmt.Sprintf("/proc/%d/smaps_rollup", p.link.Pid), "Pss")
		reply.Held <<= 10
		return reply, err
	}
	r.In = ""
	if reply, err = p.client.Ask(r); err != nil && reply.Error != "" {
		err = errors.New(reply.Error) // the caller names the operation
	}
	return reply, err
}

// open starts a worker in a jail with its network.
func (a *arena) open(relay *peers.Relay) (*place, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, kill := context.WithCancel(a.ctx)
	job := peers.Job{Args: []string{Target, Subcommand}, Binds: []peers.Bind{{Source: exe, Target: Target}}}
	cmd := relay.Command(ctx, true, Server, job)
	var said strings.Builder
	cmd.Stderr = &said
	c, err := start(cmd)
	if err != nil {
		kill()
		return nil, err
	}
	link, err := relay.Attach(cmd.Process.Pid)
	if err == nil {
		_, err = c.Ask(Request{Op: "getppid", N: 1}) // the jail works
	}
	if err == nil {
		return &place{client: c, link: link, kill: kill}, nil
	}
	defer time.AfterFunc(answerIn, kill).Stop()
	if cerr := c.Close(); cerr != nil { // a jail that starts and fails has its reason there
		err = cerr
	}
	kill()
	if link != nil {
		err = errors.Join(err, link.Close())
	}
	return nil, fmt.Errorf("%w: %s", err, strings.Join(strings.Fields(said.String()), " "))
}

// end closes a place; the next request makes a fresh one.
func (a *arena) end(name string) error {
	p := a.places[name]
	if p == nil {
		return nil
	}
	delete(a.places, name)
	defer p.kill()
	return errors.Join(p.client.Close(), p.link.Close())
}

func (a *arena) close() (err error) {
	for name := range a.places {
		if e := a.end(name); e != nil && a.ctx.Err() == nil { // else killed with the context
			err = errors.Join(err, e)
		}
	}
	return errors.Join(err, a.server.Close(), <-a.serving)
}
