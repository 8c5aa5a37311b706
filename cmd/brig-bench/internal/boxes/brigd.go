package boxes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"brig/cmd/brig-bench/internal/load"
)

// Bounds that brigd is asked for: of sandboxes, and of the bytes that all of them may come to have.
const (
	most     = "2048"
	allBytes = "64g"
	disk     = 32 << 20 // bytes of one sandbox: this program is put into it
)

// brigd starts one, and returns the maker of its living sandboxes.
func brigd(program, dir string) (*Maker, error) {
	b, err := load.StartBrigd(program, dir, "--sandboxes", most, "--sandboxes-per-agent", most,
		"--sandbox-bytes", allBytes, "--sandbox-bytes-per-agent", allBytes)
	if err != nil {
		return nil, err
	}
	return &Maker{Name: "brigd, by HTTP", Close: b.Close, New: func() (*Box, error) {
		var made struct{ ID string }
		if err := post(b, "/v1/sandboxes", map[string]any{"living": true, "disk": disk}, &made); err != nil {
			return nil, err
		}
		at := "/v1/sandboxes/" + made.ID
		return &Box{
			Exec: func(args ...string) error {
				var end struct{ Status string }
				err := post(b, at+"/exec", map[string]any{"cmd": args}, &end)
				if err == nil && end.Status != "ok" {
					err = fmt.Errorf("status %s", end.Status)
				}
				return err
			},
			Freeze: func() error { return post(b, at+"/freeze", nil, nil) },
			Thaw:   func() error { return nil },
			Serve:  func() (*Server, error) { return serveBy(b, at) },
			Close: func() error {
				_, err := b.Ask("DELETE", at, nil)
				return err
			}}, nil
	}}, nil
}

// post sends a request and reads the answer, if there is a place for it.
func post(b *load.Brigd, path string, request, answer any) error {
	body, err := json.Marshal(request)
	if request == nil {
		body = nil
	}
	if err != nil {
		return err
	}
	text, err := b.Ask("POST", path, strings.NewReader(string(body)))
	if err == nil && answer != nil {
		err = json.Unmarshal(text, answer)
	}
	return err
}

// serveBy puts this program into a sandbox, starts it as the server, and waits for its line.
func serveBy(b *load.Brigd, at string) (*Server, error) {
	exe, err := itself()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(exe)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err = b.Ask("PUT", at+"/files/server", io.NopCloser(f)); err != nil { // net/http closes what it sends
		return nil, err
	}
	line := "chmod +x server && exec ./server " + load.Subcommand + " serve " + port + " ''"
	err = post(b, at+"/processes", map[string]any{"shell": line, "tag": "server", "detached": true}, nil)
	if err != nil {
		return nil, err
	}
	text, err := b.Ask("GET", at+"/processes/server/output?offset=0&wait=10s", nil)
	if err != nil || !strings.Contains(string(text), port) {
		return nil, errors.Join(err, fmt.Errorf("the server has said %.200q", text))
	}
	return &Server{base: b.URL(at + "/ports/" + port), client: b.Client(), Close: func() error {
		_, err := b.Ask("DELETE", at+"/processes/server", nil)
		return err
	}}, nil
}
