package egress

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/netns/egress/policy"
)

// unconnected are TCP sockets as the jail's launcher makes them.
func unconnected(t *testing.T, n int) (list []*os.File) {
	t.Helper()
	for range n {
		fd := must.Get(syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0))(t)
		list = append(list, os.NewFile(uintptr(fd), "jail"))
	}
	return list
}

func TestPublishUsesItsSocketsAgain(t *testing.T) {
	r := newRig(t, policy.Policy{})
	server, host := listenTCP(t), listenTCP(t)
	go func() {
		for {
			c, err := server.AcceptTCP()
			if err != nil {
				return
			}
			go echo(c)
		}
	}()
	r.s.Serve(Sockets{Publish: []Published{{Listener: host, To: addrPort(server.Addr()), Conns: unconnected(t, 2)}}})
	want := bytes.Repeat([]byte("0123456789abcdef"), 20000)
	var wg sync.WaitGroup
	for range 10 { // more than there are sockets: the rest waits
		wg.Go(func() {
			for range 5 {
				c, err := net.Dial("tcp4", host.Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				_ = c.SetDeadline(time.Now().Add(20 * time.Second))
				go func() {
					_, _ = c.Write(want)
					_ = c.(*net.TCPConn).CloseWrite()
				}()
				if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				c.Close()
			}
		})
	}
	wg.Wait()
	for _, e := range r.wait(50) {
		if e.Kind != KindPublish || e.Verdict != VerdictAllow || e.Sent != int64(len(want)) || e.Received != int64(len(want)) || e.Reason != "" {
			t.Errorf("%+v", e)
		}
	}
	r.end(50)
}

func TestPublishSurvivesWhoeverGoesFirst(t *testing.T) {
	r := newRig(t, policy.Policy{})
	server, host := listenTCP(t), listenTCP(t)
	to := addrPort(server.Addr())
	r.s.Serve(Sockets{Publish: []Published{{Listener: host, To: to, Conns: unconnected(t, 1)}}})
	for i := range 12 {
		c := must.Get(net.Dial("tcp4", host.Addr().String()))(t)
		j := must.Get(server.AcceptTCP())(t)
		switch i % 4 {
		case 0:
			reset(j)
		case 1:
			reset(c.(*net.TCPConn))
		case 2:
			j.Close()
			c.Close()
		case 3:
			c.Close()
			j.Close()
		}
		r.wait(i + 1)
		j.Close()
		c.Close()
	}
	server.Close() // no listener is left
	c, err := net.Dial("tcp4", host.Addr().String())
	if err == nil {
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		wasReset(t, c)
		c.Close()
	}
	all := r.wait(13)
	if e := all[12]; e.Verdict != VerdictError || e.Reason != policy.ReasonConnectFailed {
		t.Errorf("%+v", e)
	}
	again := must.Get(net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(to)))(t)
	defer again.Close()
	c = must.Get(net.Dial("tcp4", host.Addr().String()))(t)
	defer c.Close()
	if _, err := again.AcceptTCP(); err != nil {
		t.Error(err)
	}
	r.end(14)
}
