package landlock

import (
	"strings"

	"golang.org/x/sys/unix"
)

// Access is a set of rights on files and directories: LANDLOCK_ACCESS_FS_*. A domain refuses those that it handles,
// except below the paths of its rules.
type Access uint64

// The rights, with the ABI and the Linux release that introduced each after the first (ABI 1, Linux 5.13).
const (
	Execute    Access = 1 << iota // execve(2)
	WriteFile                     // open(2) for writing
	ReadFile                      // open(2) for reading
	ReadDir                       // open(2) of a directory
	RemoveDir                     // rmdir(2), rename(2)
	RemoveFile                    // unlink(2), rename(2)
	MakeChar                      // mknod(2) of a character device
	MakeDir                       // mkdir(2)
	MakeReg                       // open(2) with O_CREAT, link(2)
	MakeSock                      // bind(2) of a socket to a path
	MakeFifo                      // mkfifo(3)
	MakeBlock                     // mknod(2) of a block device
	MakeSym                       // symlink(2)
	Refer                         // rename(2) and link(2) between directories: ABI 2, Linux 5.19
	Truncate                      // truncate(2), open(2) with O_TRUNC: ABI 3, Linux 6.2
	IoctlDev                      // ioctl(2) of a device: ABI 5, Linux 6.10
	// ResolveUnix is connect(2) to the path of a socket that was made outside of the domain: ABI 9, Linux 7.1.
	ResolveUnix
)

// Sets of rights. A device node is in none of them.
const (
	Read   = ReadFile | ReadDir
	Change = WriteFile | Truncate
	Write  = Change | RemoveDir | RemoveFile | MakeDir | MakeReg | MakeSock | MakeFifo | MakeSym | Refer
	All    = ResolveUnix<<1 - 1
	// onFile are the rights that a rule for anything but a directory can have: landlock_add_rule(2), EINVAL.
	onFile = Execute | WriteFile | ReadFile | Truncate | IoctlDev | ResolveUnix
)

// Net is a set of rights on TCP ports: LANDLOCK_ACCESS_NET_*, ABI 4, Linux 6.7.
type Net uint64

// The rights on ports.
const (
	BindTCP    Net = unix.LANDLOCK_ACCESS_NET_BIND_TCP
	ConnectTCP Net = unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
)

// Scope is a set of what cannot leave the domain: LANDLOCK_SCOPE_*, ABI 6, Linux 6.12.
type Scope uint64

// The scopes: connections to abstract sockets (unix(7)) that were made outside, and signals to processes outside.
const (
	AbstractUnix Scope = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	Signal       Scope = unix.LANDLOCK_SCOPE_SIGNAL
)

// The ABI that introduced each right after the first ABI, and what comes with one.
const (
	abiRefer, abiTruncate, abiNet, abiIoctlDev, abiScope, abiQuiet, abiUnix = 2, 3, 4, 5, 6, 7, 9
	// MinABI is the first whose domains permit rename(2) between directories.
	MinABI = abiRefer
	// NetABI is the first with rights on ports.
	NetABI = abiNet
	// ScopeABI is the first whose domains keep signals in.
	ScopeABI = abiScope
)

// For returns the rules that a kernel of that ABI knows.
func (r Rules) For(abi int) Rules {
	known := Refer - 1
	for _, n := range []struct {
		abi   int
		right Access
	}{{abiRefer, Refer}, {abiTruncate, Truncate}, {abiIoctlDev, IoctlDev}, {abiUnix, ResolveUnix}} {
		if abi >= n.abi {
			known |= n.right
		}
	}
	r.Handled &= known
	if abi < abiNet {
		r.HandledNet, r.Ports = 0, nil
	}
	if abi < abiScope {
		r.Scope = 0
	}
	r.ABI = abi
	return r
}

// fsNames are the names of the bits of Access, netNames those of Net, scopeNames those of Scope.
var (
	fsNames = []string{"EXECUTE", "WRITE_FILE", "READ_FILE", "READ_DIR", "REMOVE_DIR", "REMOVE_FILE", "MAKE_CHAR",
		"MAKE_DIR", "MAKE_REG", "MAKE_SOCK", "MAKE_FIFO", "MAKE_BLOCK", "MAKE_SYM", "REFER", "TRUNCATE", "IOCTL_DEV",
		"RESOLVE_UNIX"}
	netNames   = []string{"BIND_TCP", "CONNECT_TCP"}
	scopeNames = []string{"ABSTRACT_UNIX_SOCKET", "SIGNAL"}
)

// show returns the names of the bits that are set, "0" for none.
func show(bits uint64, names []string) string {
	var set []string
	for i, n := range names {
		if bits>>i&1 != 0 {
			set = append(set, n)
		}
	}
	if len(set) == 0 {
		return "0"
	}
	return strings.Join(set, "|")
}
