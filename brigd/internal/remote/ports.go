package remote

import (
	"context"
	"net"

	"brig/brigd/engine"
	"brig/brigd/job"
)

// ports are those of sandboxes at the workers.
type ports struct{ at *Engine }

// Ports lists on which ports the processes of a sandbox listen.
func (p ports) Ports(c engine.Caller, id string) ([]engine.PortInfo, error) {
	var a struct{ Ports []engine.PortInfo }
	err := p.at.get(p.at.about(c, id, "GET", "/ports"), nil, &a)
	return a.Ports, err
}

// DialPort refuses to connect: a worker takes requests about its sandboxes, and no connections to their ports.
func (p ports) DialPort(_ context.Context, c engine.Caller, id string, port int) (net.Conn, error) {
	return nil, p.OpenPort(c, id, port)
}

// OpenPort refuses to make a link, which DialPort could not follow.
func (ports) OpenPort(engine.Caller, string, int) error {
	return &job.Refusal{Layer: "sandbox", Code: "port_elsewhere", Rule: "port",
		Message:   "the sandbox is at a worker of the queue, and requests are not passed in to its ports from here",
		NextSteps: []string{"call its server by a process in the sandbox", "or use a brigd without a queue"}}
}
