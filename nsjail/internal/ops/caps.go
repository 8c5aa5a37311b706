package ops

import (
	"encoding/binary"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

func prctl(p *program.Program, op int, name string, arg program.Arg) *program.Op {
	return p.Add("caps", unix.SYS_PRCTL, program.Named(op, name), arg, program.Int(0), program.Int(0), program.Int(0))
}

// DropBounding drops all capabilities up to the last one but those in keep from the bounding set: capabilities(7). The
// given errnos are no failure.
func DropBounding(p *program.Program, last int, keep uint64, may ...unix.Errno) {
	for c := 0; c <= last; c++ {
		if keep&(1<<c) != 0 {
			continue
		}
		if op := prctl(p, unix.PR_CAPBSET_DROP, "PR_CAPBSET_DROP", program.Int(c)); may != nil {
			op.May(may...)
		}
	}
}

// RaiseAmbient makes the process keep a capability over execve(2): capabilities(7).
func RaiseAmbient(p *program.Program, c int) *program.Op {
	return p.Add("caps", unix.SYS_PRCTL, program.Named(unix.PR_CAP_AMBIENT, "PR_CAP_AMBIENT"),
		program.Named(unix.PR_CAP_AMBIENT_RAISE, "PR_CAP_AMBIENT_RAISE"), program.Int(c), program.Int(0), program.Int(0))
}

// LockCapabilities empties the ambient set and locks the securebits, so that no execve(2) can add a capability.
func LockCapabilities(p *program.Program) {
	prctl(p, unix.PR_CAP_AMBIENT, "PR_CAP_AMBIENT",
		program.Named(unix.PR_CAP_AMBIENT_CLEAR_ALL, "PR_CAP_AMBIENT_CLEAR_ALL"))
	// SECBIT_NOROOT, _NO_SETUID_FIXUP, _NO_CAP_AMBIENT_RAISE and the locks of all four
	prctl(p, unix.PR_SET_SECUREBITS, "PR_SET_SECUREBITS", program.Named(0xef, "0xef /* all locked */"))
}

// DropCapabilities drops all capabilities of the process. After DropBounding and LockCapabilities it cannot regain any.
func DropCapabilities(p *program.Program) {
	Capset(p, "caps", make([]byte, 24), "{0, 0, 0}")
	NoNewPrivs(p, "caps")
}

// NoNewPrivs makes execve(2) grant nothing: prctl(2) PR_SET_NO_NEW_PRIVS.
func NoNewPrivs(p *program.Program, label string) {
	p.Add(label, unix.SYS_PRCTL, program.Named(unix.PR_SET_NO_NEW_PRIVS, "PR_SET_NO_NEW_PRIVS"), program.Int(1),
		program.Int(0), program.Int(0), program.Int(0))
}

// Capset sets the process's capabilities: two struct __user_cap_data_struct, which shown describes (capset(2)).
func Capset(p *program.Program, label string, data []byte, shown string) *program.Op {
	hdr := make([]byte, 8) // struct __user_cap_header_struct
	binary.NativeEndian.PutUint32(hdr, unix.LINUX_CAPABILITY_VERSION_3)
	return p.Add(label, unix.SYS_CAPSET, program.Struct(hdr, program.Text("{_LINUX_CAPABILITY_VERSION_3, 0}")),
		program.Struct(data, program.Text(shown)))
}
