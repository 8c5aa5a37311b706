// Package landlock generates the system calls by which a process drops rights on files, ports, sockets and signals
// (landlock(7), Linux 5.13). Rules describes a domain, For drops what a kernel does not know, and the functions that
// append to a program perform nothing; only ABI asks the kernel.
//
// A domain is inherited by every child and can only become stricter. It forbids mount(2) and its relatives. A rule
// holds for the file or directory that its path leads to at that time and for all below it, and rights add up from the
// root down: a directory cannot have fewer rights than the one above it.
package landlock

import (
	"encoding/binary"
	"fmt"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// Rules describes a domain.
type Rules struct {
	ABI        int // of the kernel: set by For
	Handled    Access
	Paths      []Path
	HandledNet Net
	Ports      []Port // a port without a rule is refused
	Scope      Scope
}

// Path is a rule for what lies at a path and below it.
type Path struct {
	Name    string // absolute in the process's root
	Access  Access
	File    bool // it is not a directory
	NoLinks bool // a symbolic link on the way is an error
}

// Port is a rule for a TCP port.
type Port struct {
	Number uint16
	Access Net
}

// ABI returns the version of the kernel's Landlock, or 0 if there is none: landlock_create_ruleset(2).
func ABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0 // ENOSYS, or EOPNOTSUPP if it was turned off at boot
	}
	return int(abi)
}

const (
	// kept is the number of paths whose descriptors stay open until execve(2). To close each would cost every start.
	kept        = 16
	label       = "landlock"
	ruleNetPort = 2 // enum landlock_rule_type
)

// Create appends landlock_create_ruleset(2) and landlock_add_rule(2) for each path and port. It returns the slot of the
// ruleset. The descriptor at is replaced: a rule names its directory by number. Below the trees, which are
// directories, files can be read and written.
func (r *Rules) Create(p *program.Program, at int, trees ...program.Slot) program.Slot {
	attr := make([]byte, 24) // struct landlock_ruleset_attr; a kernel that knows less of it wants zeros there
	ne := binary.NativeEndian
	ne.PutUint64(attr, uint64(r.Handled))
	ne.PutUint64(attr[8:], uint64(r.HandledNet))
	ne.PutUint64(attr[16:], uint64(r.Scope))
	set := p.Open(label, unix.SYS_LANDLOCK_CREATE_RULESET, program.Struct(attr, showAttr), program.Int(len(attr)),
		program.Int(0))
	for _, fd := range trees {
		dup(p, fd, at)
		r.Allow(p, set, at, ReadFile|Change)
	}
	for i := range r.Paths {
		fd, ok := r.addPath(p, set, &r.Paths[i], at)
		if ok && i >= kept {
			p.Close(label, fd)
		}
	}
	for _, port := range r.Ports {
		rule := make([]byte, 16) // struct landlock_net_port_attr
		ne.PutUint64(rule, uint64(port.Access&r.HandledNet))
		ne.PutUint64(rule[8:], uint64(port.Number))
		p.Add(label, unix.SYS_LANDLOCK_ADD_RULE, set.Arg(),
			program.Named(ruleNetPort, "LANDLOCK_RULE_NET_PORT"), program.Struct(rule, showPort),
			program.Int(0))
	}
	return set
}

// addPath appends openat2(2) of a path, Linux 5.6, and its rule.
func (r *Rules) addPath(p *program.Program, set program.Slot, path *Path, at int) (fd program.Slot, ok bool) {
	access := path.Access & r.Handled
	if path.File {
		access &= onFile
	}
	if access == 0 {
		return 0, false // ENOMSG
	}
	how, text := make([]byte, unix.SizeofOpenHow), "RESOLVE_NO_MAGICLINKS}"
	resolve := uint64(unix.RESOLVE_NO_MAGICLINKS)
	if path.NoLinks {
		resolve, text = unix.RESOLVE_NO_SYMLINKS, "RESOLVE_NO_SYMLINKS}"
	}
	ne := binary.NativeEndian
	ne.PutUint64(how, unix.O_PATH|unix.O_CLOEXEC)
	ne.PutUint64(how[16:], resolve)
	fd = p.Open(label, unix.SYS_OPENAT2, program.CWD(), program.Str(path.Name),
		program.Struct(how, program.Text("{O_PATH|O_CLOEXEC, "+text)), program.Int(len(how)))
	dup(p, fd, at)
	r.Allow(p, set, at, access)
	return fd, true
}

func dup(p *program.Program, fd program.Slot, at int) {
	p.Add(label, unix.SYS_DUP3, fd.Arg(), program.Int(at), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
}

// Allow appends a rule for what an open descriptor refers to: landlock_add_rule(2).
func (r *Rules) Allow(p *program.Program, set program.Slot, fd int, access Access) *program.Op {
	rule := make([]byte, 12) // struct landlock_path_beneath_attr, which is packed
	binary.NativeEndian.PutUint64(rule, uint64(access&r.Handled))
	binary.NativeEndian.PutUint32(rule[8:], uint32(fd))
	return p.Add(label, unix.SYS_LANDLOCK_ADD_RULE, set.Arg(),
		program.Named(unix.LANDLOCK_RULE_PATH_BENEATH, "LANDLOCK_RULE_PATH_BENEATH"), program.Struct(rule, showRule),
		program.Int(0))
}

// AllowStream appends a rule for an open file, so that it can be opened again by /proc/self/fd. A pipe or a socket
// needs none (EBADFD), and a closed descriptor has none (EBADF).
func (r *Rules) AllowStream(p *program.Program, set program.Slot, fd int) {
	r.Allow(p, set, fd, ReadFile|Change|IoctlDev).May(unix.EBADFD, unix.EBADF)
}

// Restrict appends landlock_restrict_self(2), which needs no_new_privs. The kernel keeps no
// record of what this domain or one inside it refuses (ABI 7, Linux 6.15): a payload could flood the audit log.
func (r *Rules) Restrict(p *program.Program, set program.Slot) {
	flags := program.Int(0)
	if r.ABI >= abiQuiet {
		const quiet = unix.LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF | unix.LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF
		flags = program.Named(quiet, "LOG_SAME_EXEC_OFF|LOG_SUBDOMAINS_OFF")
	}
	p.Add(label, unix.SYS_LANDLOCK_RESTRICT_SELF, set.Arg(), flags)
}

func showAttr(b []byte) string {
	ne := binary.NativeEndian
	s := "{fs=" + show(ne.Uint64(b), fsNames)
	if net := ne.Uint64(b[8:]); net != 0 {
		s += ", net=" + show(net, netNames)
	}
	if scope := ne.Uint64(b[16:]); scope != 0 {
		s += ", scoped=" + show(scope, scopeNames)
	}
	return s + "}"
}

func showRule(b []byte) string {
	ne := binary.NativeEndian
	return fmt.Sprintf("{%s, fd %d}", show(ne.Uint64(b), fsNames), ne.Uint32(b[8:]))
}

func showPort(b []byte) string {
	ne := binary.NativeEndian
	return fmt.Sprintf("{%s, port %d}", show(ne.Uint64(b), netNames), ne.Uint64(b[8:]))
}
