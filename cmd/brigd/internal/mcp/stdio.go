package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeStdio serves one session on o.In and o.Out. It returns nil when In ends or ctx is cancelled. Only protocol
// messages are written to Out. A line that is not a message is answered with an error, and the session goes on. When In
// ends, running calls are cancelled, since the client has disconnected.
func ServeStdio(ctx context.Context, o Options) error {
	s, err := newService(o)
	if err != nil {
		return err
	}
	in, out := io.ReadCloser(os.Stdin), io.WriteCloser(os.Stdout)
	if o.In != nil {
		in = o.In
	}
	if o.Out != nil {
		out = o.Out
	}
	x := s.open(o.Local, "", nil)
	defer x.end()
	flying := &flight{}
	both := &oneByOne{w: out, flying: flying}
	reader := newLines(in, both, s.o.MaxMessage, x.batches, flying)
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
