package plan

import (
	"cmp"
	"fmt"
	"strconv"

	"brig/internal/program"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/ops"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// FlagNames returns the names of the namespaces in flags of clone3(2).
func FlagNames(flags uint64) []string {
	return named(flags, bit{unix.CLONE_NEWUSER, "CLONE_NEWUSER"}, bit{unix.CLONE_NEWNS, "CLONE_NEWNS"},
		bit{unix.CLONE_NEWPID, "CLONE_NEWPID"}, bit{unix.CLONE_NEWIPC, "CLONE_NEWIPC"},
		bit{unix.CLONE_NEWUTS, "CLONE_NEWUTS"}, bit{unix.CLONE_NEWCGROUP, "CLONE_NEWCGROUP"},
		bit{unix.CLONE_NEWNET, "CLONE_NEWNET"})
}

// namespaces are the flags of clone3(2) for all namespaces but the network's.
const namespaces = uint64(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP)

// identity is who the payload is, in the jail and on the host: user_namespaces(7), uts_namespaces(7).
type identity struct {
	uid, gid         uint32
	hostUID, hostGID int
	hostname         string
	closed           bool // no user namespace can be made in the jail
}

// decideIdentity decides the payload's identity, in namespaces of its own.
func decideIdentity(in *input, out *report) identity {
	h := in.host
	if !h.Kernel.AtLeast(host.MinKernel.Major, host.MinKernel.Minor) {
		out.fail(spec.HostError("kernel", fmt.Sprintf("Linux %d.%d is older than %d.%d, which mount_setattr(2) needs",
			h.Kernel.Major, h.Kernel.Minor, host.MinKernel.Major, host.MinKernel.Minor), "use a newer kernel"))
	}
	if why := h.Missing["user"]; why != "" {
		if h.HasTier() {
			why += "; " + host.OrTier()
		}
		out.fail(spec.HostError("user", "no user namespace can be made", why))
	}
	if h.UID == 0 && !h.Drop {
		out.note("the caller is root of a user namespace; the payload runs as that user of the host")
	}
	for _, n := range []string{"mount", "pid", "ipc", "uts", "cgroup"} {
		out.enforced[n] = "new namespace"
	}
	id := identityOf(in.Spec)
	id.hostUID, id.hostGID = h.PayloadUID, h.PayloadGID
	out.enforced["user"] = words.Plain(fmt.Sprintf("new namespace; %d:%d is %d:%d on the host", id.uid, id.gid,
		h.PayloadUID,
		h.PayloadGID))
	return id
}

// identityOf returns the identity that a Spec asks for, which Check has accepted.
func identityOf(s *spec.Spec) identity {
	id := identity{uid: spec.DefaultUID, gid: spec.DefaultGID, hostname: cmp.Or(s.Hostname, spec.DefaultHostname)}
	if uid, gid, err := spec.ParseUser(s.User); s.User != "" && err == nil {
		id.uid, id.gid = uid, gid
	}
	return id
}

// write maps one uid and one gid: user_namespaces(7). proc is the slot of the jail's procfs, or 0.
func (id *identity) write(p *program.Program, proc program.Slot) {
	ops.WriteSelf(p, proc, "setgroups", "deny")
	// fixed width: a launcher forked early writes these before it has the program
	ops.WriteSelf(p, proc, "uid_map", fmt.Sprintf("%d %10d 1", id.uid, id.hostUID))
	ops.WriteSelf(p, proc, "gid_map", fmt.Sprintf("%d %10d 1", id.gid, id.hostGID))
	if proc == 0 {
		return
	}
	ofUser(p, proc, "inotify", "max_inotify_instances", spec.DefaultInotify)
	ofUser(p, proc, "inotify", "max_inotify_watches", spec.DefaultWatches)
	if id.closed {
		ofUser(p, proc, "user", "max_user_namespaces", 0)
	}
}

// ofUser limits one kind of object that the kernel counts per user, in the jail's user namespace: namespaces(7), sysctl
// user.*. The jail's objects also count for the caller, so a limit below the caller's leaves the remainder to the
// caller's other programs.
func ofUser(p *program.Program, proc program.Slot, label, name string, n int) {
	ops.WriteAt(p, label, proc.Arg(), "sys/user/"+name, strconv.Itoa(n))
}

// names sets the host and the domain name.
func (id *identity) names(p *program.Program) {
	p.Add("uts", unix.SYS_SETHOSTNAME, program.Str(id.hostname), program.Int(len(id.hostname)))
	p.Add("uts", unix.SYS_SETDOMAINNAME, program.Str("(none)"), program.Int(len("(none)")))
}
