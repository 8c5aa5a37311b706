package plan

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brig/internal/program"
	"brig/netns"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

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

// FlagNames returns the names of the namespaces in flags of clone3(2).
func FlagNames(flags uint64) []string {
	return named(flags, bit{unix.CLONE_NEWUSER, "CLONE_NEWUSER"}, bit{unix.CLONE_NEWNS, "CLONE_NEWNS"},
		bit{unix.CLONE_NEWPID, "CLONE_NEWPID"}, bit{unix.CLONE_NEWIPC, "CLONE_NEWIPC"},
		bit{unix.CLONE_NEWUTS, "CLONE_NEWUTS"}, bit{unix.CLONE_NEWCGROUP, "CLONE_NEWCGROUP"},
		bit{unix.CLONE_NEWNET, "CLONE_NEWNET"})
}

func (r *resolver) namespaces() {
	h := r.Host
	if !h.Kernel.AtLeast(host.MinKernel.Major, host.MinKernel.Minor) {
		r.fail(spec.HostError("kernel", fmt.Sprintf("Linux %d.%d is older than %d.%d, which mount_setattr(2) needs",
			h.Kernel.Major, h.Kernel.Minor, host.MinKernel.Major, host.MinKernel.Minor), "use a newer kernel"))
	}
	if why := h.Missing["user"]; why != "" {
		if h.HasTier() {
			why += "; " + host.OrTier
		}
		r.fail(spec.HostError("user", "no user namespace can be made", why))
	}
	if h.UID == 0 && !h.Drop {
		r.Notes = append(r.Notes, "the caller is root of a user namespace; the payload runs as that user of the host")
	}
	r.Flags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
		unix.CLONE_NEWCGROUP
	for _, n := range []string{"mount", "pid", "ipc", "uts", "cgroup"} {
		r.Enforced[n] = "new namespace"
	}
	uid, gid := r.ids()
	r.Enforced["user"] = fmt.Sprintf("new namespace; %d:%d is %d:%d on the host", uid, gid, h.PayloadUID, h.PayloadGID)
	if r.Spec.Net == spec.NetHost {
		r.Enforced["net"] = "not enforced: the host's network (--net host)"
		r.Notes = append(r.Notes, "--net host: the payload reaches everything that this machine reaches, loopback services "+
			"and abstract sockets too")
	} else {
		r.Enforced["net"] = "new namespace, " + string(r.net())
		if r.netIsReady() {
			r.Enforced["net"] += ", made ahead"
		} else {
			r.Flags |= unix.CLONE_NEWNET
		}
	}
	r.Drop = DropFor(h)
	r.network()
}

// netIsReady reports whether the jail starts in an existing network namespace with lo up.
func (r *resolver) netIsReady() bool { return r.Mode.Net && r.net() == spec.NetLoopback }

func (r *resolver) net() spec.Net { return cmp.Or(r.Spec.Net, spec.NetLoopback) }

func (r *resolver) hostname() string { return cmp.Or(r.Spec.Hostname, spec.DefaultHostname) }

// ids returns the payload's identity in the jail.
func (r *resolver) ids() (uid, gid uint32) {
	if r.Spec.User == "" {
		return spec.DefaultUID, spec.DefaultGID
	}
	uid, gid, err := spec.ParseUser(r.Spec.User)
	if err != nil {
		r.fail(err)
	}
	return uid, gid
}

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
	shown := "{" + capNames(effective) + ", " + capNames(kept) + ", 0}"
	p.Add("drop", unix.SYS_CAPSET, CapHeader(), program.Struct(caps, program.Text(shown)))
	// after a change of uid root owns /proc/self (proc(5)), but the jail must write its uid_map there
	p.Add("drop", unix.SYS_PRCTL, program.Named(unix.PR_SET_DUMPABLE, "PR_SET_DUMPABLE"), program.Int(1))
	return p
}

// writeSelf writes to a file of /proc/self, in the jail's procfs, or in that of the host if the jail has none.
func (r *resolver) writeSelf(name, text string) {
	dir := program.CWD()
	if name = "self/" + name; r.root.Proc != 0 {
		dir = r.root.Proc.Arg()
	} else {
		name = "/proc/" + name
	}
	r.writeAt("user", dir, name, text)
}

func (r *resolver) writeAt(label string, dir program.Arg, name, text string) {
	p := r.Jail
	fd := p.Open(label, unix.SYS_OPENAT, dir, program.Str(name),
		program.Named(unix.O_WRONLY|unix.O_CLOEXEC, "O_WRONLY|O_CLOEXEC"), program.Int(0))
	p.Add(label, unix.SYS_WRITE, fd.Arg(), program.Str(text), program.Int(len(text)))
	p.Close(label, fd)
}

// procfs mounts the jail's procfs for the phases before the root is complete.
func (r *resolver) procfs() {
	if r.Host.Missing["proc"] == "" {
		r.root.Proc = rootfs.Procfs(r.Jail)
	}
}

