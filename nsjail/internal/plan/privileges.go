package plan

import (
	"encoding/binary"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

func (r *resolver) prctl(op int, name string, arg program.Arg) {
	r.Jail.Add("caps", unix.SYS_PRCTL, program.Named(op, name), arg, program.Int(0), program.Int(0), program.Int(0))
}

// dropBoundingSet empties the bounding and the ambient set and locks the securebits. The process keeps its
// capabilities, and no execve(2) can add one.
func (r *resolver) dropBoundingSet() {
	for c := 0; c <= r.Host.LastCap; c++ {
		r.prctl(unix.PR_CAPBSET_DROP, "PR_CAPBSET_DROP", program.Int(c))
	}
	r.prctl(unix.PR_CAP_AMBIENT, "PR_CAP_AMBIENT",
		program.Named(unix.PR_CAP_AMBIENT_CLEAR_ALL, "PR_CAP_AMBIENT_CLEAR_ALL"))
	// SECBIT_NOROOT, _NO_SETUID_FIXUP, _NO_CAP_AMBIENT_RAISE and the locks of all four
	r.prctl(unix.PR_SET_SECUREBITS, "PR_SET_SECUREBITS", program.Named(0xef, "0xef /* all locked */"))
}

// dropCapabilities drops all capabilities of the process. After dropBoundingSet it cannot regain any: capabilities(7).
func (r *resolver) dropCapabilities() {
	r.Jail.Add("caps", unix.SYS_CAPSET, capHeader(), program.Struct(make([]byte, 24), program.Text("{0, 0, 0}")))
	r.prctl(unix.PR_SET_NO_NEW_PRIVS, "PR_SET_NO_NEW_PRIVS", program.Int(1))
}

// capHeader returns a struct __user_cap_header_struct: capget(2).
func capHeader() program.Arg {
	hdr := make([]byte, 8)
	binary.NativeEndian.PutUint32(hdr, unix.LINUX_CAPABILITY_VERSION_3)
	return program.Struct(hdr, program.Text("{_LINUX_CAPABILITY_VERSION_3, 0}"))
}
