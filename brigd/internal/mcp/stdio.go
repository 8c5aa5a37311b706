package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/brigd/engine"
)

// ServeStdio serves one session of a caller on in and out. It returns nil when in ends or ctx is cancelled. Only
// protocol messages are written to out. A line that is not a message is answered with an error, and the session goes
// on. When in ends, running calls are cancelled, since the client has disconnected.
func (s *Server) ServeStdio(ctx context.Context, c engine.Caller, in io.ReadCloser, out io.Writer) error {
	x := s.open(c, "")
	defer x.end()
	flying := &flight{ids: map[string]bool{}}
	both := &oneByOne{w: out, flying: flying}
	reader := newLines(in, both, int(s.MaxBody), x.batches, flying)
	conn, err := x.server.Connect(ctx, &sdk.IOTransport{Reader: reader, Writer: keepOpen{both}, MaxLineLength: -1}, nil)
	if err != nil {
		return fmt.Errorf("the MCP session over stdio cannot begin: %w", err)
	}
	defer context.AfterFunc(ctx, func() {
		x.end() // closing waits for the calls
		_ = conn.Close()
	})()
	if err := conn.Wait(); err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("the MCP session over stdio has failed: %w", err)
	}
	return nil
}

// batches reports whether the client has requested a version of the protocol with batches: 2025-06-18 removed them.
func (x *session) batches() bool {
	for conn := range x.server.Sessions() {
		if p := conn.InitializeParams(); p != nil {
			return p.ProtocolVersion == "2024-11-05" || p.ProtocolVersion == "2025-03-26"
		}
	}
	return false
}

// keepOpen hides Close: the opener of the stream closes it.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }
