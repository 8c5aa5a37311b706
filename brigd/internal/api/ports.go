package api

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/brigd/internal/links"
	"brig/brigd/internal/portal"
)

// portWait is how long a server in a sandbox may take to begin an answer.
const portWait = 2 * time.Minute

// portHandlers answer requests about servers in sandboxes, and pass requests in to them.
type portHandlers struct {
	ports          front.Ports
	bodyTime, wait time.Duration
	links          *links.Links // nil if no port has an origin of its own
	link           func(c engine.Caller, id string, port int) (*front.Link, error)
	credential     func(authorization string) bool
}

// PortList is the answer to GET /v1/sandboxes/{id}/ports.
type PortList struct {
	Ports []engine.PortInfo `json:"ports"`
}

func portRoutes(h *portHandlers) []route {
	return []route{
		{method: "GET", path: "/v1/sandboxes/{id}/ports", id: "listPorts",
			summary: "List on which TCP ports the processes of a living sandbox listen.", status: 200, out: PortList{},
			fails: []int{409, 501}, handle: h.list},
		{method: "POST", path: "/v1/sandboxes/{id}/ports/{name}", id: "openPort",
			summary: "Make a link to a port of a living sandbox, which a browser can open.", status: 200, out: front.Link{},
			fails: []int{409, 429, 501}, handle: h.open},
		{method: "GET", path: "/v1/sandboxes/{id}/ports/{name}/{path}", id: "port", through: true,
			summary: "Pass a request, of any method, in to the server at a port of a living sandbox. It sees the path " +
				"behind the port.",
			status: 200, rawOut: "*/*", fails: []int{408, 409, 501, 502, 504}, handle: h.pass},
	}
}

func (h *portHandlers) list(c *call) (any, error) {
	list, err := h.ports.Ports(c.Caller, c.id)
	return PortList{append([]engine.PortInfo{}, list...)}, err
}

// port reads the number of a port.
func port(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != text {
		return 0, no("request", "bad_port", "port", "the path names no port from 1 to 65535",
			"write it as in /v1/sandboxes/ID/ports/8000/")
	}
	return int(n), nil
}

// pass passes a request in.
func (h *portHandlers) pass(c *call) (any, error) {
	n, err := port(c.name)
	if err != nil {
		return nil, err
	}
	prefix := "/v1/sandboxes/" + c.id + "/ports/" + c.name
	if !strings.HasPrefix(c.R.URL.Path, prefix) {
		return nil, no("request", "bad_port", "path", "the path is not written plainly", "do not percent-encode its names")
	}
	p := h.passage(c, c.id, n)
	p.Prefix = prefix
	return nil, p.Serve(c.Visit)
}

// passage is the way in to a port, without where the request comes from.
func (h *portHandlers) passage(c *call, id string, n int) *portal.Passage {
	return &portal.Passage{Port: n, Wait: h.wait, BodyTime: h.bodyTime,
		Dial: func(ctx context.Context) (net.Conn, error) { return h.ports.DialPort(ctx, c.Caller, id, n) }}
}
