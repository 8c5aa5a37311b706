package trace

import (
	"encoding/binary"
	"net/netip"
	"path"
	"slices"

	"brig/learn"

	"golang.org/x/sys/unix"
)

// The errors of calls that fail because of the jail. Other errors are not recorded.
var (
	pathErrors = []unix.Errno{unix.ENOENT, unix.ENOTDIR, unix.EACCES, unix.EPERM, unix.EROFS}
	netErrors  = []unix.Errno{unix.ENETUNREACH, unix.EHOSTUNREACH, unix.ECONNREFUSED, unix.EACCES, unix.EPERM, unix.ENOENT,
		unix.ENETDOWN}
)

// ended records a call at its end, if it is one that matters.
func (t *tracer) ended(pid int, th *thread, rval int64, failed bool) {
	c, ok := t.calls[th.nr]
	if !ok {
		return
	}
	arg := func(i int) uint64 { return th.args[i-1] }
	if !failed {
		t.sent(pid, &c, arg)
		return
	}
	errno := unix.Errno(-rval)
	switch full := errno == unix.ENOSPC || errno == unix.EDQUOT; {
	case c.kind == learn.Connect:
		if c.addr != 0 && slices.Contains(netErrors, errno) {
			t.unreached(pid, &c, errno, arg)
		}
	case c.kind == learn.Count && errno == unix.EAGAIN, errno == unix.EMFILE:
		t.seen.add(learn.Event{Kind: learn.Count, Call: c.name, Errno: unix.ErrnoName(errno)})
	case full && c.fd != 0:
		p := t.seen.link(pid, fdName(arg(c.fd)))
		t.seen.add(learn.Event{Kind: learn.Full, Call: c.name, Errno: unix.ErrnoName(errno), Path: p})
	case c.path != 0 && (full || slices.Contains(pathErrors, errno)):
		t.path(pid, &c, errno, arg)
	}
}

// path records a call that has named a path.
func (t *tracer) path(pid int, c *call, errno unix.Errno, arg func(int) uint64) {
	name, ok := text(pid, arg(c.path))
	dir := uint64(unix.AT_FDCWD & 0xffffffff)
	if c.dir != 0 {
		dir = arg(c.dir)
	}
	if !ok || name == "" {
		return
	}
	e := learn.Event{Kind: c.kind, Call: c.name, Errno: unix.ErrnoName(errno), Path: absolute(t.seen.link, pid, dir, name)}
	switch {
	case e.Path == "":
		return
	case errno == unix.ENOSPC || errno == unix.EDQUOT:
		e.Kind = learn.Full
	case errno == unix.EROFS || c.flag != 0 && arg(c.flag)&(unix.O_CREAT|unix.O_TRUNC) != 0:
		e.Kind = learn.Write
	}
	t.seen.add(e)
}

// unreached records an address that could not be connected to.
func (t *tracer) unreached(pid int, c *call, errno unix.Errno, arg func(int) uint64) {
	to, socket := t.address(pid, c, arg)
	e := learn.Event{Kind: learn.Connect, Call: c.name, Errno: unix.ErrnoName(errno), Addr: to}
	switch {
	case socket != "":
		e.Kind, e.Path = learn.Socket, absolute(t.seen.link, pid, unix.AT_FDCWD&0xffffffff, socket)
	case !to.IsValid() || errno == unix.ENOENT:
		return
	}
	t.seen.add(e)
}

func (t *tracer) address(pid int, c *call, arg func(int) uint64) (to netip.AddrPort, socket string) {
	var buf [128]byte // struct sockaddr_storage
	if c.addr == 0 || arg(c.addr) == 0 {
		return to, ""
	}
	to, socket = address(peek(pid, arg(c.addr), buf[:min(uint64(len(buf)), arg(c.addr+1)&0xff)]))
	if socket != "" {
		socket = path.Clean(socket)
	}
	return to, socket
}

// dnsPort is the port of name servers.
const dnsPort = 53

// sent records the names in DNS queries. In a jail without a network sending a query succeeds, and no answer comes.
func (t *tracer) sent(pid int, c *call, arg func(int) uint64) {
	if c.fd == 0 || c.addr == 0 && c.data == 0 && c.msg == 0 {
		return
	}
	to, _ := t.address(pid, c, arg)
	if c.data == 0 && c.msg == 0 { // connect
		if to.Port() == dnsPort {
			t.seen.resolver(t.seen.link(pid, fdName(arg(c.fd))))
		}
		return
	}
	if to.Port() != dnsPort && !t.seen.asks(func() string { return t.seen.link(pid, fdName(arg(c.fd))) }) {
		return
	}
	if c.data != 0 {
		t.question(pid, c, arg(c.data), arg(c.data+1))
		return
	}
	for i := range uint64(2) { // glibc sends two questions, for A and AAAA
		var hdr [64]byte // struct mmsghdr; struct msghdr is its beginning
		var iov [16]byte
		if len(peek(pid, arg(c.msg)+i*uint64(len(hdr)), hdr[:56])) < 56 {
			return
		}
		if len(peek(pid, binary.NativeEndian.Uint64(hdr[16:]), iov[:])) == len(iov) {
			t.question(pid, c, binary.NativeEndian.Uint64(iov[:]), binary.NativeEndian.Uint64(iov[8:]))
		}
		if c.name == "sendmsg" {
			return
		}
	}
}

// question records the name in a query, which may have its length in front (TCP).
func (t *tracer) question(pid int, c *call, addr, size uint64) {
	var buf [512]byte
	b := peek(pid, addr, buf[:min(size, uint64(len(buf)))])
	name := question(b)
	if name == "" && len(b) > 2 {
		name = question(b[2:])
	}
	if name != "" {
		t.seen.add(learn.Event{Kind: learn.Lookup, Call: c.name, Errno: "unanswered", Name: name})
	}
}
