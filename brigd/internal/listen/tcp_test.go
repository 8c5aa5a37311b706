package listen

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brig/internal/test/certs"
	"brig/internal/test/must"
)

func TestTCPOnlyLoopbackWithoutTLS(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", "[::]:0", "192.0.2.1:0", ":0", "example.org:80", "127.0.0.1", "", "127.0.0.1:http", "127.0.0.1:70000"} {
		if l, err := TCP(t.Context(), address, nil, NewBound(8)); err == nil {
			t.Errorf("%s: listens at %s", address, l.Addr())
			l.Close()
		}
	}
	for _, address := range []string{"127.0.0.1:0", "localhost:0"} {
		l, err := TCP(t.Context(), address, nil, NewBound(8))
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if !IsLoopback(l.Addr()) {
			t.Errorf("%s is no loopback address", l.Addr())
		}
		l.Close()
	}
}

func TestBound(t *testing.T) {
	inner := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	l := NewBound(4).Listener(inner)
	accepted := make(chan net.Conn, 10)
	ended := make(chan error, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c := must.Get(net.Dial("tcp", inner.Addr().String()))(t)
		t.Cleanup(func() { c.Close() })
		return c
	}
	var served, clients []net.Conn
	for range 3 {
		clients = append(clients, dial())
		served = append(served, <-accepted)
		Known(context.WithValue(t.Context(), connKey{}, served[len(served)-1]))
	}
	over := dial() // three of four places are one address's, and in use
	if _, err := over.Read(make([]byte, 1)); err == nil {
		t.Error("a fourth connection is served")
	}
	for range 2 { // a second Close gives nothing back
		if err := served[0].Close(); err != nil && !strings.Contains(err.Error(), "closed") {
			t.Error(err)
		}
	}
	stranger := dial()
	<-accepted
	dial()
	<-accepted
	if _, err := stranger.Read(make([]byte, 1)); err == nil {
		t.Error("a stranger keeps the place that another needs")
	}
	State(served[1], http.StateIdle)
	for range 2 { // the stranger's place, and the idle one
		dial()
		Known(context.WithValue(t.Context(), connKey{}, <-accepted))
	}
	if _, err := clients[1].Read(make([]byte, 1)); err == nil {
		t.Error("an idle connection is kept while another has no place")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("Accept goes on after Close")
	}
}

func TestClosedWhileFull(t *testing.T) {
	inner := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	b := NewBound(1)
	b.conns[&bounded{state: busy}] = true
	l := b.Listener(inner)
	ended := make(chan error, 1)
	go func() {
		_, err := l.Accept()
		ended <- err
	}()
	c := must.Get(net.Dial("tcp", inner.Addr().String()))(t)
	defer c.Close()
	l.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept ended with %v", err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil || len(b.conns) > 1 {
		t.Errorf("who waited for a place is kept: %v, %v", err, b.conns)
	}
}

func TestMutualTLS(t *testing.T) {
	a, stranger := certs.New(t, t.TempDir(), "ca"), certs.New(t, t.TempDir(), "ca")
	a.Issue("server")
	a.Issue("coder")
	stranger.Issue("coder")
	c := must.Get(TLSFiles{Cert: a.Path("server.pem"), Key: a.Path("server.key"), ClientCA: a.Path("ca.pem")}.Config())(t)
	l := must.Get(TCP(t.Context(), "127.0.0.1:0", c, NewBound(8)))(t)
	defer l.Close()
	names := make(chan string)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			tc := conn.(*tls.Conn)
			name := "refused"
			if tc.HandshakeContext(context.Background()) == nil {
				s := tc.ConnectionState()
				name = CertName(&s)
			}
			conn.Close()
			names <- name
		}
	}()
	for _, from := range []*certs.Authority{a, stranger, nil} {
		cc := &tls.Config{RootCAs: a.Pool}
		want := "refused"
		if from != nil {
			cc.Certificates = []tls.Certificate{from.Load("coder")}
		}
		if from == a {
			want = "coder"
		}
		conn, err := tls.Dial("tcp", l.Addr().String(), cc)
		if got := <-names; got != want {
			t.Errorf("the server calls it %q, not %q (%v)", got, want, err)
		}
		if err == nil {
			conn.Close()
		}
	}
	if CertName(nil) != "" || CertName(&tls.ConnectionState{}) != "" {
		t.Error("nobody has a name")
	}
}

func TestTLSFiles(t *testing.T) {
	a := certs.New(t, t.TempDir(), "ca")
	a.Issue("s")
	a.Issue("o")
	if c, err := (TLSFiles{}).Config(); c != nil || err != nil {
		t.Errorf("nothing: %v, %v", c, err)
	}
	must.Do(t, unix.Mkfifo(a.Path("fifo"), 0o600))
	must.Do(t, os.WriteFile(a.Path("huge"), bytes.Repeat([]byte("x"), maxFile+1), 0o600))
	for want, f := range map[string]TLSFiles{
		"private key":       {Cert: a.Path("s.pem")},
		"certificate":       {Key: a.Path("s.key")},
		"its own key":       {Cert: a.Path("s.pem"), Key: a.Path("o.key")},
		"no regular file":   {Cert: a.Path("fifo"), Key: a.Path("s.key")},
		"larger than":       {Cert: a.Path("huge"), Key: a.Path("s.key")},
		"no certificate in": {Cert: a.Path("s.pem"), Key: a.Path("s.key"), ClientCA: a.Path("s.key")},
	} {
		if _, err := f.Config(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	must.Do(t, os.Chmod(a.Path("s.key"), 0o644))
	if _, err := (TLSFiles{Cert: a.Path("s.pem"), Key: a.Path("s.key")}).Config(); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that everybody can read: %v", err)
	}
}
