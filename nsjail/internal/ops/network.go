package ops

import (
	"fmt"

	"brig/internal/program"
	"brig/netns"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"

	"golang.org/x/sys/unix"
)

// OpenSockets opens the sockets of a jail's network while the process has capabilities, and sends them to the keeper.
func OpenSockets(p *program.Program, s *netns.Sockets) {
	s.Open(p, host.FdSockets)
	n := len(s.List())
	fds := make([]int, n)
	for i := range fds {
		fds[i] = host.FdSockets + i
	}
	Send(p, "net", launcher.SlotReport, 0, fmt.Sprintf("[%d sockets]", n), fds...)
	p.Add("net", unix.SYS_CLOSE_RANGE, program.Int(host.FdSockets), program.Int(host.FdSockets+n-1), program.Int(0))
}

// Unshare leaves a namespace, or what else clone(2) shares.
func Unshare(p *program.Program, label string, flag int, name string) {
	p.Add(label, unix.SYS_UNSHARE, program.Named(flag, name))
}

// Setns enters a namespace: setns(2).
func Setns(p *program.Program, label string, fd program.Arg, kind int, name string) {
	p.Add(label, unix.SYS_SETNS, fd, program.Named(kind, name))
}
