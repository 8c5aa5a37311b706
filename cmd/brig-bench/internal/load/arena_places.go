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
	"brig/cmd/brig-bench/internal/procfs"

	"golang.org/x/sys/unix"
)

// clientTarget is where a jail shows this program.
const clientTarget = "/brig-bench"

// arena is the server, and the jails that can reach it: the first request to a place starts it.
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

// newArena listens in the namespace that makeArena has made.
func newArena(ctx context.Context, cfg Config) (*arena, error) {
	// a relay that goes into the background stays a child of this process
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, os.NewSyscallError("prctl PR_SET_CHILD_SUBREAPER", err)
	}
	l, err := net.Listen("tcp4", Server)
	if err != nil {
		return nil, err
	}
	h := &peers.Host{Dir: cfg.Scratch, Brig: cfg.Brig, Root: os.Geteuid() == 0}
	a := &arena{ctx: ctx, relays: peers.Relays(h, Server), places: map[string]*place{}, server: l, serving: make(chan error, 1)}
	go func() { a.serving <- serveNet(l) }()
	return a, nil
}

// ask performs a request at a place: what concerns its relay here, all else in its jail.
func (a *arena) ask(r Request) (reply Reply, err error) {
	i := slices.IndexFunc(a.relays, func(p *peers.Relay) bool { return p.Info.Name == r.In })
	if i < 0 {
		return reply, fmt.Errorf("there is no place %q", r.In)
	}
	relay := a.relays[i]
	switch r.Op {
	case "net-start":
		took, err := relay.Time(a.ctx, r.N > 0)
		return Reply{Nanos: []int64{took.Nanoseconds()}}, err
	case "net-end":
		return reply, a.end(r.In)
	}
	p := a.places[r.In]
	if p == nil {
		if p, err = a.open(relay); err != nil {
			return reply, err
		}
		a.places[r.In] = p
	}
	if r.Op == "net-relay" {
		reply.Held, err = p.held()
		return reply, err
	}
	r.In = ""
	if reply, err = p.client.Ask(r); err != nil && reply.Error != "" {
		err = errors.New(reply.Error) // the caller names the operation
	}
	return reply, err
}

// open starts a worker in a jail and gives it its network.
func (a *arena) open(relay *peers.Relay) (*place, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, kill := context.WithCancel(a.ctx)
	cmd := relay.Command(ctx, true, peers.Job{Args: []string{clientTarget, Subcommand}, Binds: []peers.Bind{{Source: exe, Target: clientTarget}}})
	var said tail
	cmd.Stderr = &said
	c, err := Start(cmd)
	if err != nil {
		kill()
		return nil, err
	}
	link, err := relay.Attach(cmd.Process.Pid)
	if err == nil {
		_, err = c.Ask(Request{Op: "getppid", N: 1}) // the jail is there
	}
	if err == nil {
		return &place{client: c, link: link, kill: kill}, nil
	}
	defer time.AfterFunc(answerIn, kill).Stop()
	if cerr := c.Close(); cerr != nil { // a jail that starts and fails says why when it is awaited
		err = cerr
	}
	kill()
	if link != nil {
		err = errors.Join(err, link.Close())
	}
	return nil, fmt.Errorf("%w%s", err, said.line())
}

// held is what the relay's processes hold, in bytes.
func (p *place) held() (bytes int64, err error) {
	if p.link.Pid == 0 {
		return 0, errors.New("nothing relays here")
	}
	pids := map[int]bool{p.link.Pid: true}
	if p.link.Tree {
		parents, err := procfs.Parents()
		if err != nil {
			return 0, err
		}
		pids = procfs.Below(parents, p.link.Pid)
	}
	for pid := range pids {
		s, err := procfs.ReadSize(pid)
		if err != nil {
			return 0, err
		}
		bytes += s.Share
	}
	return bytes, nil
}

// end takes a place back; the next request makes a fresh one.
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
		if e := a.end(name); e != nil && a.ctx.Err() == nil { // killed with the context
			err = errors.Join(err, e)
		}
	}
	return errors.Join(err, a.server.Close(), <-a.serving)
}

// tail keeps the end of what a jail says.
type tail struct{ text []byte }

// Write keeps; it is never an error.
func (t *tail) Write(b []byte) (int, error) {
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-300):]
	return len(b), nil
}

// line is what is kept, as the rest of an error's line.
func (t *tail) line() string {
	if text := strings.Join(strings.Fields(string(t.text)), " "); text != "" {
		return ": " + text
	}
	return ""
}
