package plan

import (
	"cmp"
	"encoding/binary"
	"strings"

	"brig/internal/program"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/ops"

	"golang.org/x/sys/unix"
)

// RootCaps are the capabilities of a helper in the host's root: for mounts and for network namespaces.
const RootCaps = uint32(1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_NET_ADMIN)

// DropFor returns the program with which the launcher drops root's privileges; nil if the caller is not root.
func DropFor(h *host.Host) *program.Program {
	if !h.Drop {
		return nil
	}
	return DropProgram(h, 0, h.Kept)
}

// DropProgram makes the launcher an unprivileged user of the host. From then on a jail of root is made like that of any
// user. It keeps the capabilities in kept, of which those in effective are in effect. The launcher raises a kept one
// for clone3(2) into a control group of root.
func DropProgram(h *host.Host, effective, kept uint32) *program.Program {
	p := program.New(2)
	p.Add("drop", unix.SYS_PRCTL, program.Named(unix.PR_SET_KEEPCAPS, "PR_SET_KEEPCAPS"), program.Int(1))
	uid, gid := program.Int(h.PayloadUID), program.Int(h.PayloadGID)
	p.Add("drop", unix.SYS_SETGROUPS, program.Int(0), program.Named(0, "NULL"))
	p.Add("drop", unix.SYS_SETRESGID, gid, gid, gid)
	p.Add("drop", unix.SYS_SETRESUID, uid, uid, uid)
	caps := make([]byte, 24) // two struct __user_cap_data_struct: effective, permitted, inheritable
	binary.NativeEndian.PutUint32(caps, effective)
	binary.NativeEndian.PutUint32(caps[4:], kept)
	ops.Capset(p, "drop", caps, "{"+capNames(effective)+", "+capNames(kept)+", 0}")
	// after a change of uid root owns /proc/self (proc(5)), but the jail must write its uid_map there
	ops.Dumpable(p, "drop", 1)
	return p
}

// capNames returns the names of the capabilities that a launcher may keep.
func capNames(set uint32) string {
	names := named(uint64(set), bit{1 << unix.CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
		bit{1 << unix.CAP_NET_ADMIN, "CAP_NET_ADMIN"}, bit{1 << unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"})
	return cmp.Or(strings.Join(names, "|"), "0")
}

// bit is a bit of a set, with its name.
type bit struct {
	mask uint64
	name string
}

// named returns the names of the bits in a set.
func named(set uint64, bits ...bit) (names []string) {
	for _, b := range bits {
		if set&b.mask != 0 {
			names = append(names, b.name)
		}
	}
	return names
}
