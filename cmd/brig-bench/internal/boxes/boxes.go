// Package boxes makes boxes that live, by package nsjail in this process and by brigd, and uses both in the same way.
package boxes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"brig/cmd/brig-bench/internal/load"
)

// Box is a box that lives.
type Box struct {
	Exec   func(args ...string) error // runs a command in it, which exits with 0
	Freeze func() error               // stops its processes
	Thaw   func() error               // brigd's boxes thaw with Exec, and this does nothing
	// Serve starts the benchmark's server in it, and returns how to ask it.
	Serve func() (*Server, error)
	Close func() error
}

// Maker makes boxes.
type Maker struct {
	Name  string
	New   func() (*Box, error)
	Close func() error
}

// Server is the benchmark's HTTP server, as it is reached from outside.
type Server struct {
	base   string
	client *http.Client
	Close  func() error
}

// port is where the server listens in a box, whose network is its own.
const port = "8000"

// Get reads an answer of so many bytes.
func (s *Server) Get(n int64) error {
	answer, err := s.client.Get(fmt.Sprint(s.base, "/", n))
	if err != nil {
		return err
	}
	got, err := io.Copy(io.Discard, answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err == nil && (got != n || answer.StatusCode != http.StatusOK) {
		err = fmt.Errorf("%d of %d bytes, with %s", got, n, answer.Status)
	}
	return err
}

// Direct starts the server without a jail.
func Direct(ctx context.Context) (*Server, error) {
	line, stop, err := load.StartServer(ctx)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &http.Transport{}}
	return &Server{base: "http://" + line, client: client, Close: func() error {
		client.CloseIdleConnections()
		return stop()
	}}, nil
}

// Makers returns that of this process and that of a brigd, which is started; "" leaves it out. Close of each is called
// in the end. dir holds brigd's socket.
func Makers(program, dir string) ([]*Maker, error) {
	own, err := library()
	if err != nil || program == "" {
		return []*Maker{own}, err
	}
	daemon, err := brigd(program, dir)
	if err != nil {
		return nil, errors.Join(err, own.Close())
	}
	return []*Maker{own, daemon}, nil
}

// itself is the path of this program, which is its own payload.
func itself() (string, error) { return os.Executable() }
