package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"brig/internal/test/must"
)

// dialAs connects as another user: setresuid(2) by number acts on one thread, and connect(2) takes that thread's
// identity.
func dialAs(t *testing.T, path string, uid int) net.Conn {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	keep := ^uintptr(0)
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, keep, uintptr(uid), keep); e != 0 {
		t.Fatal(e)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, keep, 0, keep); e != 0 {
		t.Fatal(e)
	}
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	return must.Get(net.FileConn(f))(t)
}

// A user who may connect is an agent of its own, whatever it calls itself, and does not see the owner's sandboxes.
func TestAllowedUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be several users")
	}
	d := dir(t)
	must.Do(t, os.Chmod(d, 0o755))
	p := begin(t, nil, "serve", "--listen", "unix:"+d+"/s", "--allow-uid", "12345")
	_, box := p.do("POST", "/v1/sandboxes", map[string]any{})
	id, _ := box["id"].(string)
	as := func(uid int) {
		p.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
			DialContext: func(context.Context, string, string) (net.Conn, error) { return dialAs(t, d+"/s", uid), nil }}}
	}
	as(12345)
	if status, a := p.do("GET", "/v1/sandboxes/"+id, nil); status != 404 || id == "" {
		t.Errorf("the owner's sandbox %q: %d %v", id, status, a)
	}
	if status, a := p.do("POST", "/v1/sandboxes", map[string]any{}); status != 201 || a["agent_id"] != "uid-12345" {
		t.Errorf("%d %v", status, a)
	}
	if status, a := p.do("POST", "/v1/sandboxes", map[string]any{"agent_id": "default"}); status < 400 {
		t.Errorf("as another agent: %d %v", status, a)
	}
	as(12346)
	p.want(0, "GET", "/healthz", nil)
	p.signal(syscall.SIGTERM)
	p.end()
}
