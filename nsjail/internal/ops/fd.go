package ops

import (
	"encoding/binary"

	"brig/internal/program"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"

	"golang.org/x/sys/unix"
)

// Dup duplicates a descriptor to a number that a control message can name.
func Dup(p *program.Program, label string, fd program.Slot, to int) {
	p.Add(label, unix.SYS_DUP3, fd.Arg(), program.Int(to), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
}

// OpenPath opens a path for reference only: open(2) O_PATH.
func OpenPath(p *program.Program, label string, dir program.Arg, name string) program.Slot {
	return p.Open(label, unix.SYS_OPENAT, dir, program.Str(name),
		program.Named(unix.O_PATH|unix.O_CLOEXEC, "O_PATH|O_CLOEXEC"), program.Int(0))
}

// WriteAt writes a text to a file that exists.
func WriteAt(p *program.Program, label string, dir program.Arg, name, text string) {
	fd := p.Open(label, unix.SYS_OPENAT, dir, program.Str(name),
		program.Named(unix.O_WRONLY|unix.O_CLOEXEC, "O_WRONLY|O_CLOEXEC"), program.Int(0))
	p.Add(label, unix.SYS_WRITE, fd.Arg(), program.Str(text), program.Int(len(text)))
	p.Close(label, fd)
}

// WriteSelf writes to a file of the process in a procfs, or in the host's /proc if the slot is 0.
func WriteSelf(p *program.Program, proc program.Slot, name, text string) {
	if proc != 0 {
		WriteAt(p, "user", proc.Arg(), "self/"+name, text)
		return
	}
	WriteAt(p, "user", program.CWD(), "/proc/self/"+name, text)
}

// TagUpper is the byte that a jail sends with the upper directory of an overlay; it sends 0 with other descriptors.
const TagUpper = 'U'

// PassFD sends a descriptor to the keeper and closes it.
func PassFD(p *program.Program, label string, fd program.Slot, what string) {
	PassTagged(p, label, fd, 0, what)
}

// PassTagged is PassFD with a tag.
func PassTagged(p *program.Program, label string, fd program.Slot, tag byte, what string) {
	Dup(p, label, fd, host.FdMaster)
	p.Close(label, fd)
	Send(p, label, launcher.SlotReport, tag, what, host.FdMaster)
	p.Add(label, unix.SYS_CLOSE, program.Int(host.FdMaster))
}

// Send sends descriptors through a socket.
func Send(p *program.Program, label string, socket program.Slot, tag byte, what string, fds ...int) *program.Op {
	return p.Add(label, unix.SYS_SENDMSG, socket.Arg(), fdMessage(tag, what, fds...),
		program.Named(unix.MSG_NOSIGNAL, "MSG_NOSIGNAL"))
}

// fdMessage returns a struct msghdr with its iovec, one byte, and descriptors as SCM_RIGHTS: sendmsg(2), cmsg(3).
func fdMessage(tag byte, what string, fds ...int) program.Arg {
	const iov, text, control = 56, 72, 80
	b := make([]byte, control)
	ne := binary.NativeEndian
	ne.PutUint64(b[24:], 1)                                  // msg_iovlen
	ne.PutUint64(b[40:], uint64(unix.CmsgSpace(4*len(fds)))) // msg_controllen
	ne.PutUint64(b[iov+8:], 1)                               // iov_len
	b[text] = tag
	return program.Struct(append(b, unix.UnixRights(fds...)...), program.Text("{SCM_RIGHTS: "+what+"}")).
		WithOwnPointer(16, iov).WithOwnPointer(iov, text).WithOwnPointer(32, control)
}
