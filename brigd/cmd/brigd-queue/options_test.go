package main

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"brig/internal/cli"
)

// No port is opened to anybody, or to a password in clear off loopback; bad command lines are one line.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o700); err != nil || os.Chmod(open, 0o755) != nil {
		t.Fatal(err)
	}
	users := "authorization {users: [{user: u, password: p}]}\n"
	for _, c := range []struct{ conf, want string }{
		{"listen: 127.0.0.1:14222", "add authorization"},
		{"listen: 0.0.0.0:14222\n" + users, "add a tls block"},
		{"listen: \"[::]:14222\"\n" + users, "add a tls block"},
		{"port: 14222\n" + users, "add a tls block"},
		{"listen: 127.0.0.1:14222\nauthorization {token: t}", "users with passwords"},
		{"listen: 127.0.0.1:14222\nhttp_port: 18222\n" + users, "nats-server for that"},
		{"websocket {port: 18443, no_tls: true}", "nats-server for that"},
		{"leafnodes {port: 17422}", "nats-server for that"},
		{"cluster {name: c, listen: 127.0.0.1:16222}", "add authorization in cluster"},
		{"cluster {name: c, listen: 0.0.0.0:16222, authorization {user: u, password: p}}", "add a tls block"},
		{"listen: 127.0.0.1:14222\nno_auth_user: u\n" + users, "no_auth_user"},
		{"listen: 127.0.0.1:14222\nauthorization {users: [{user: u}]}", "no password"},
		{"listen: 127.0.0.1:14222\nauthorization {user: u}", "no password"},
		{"listen: [", "--config"},
	} {
		conf := filepath.Join(dir, "conf")
		if err := os.WriteFile(conf, []byte(c.conf), 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, c.want, "--dir", dir, "--config", conf)
	}
	o := &server.Options{Host: "192.0.2.1", Username: "u", Password: "p", TLSConfig: &tls.Config{}}
	if err := check(o); err != nil {
		t.Error(err)
	}
	if o.AllowNonTLS = true; check(o) == nil {
		t.Error("clients may do without TLS")
	}
	refused(t, "--dir DIR")
	refused(t, "is not wanted here", "--dir", dir, "x")
	refused(t, "did you mean --dir", "--dri", dir)
	refused(t, "chmod 700", "--dir", open)
}

// refused runs brigd-queue, which must not start and must print want.
func refused(t *testing.T, want string, args ...string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "err")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	code := run(args, cli.Stdio{Name: "brigd-queue", In: os.Stdin, Out: f, Err: f})
	text, err := os.ReadFile(path)
	if err != nil || code != cli.ExitUsage || !strings.Contains(string(text), want) ||
		strings.Count(string(text), "\n") != 1 {
		t.Errorf("%v: exit code %d, %v: %q is not %q", args, code, err, text, want)
	}
}
