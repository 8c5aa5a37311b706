package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"brig/brigd/audit"
	"brig/brigd/internal/netstat"
	"brig/brigd/lease"
)

// ports connects to servers in living sandboxes.
type ports struct {
	processes *processes
	leases    *lease.Leases
	log       *Recorder
}

// PortInfo describes a TCP port of a living sandbox on which something listens.
type PortInfo struct {
	// Port is its number.
	Port int `json:"port"`
	// Addresses are those of the sandbox on which it listens, such as 127.0.0.1. Of loopback addresses, calls reach
	// 127.0.0.1 and ::1.
	Addresses []string `json:"addresses"`
}

// Ports lists on which TCP ports the processes of a living sandbox listen, in their order: at most 1024. The tables are
// read by the host's procfs.
func (s *ports) Ports(c Caller, id string) ([]PortInfo, error) {
	l, _, no := s.processes.life(c, id, "port")
	if no != nil {
		return nil, no
	}
	leave, no := l.enter()
	if no != nil {
		return nil, no
	}
	defer leave()
	dir, err := os.Open("/proc/" + strconv.Itoa(l.box.Pid()))
	if err != nil {
		return nil, cmp.Or(l.ended(), boxEnded("it ends now"))
	}
	defer dir.Close()
	// An answer of init proves that the number was still its own: no server is asked, since / is no socket.
	if _, err := l.box.Dial(context.Background(), "unix", "/"); errors.Is(err, os.ErrProcessDone) {
		return nil, cmp.Or(l.ended(), boxEnded("it ends now"))
	}
	found, err := netstat.Listening(dir)
	if err != nil {
		return nil, err
	}
	list := make([]PortInfo, len(found))
	for i, p := range found {
		list[i].Port = p.Number
		for _, a := range p.Addresses {
			list[i].Addresses = append(list[i].Addresses, a.String())
		}
	}
	return list, nil
}

// OpenPort records that the caller makes a link to a port of a living sandbox, unless the caller may not connect to it.
// The holder of the link then connects as the caller: each time by DialPort.
func (s *ports) OpenPort(c Caller, id string, port int) error {
	_, box, no := s.processes.life(c, id, "port")
	if no != nil {
		return no
	}
	v := about(audit.PortOpen, c, box)
	v.Note = "port " + strconv.Itoa(port)
	if no := s.log.record(v); no != nil {
		return no
	}
	return nil
}

// DialPort connects to a server in a living sandbox. The connection is a use of the sandbox until it is closed; it ends
// with the caller's token. What it brings is a process's in the sandbox: do not believe it.
func (s *ports) DialPort(ctx context.Context, c Caller, id string, port int) (net.Conn, error) {
	l, box, no := s.processes.life(c, id, "port")
	if no != nil {
		return nil, no
	}
	left, err := box.Use()
	if err != nil {
		return nil, asRefusal(err, "sandbox", "sandbox_unknown")
	}
	leave, no := l.enter()
	if no != nil {
		left()
		return nil, no
	}
	conn, err := l.box.Dial(ctx, "tcp", ":"+strconv.Itoa(port))
	if err != nil {
		leave()
		left()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, os.ErrProcessDone) {
			return nil, cmp.Or(l.ended(), boxEnded("it ends now"))
		}
		return nil, refuse("sandbox", "port_closed", "port",
			fmt.Sprintf("nothing in the sandbox takes connections at port %d", port),
			"GET /v1/sandboxes/"+id+"/ports lists where something listens; a server may need a moment to start")
	}
	return s.leases.Conn(conn, NewID("port"), c.Grant.verified(), func() {
		leave()
		left()
	}), nil
}
