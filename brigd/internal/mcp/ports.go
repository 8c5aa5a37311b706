package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/brigd/engine"
	"brig/brigd/job"
)

type portIn struct {
	Port int `json:"port"` // such as 8000
}

type portOut struct {
	URL     string            `json:"url,omitempty"`
	Expires *time.Time        `json:"expires,omitempty"` // until then it can be opened, once
	Ports   []engine.PortInfo `json:"ports"`             // on which something listens
	Error   *job.Refusal      `json:"error,omitempty"`
}

// portTools are those of a server that has an origin for each port.
func portTools() []*tool {
	return []*tool{define[portIn, portOut]("open_port", "Open a port",
		"Returns a URL with which the user's browser opens, once, a server that start_process has started.",
		sdk.ToolAnnotations{DestructiveHint: no(), OpenWorldHint: no()},
		func(no *job.Refusal) any { return &portOut{Ports: []engine.PortInfo{}, Error: no} }, openPort)}
}

func openPort(_ context.Context, c *call, in *portIn) *sdk.CallToolResult {
	id := c.living.where()
	switch {
	case in.Port < 1 || in.Port > 65535:
		return c.refuse(refuse("request", "bad_port", "open_port: port", "port: there are ports from 1 to 65535",
			"Name that on which the server listens."))
	case id == "":
		return c.refuse(refuse("sandbox", "not_living", "open_port", "no process has been started", "Call start_process."))
	}
	link, err := c.OpenPort(c.who(), id, in.Port)
	if err != nil {
		return c.failed(id, err)
	}
	list, err := c.Engine.Ports(c.who(), id)
	if err != nil {
		return c.failed(id, err)
	}
	out := &portOut{link.URL, link.Expires, append([]engine.PortInfo{}, list...), nil}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nIt opens once, until %s.\n", out.URL, out.Expires.Format(time.TimeOnly+" MST"))
	if !slices.ContainsFunc(list, func(p engine.PortInfo) bool { return p.Port == in.Port }) {
		fmt.Fprintf(&b, "Nothing listens on port %d yet.\n", in.Port)
	}
	for _, p := range list {
		fmt.Fprintf(&b, "something listens on port %d\n", p.Port)
	}
	return result(out, false, b.String())
}
