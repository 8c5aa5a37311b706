package boxes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"brig/cmd/brig-bench/internal/load"
	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// inside is where a box of the library shows this program.
const inside = "/brig-bench"

// library returns the maker of this process.
func library() (*Maker, error) {
	exe, err := itself()
	if err != nil {
		return nil, err
	}
	r, err := nsjail.NewRunner()
	if err != nil {
		return nil, err
	}
	spec := nsjail.Spec{Mounts: []nsjail.Mount{{Type: nsjail.MountBind, Source: exe, Target: inside}}}
	return &Maker{Name: "a box of the library", Close: r.Close, New: func() (*Box, error) {
		b, err := r.NewBox(context.Background(), spec)
		if err != nil {
			return nil, err
		}
		return &Box{Freeze: b.Freeze, Thaw: b.Thaw,
			Exec:  func(args ...string) error { return success(b.Command(args[0], args[1:]...).Run()) },
			Serve: func() (*Server, error) { return serve(b) },
			Close: func() error { return success(b.Close()) }}, nil
	}}, nil
}

// success turns the end of a command that has failed into an error.
func success(r *nsjail.Result, err error) error {
	if err == nil && r.Status != nsjail.StatusOK {
		err = fmt.Errorf("status %s, exit code %d", r.Status, r.ExitCode)
	}
	return err
}

// serve starts the server in a box, and waits until it has printed that it listens.
func serve(b *nsjail.Box) (*Server, error) {
	out, theirs := io.Pipe()
	c := b.Command(inside, load.Subcommand, "serve", port, "")
	c.Stdout = theirs
	if err := c.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() {
		_, err := c.Wait()
		ended <- errors.Join(err, theirs.Close())
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return nil, errors.Join(fmt.Errorf("the server has said nothing: %w", err), <-ended)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return b.Dial(ctx, "tcp", ":"+port) }
	client := &http.Client{Transport: &http.Transport{DialContext: dial}}
	return &Server{base: "http://box", client: client, Close: func() error {
		client.CloseIdleConnections()
		return errors.Join(c.Signal(unix.SIGKILL), <-ended)
	}}, nil
}
