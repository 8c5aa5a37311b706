package fakes

import (
	"context"
	"net"
	"strconv"

	"brig/brigd/engine"
)

// ports implement front.Ports: those of this machine are those of each sandbox.
type ports struct{ of *Engine }

// Ports implements front.Engine.
func (p ports) Ports(c engine.Caller, id string) ([]engine.PortInfo, error) {
	return []engine.PortInfo{{Port: 8000, Addresses: []string{"127.0.0.1"}}},
		p.of.inBox(c, id, func(*Box) error { return nil })
}

// OpenPort implements front.Engine.
func (p ports) OpenPort(c engine.Caller, id string, _ int) error {
	return p.of.inBox(c, id, func(*Box) error { return nil })
}

// DialPort implements front.Engine.
func (p ports) DialPort(ctx context.Context, c engine.Caller, id string, port int) (net.Conn, error) {
	if err := p.of.inBox(c, id, func(*Box) error { return nil }); err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return nil, Refuse("port_closed", "nothing listens there")
	}
	return conn, nil
}
