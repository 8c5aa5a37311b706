package plan

import (
	"cmp"
	"encoding/binary"
	"path"
	"strings"

	"brig/internal/program"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

func (r *resolver) streams() {
	if r.Spec.TTY {
		r.terminal()
		return
	}
	for i := range 3 {
		r.Jail.Add("stdio", unix.SYS_DUP3, (r.Stdio + program.Slot(i)).Arg(), program.Int(i), program.Int(0))
	}
}

func (r *resolver) workdir() {
	r.Jail.Add("workdir", unix.SYS_CHDIR, program.Str(cmp.Or(r.Spec.Workdir, r.Host.Scratch, spec.DefaultWorkdir)))
}

// closeOnExec leaves only the standard streams to the payload: close_range(2) CLOSE_RANGE_CLOEXEC, Linux 5.11.
func (r *resolver) closeOnExec() {
	r.Jail.Add("fds", unix.SYS_CLOSE_RANGE, program.Int(3), program.Named(^uint32(0), "~0U"),
		program.Named(unix.CLOSE_RANGE_CLOEXEC, "CLOSE_RANGE_CLOEXEC"))
}

// execve appends execve(2) of the command in each directory of the jail's PATH, as execvp(3) does, and then of its
// other name. The kernel tries them at the start.
func (r *resolver) execve() {
	r.Env = host.BuildEnv(r.Spec, r.Host.Env, r.Host.Term)
	if dir := r.Host.Scratch; dir != "" {
		r.Env = host.BuildEnv(r.Spec, append(tierEnv(dir), r.Host.Env...), r.Host.Term)
	}
	env := program.Strs(r.Env)
	args := r.Spec.Args
	r.Exec = r.candidates(args[0])
	own := len(r.Exec)
	if other := OtherName(args[0]); other != "" {
		r.Exec = append(r.Exec, r.candidates(other)...)
	}
	for i, file := range r.Exec {
		if i == own { // a program may look itself up by args[0]
			args = append([]string{OtherName(args[0])}, args[1:]...)
		}
		op := r.Jail.Add(spec.OpExec, unix.SYS_EXECVE, program.Str(file), program.Strs(args), env)
		if i < len(r.Exec)-1 {
			op.May(unix.ENOENT, unix.ENOTDIR, unix.EACCES)
		}
	}
}

// candidates returns the paths in the jail that the name of a command can mean.
func (r *resolver) candidates(name string) (files []string) {
	if strings.Contains(name, "/") {
		return []string{name}
	}
	dirs := spec.DefaultPath // a bare environment may have none
	for _, e := range r.Env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			dirs = v
		}
	}
	for _, dir := range strings.Split(dirs, ":") {
		if path.IsAbs(dir) {
			files = append(files, path.Join(dir, name))
		}
	}
	if len(files) == 0 {
		return []string{"/" + name}
	}
	return files
}

// OtherName returns the name under which a distribution installs a program that it does not install under its usual
// name: python3 for python. It returns "" for other names.
func OtherName(name string) string {
	return map[string]string{"python": "python3", "pip": "pip3", "node": "nodejs"}[name]
}

// terminal opens a terminal in the jail's devpts and sends the master side to the keeper: pty(7), ioctl_tty(2).
func (r *resolver) terminal() {
	p := r.Jail
	m := p.Open("tty", unix.SYS_OPENAT, program.CWD(), program.Str("/dev/pts/ptmx"),
		program.Named(unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, "O_RDWR|O_NOCTTY|O_CLOEXEC"), program.Int(0))
	p.Add("tty", unix.SYS_IOCTL, m.Arg(), program.Named(unix.TIOCSPTLCK, "TIOCSPTLCK"),
		program.Struct(make([]byte, 4), program.Text("[0]")))
	s := p.Open("tty", unix.SYS_IOCTL, m.Arg(), program.Named(unix.TIOCGPTPEER, "TIOCGPTPEER"),
		program.Named(unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, "O_RDWR|O_NOCTTY|O_CLOEXEC"))
	dup(p, "tty", m, host.FdMaster)
	send(p, "tty", launcher.SlotReport, 0, "[master]", host.FdMaster)
	p.Add("tty", unix.SYS_CLOSE, program.Int(host.FdMaster))
	p.Close("tty", m)
	for i := range 3 {
		p.Add("tty", unix.SYS_DUP3, s.Arg(), program.Int(i), program.Int(0))
	}
	p.Close("tty", s)
	p.Add("tty", unix.SYS_IOCTL, program.Int(0), program.Named(unix.TIOCSCTTY, "TIOCSCTTY"), program.Int(0))
}

// dup duplicates a descriptor to a number that a control message can name.
func dup(p *program.Program, label string, fd program.Slot, to int) {
	p.Add(label, unix.SYS_DUP3, fd.Arg(), program.Int(to), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
}

// send sends descriptors through a socket.
func send(p *program.Program, label string, socket program.Slot, tag byte, what string, fds ...int) *program.Op {
	return p.Add(label, unix.SYS_SENDMSG, socket.Arg(), fdMessage(tag, what, fds...),
		program.Named(unix.MSG_NOSIGNAL, "MSG_NOSIGNAL"))
}

// TagUpper is the byte that a jail sends with an upper directory; it sends 0 with other descriptors.
const TagUpper = 'U'

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