// identity maps one uid and one gid: user_namespaces(7).
func (r *resolver) identity() {
	uid, gid := r.ids()
	r.writeSelf("setgroups", "deny")
	// fixed width: a launcher forked early writes these before it has the program
	r.writeSelf("uid_map", fmt.Sprintf("%d %10d 1", uid, r.Host.PayloadUID))
	r.writeSelf("gid_map", fmt.Sprintf("%d %10d 1", gid, r.Host.PayloadGID))
	if r.root.Proc != 0 {
		r.ofUser("inotify", "max_inotify_instances", spec.DefaultInotify)
		r.ofUser("inotify", "max_inotify_watches", spec.DefaultWatches)
	}
	if r.ownsGroup() && r.root.Proc != 0 {
		r.ofUser("user", "max_user_namespaces", 0)
	}
}

// ofUser limits one kind of object that the kernel counts per user, in the jail's user namespace: namespaces(7), sysctl
// user.*. The jail's objects also count for the caller, so a limit below the caller's leaves the remainder to the
// caller's other programs.
func (r *resolver) ofUser(label, name string, n int) {
	r.writeAt(label, r.root.Proc.Arg(), "sys/user/"+name, strconv.Itoa(n))
}

// oomScore makes the OOM killer prefer the jail to its keeper, which must outlive it. The process no longer shares its
// memory: otherwise the kernel would have to look at every process of the machine.
func (r *resolver) oomScore() {
	r.writeSelf("oom_score_adj", strconv.Itoa(jailOOMScore))
}

// jailOOMScore makes the OOM killer choose a process of a jail before any other on the machine, and of these the
// largest: proc(5) oom_score_adj. With a lower value, memory of a jail that counts for no process (tmpfs, socket
// buffers) could make the kernel kill a process of the host.
const jailOOMScore = 1000

// session leaves the caller's session and its keyrings.
func (r *resolver) session() {
	p := r.Jail
	if r.Mode.Forked && !r.shape.noNamespaces { // without a pid namespace init has to end the others first
		p.Add("session", unix.SYS_PRCTL, program.Named(unix.PR_SET_PDEATHSIG, "PR_SET_PDEATHSIG"),
			program.Named(int(unix.SIGKILL), "SIGKILL"))
	}
	// in a prepared root init stays in the launcher's session, which has no terminal, and the payload starts a new one
	if r.Mode.Root == nil || r.Spec.NoInit {
		p.Add("session", unix.SYS_SETSID)
	}
	op := p.Add("session", unix.SYS_KEYCTL, program.Named(unix.KEYCTL_JOIN_SESSION_KEYRING,
		"KEYCTL_JOIN_SESSION_KEYRING"), program.Named(0, "NULL"))
	r.Enforced["keyring"] = "new session keyring"
	if slices.Contains(r.Spec.Optional, "keyring") {
		// an outer filter may refuse keyctl(2), or the kernel may lack it
		op.May(unix.EPERM, unix.ENOSYS)
		r.Enforced["keyring"] = "new session keyring if permitted (optional)"
	}
}

// capNames returns the names of the capabilities that a launcher may keep.
func capNames(set uint32) string {
	names := named(uint64(set), bit{1 << unix.CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
		bit{1 << unix.CAP_NET_ADMIN, "CAP_NET_ADMIN"}, bit{1 << unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"})
	return cmp.Or(strings.Join(names, "|"), "0")
}

func (r *resolver) names() {
	name := r.hostname()
	r.Jail.Add("uts", unix.SYS_SETHOSTNAME, program.Str(name), program.Int(len(name)))
	r.Jail.Add("uts", unix.SYS_SETDOMAINNAME, program.Str("(none)"), program.Int(len("(none)")))
}

// loopback brings lo up. Without a procfs of the jail's own ports below 1024 stay closed.
func (r *resolver) loopback() {
	if r.net() == spec.NetHost || r.net() == spec.NetNone || r.netIsReady() {
		return
	}
	netns.Loopback(r.Jail, lookupsFD(r))
	switch {
	case r.root.Proc == 0:
	case r.sysctl != 0:
		netns.FreePorts(r.Jail, r.sysctl.Arg(), "")
		r.Jail.Close("net", r.sysctl)
	default:
		netns.FreePorts(r.Jail, r.root.Proc.Arg(), "sys/")
	}
}

// lookupsFD returns the descriptor number at which init is to have the socket that hears of lookups, or 0. A network by
// name, which has a resolver, and a jail without init have the socket too, so that all lists begin as the one made
// ahead. In a namespace of the pool, which is the launcher's, the jail may make none.
func lookupsFD(r *resolver) int {
	if files := r.Host.HardLimits["nofile"]; files >= 0 && files < rootfs.FirstDisk+rootfs.MaxDisks {
		return 0
	}
	return launcher.FDLookups
}
