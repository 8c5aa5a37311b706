package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/brigd/internal/config"
	"brig/brigd/internal/listen"
	"brig/internal/cli"
	"brig/internal/test/must"
)

// Silent TCP connections do not exclude callers at the Unix socket, and one place is enough for two sockets.
func TestStrangersKeepNobodyOut(t *testing.T) {
	for _, most := range []string{"1", "8"} {
		d := dir(t)
		c, err := config.Parse("serve", []string{"--listen", "unix:" + d + "/s", "--listen", "tcp:127.0.0.1:0", "--api-key-file", d, "--max-connections", most})
		if err != nil {
			t.Fatal(err)
		}
		s := must.Get(openSockets(t.Context(), c))(t)
		server := &http.Server{ConnContext: listen.WithPeer, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if !listen.PeerOf(r.Context()).Own() {
				t.Error("it is not seen that the owner calls")
			}
		})}
		for _, l := range s.list {
			go func() { _ = server.Serve(l) }() // until it is closed
		}
		for range 48 {
			c := must.Get(net.Dial("tcp", s.list[1].Addr().String()))(t)
			defer c.Close()
		}
		client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", d+"/s")
			}}}
		for range 3 {
			a, err := client.Get("http://brigd/")
			if err != nil {
				t.Fatalf("--max-connections %s: %v", most, err)
			}
			a.Body.Close()
		}
		if err := errors.Join(server.Close(), s.close()); err != nil {
			t.Error(err)
		}
	}
}

// A signal ends a start that hangs, and one that returns an error because of the signal.
func TestSignalsEndAStart(t *testing.T) {
	log := must.Get(os.Create(t.TempDir() + "/log"))(t)
	defer log.Close()
	c := must.Get(config.Parse("serve", []string{"--listen", "unix:" + dir(t) + "/s"}))(t)
	code := runService(c, cli.Stdio{Name: "brigd", Err: log}, func(*service) (http.Handler, error) {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		<-t.Context().Done() // longer than this test
		return nil, errors.New("ended")
	})
	said, err := os.ReadFile(log.Name())
	if err != nil || code != cli.ExitUsage || !strings.Contains(string(said), "terminated has ended the start") {
		t.Errorf("%d: %s, %v", code, said, err)
	}
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGINT
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err = startUnlessSignalled(signals, cancel, func() (*service, error) {
		<-ctx.Done()
		return nil, errors.New("a start is undone")
	})
	if err == nil || !strings.Contains(err.Error(), "interrupt has ended the start") || !strings.Contains(err.Error(), "undone") {
		t.Error(err)
	}
}
