package ordered

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brig/internal/program"
	"brig/internal/words"
	"brig/netns"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/ops"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"
	"brig/nsjail/steps"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

// resolver is the state of one Resolve.
type resolver struct {
	*steps.Jail
	f     *Facts
	plan  *plan.Plan
	p     *program.Program
	tree  *rootfs.Ordered
	proc  program.Slot // the host's procfs, for what follows pivot_root(2)
	mask  program.Slot // the caller's umask
	init  bool
	caps  uint64
	first int // the lowest descriptor number that is free in the jail
	// the payload's ids, and those during the set-up
	uid, gid, setUID, setGID int
}

// Resolve returns the plan. p is that of plan.Bounds, which has the control group and the sockets.
func Resolve(j *steps.Jail, f *Facts, p *plan.Plan) (*plan.Plan, error) {
	r := &resolver{Jail: j, f: f, plan: p, init: j.HasInit(), first: max(minFirst, f.Highest+1)}
	if err := r.check(); err != nil {
		return nil, err
	}
	r.caps = r.payloadCaps()
	p.Flags = r.flags()
	p.Drop = r.enter()
	p.Stays = !j.Bounded()
	p.Spec.NoInit = !r.init
	p.Wall = j.Limits.Wall
	p.Env = slices.DeleteFunc(slices.Clone(j.Env), func(e string) bool { return strings.HasPrefix(e, "PWD=") })
	p.Env = append(p.Env, "PWD="+f.workdir(j))
	p.Enforced["seccomp"] = words.Plain(strconv.Itoa(len(j.Filters)) + " filters")
	in := launcher.SlotUser
	if p.Group != nil {
		p.JoinAt = in
		in += program.Slot(len(p.Group.Branches))
	}
	r.p = program.New(int(in))
	p.Jail = r.p
	r.identity()
	if err := r.root(); err != nil {
		return nil, err
	}
	r.leave()
	r.process()
	r.payload()
	return p, nil
}

// minFirst is above the fixed descriptor numbers of the launcher, and of the sockets of an egress network.
const minFirst = 600

// check refuses what depends on the caller.
func (r *resolver) check() error {
	own := r.NewUser || r.Userns != steps.NoFD
	r.uid, r.gid = r.f.UID, r.f.GID
	if r.UID >= 0 {
		r.uid = r.UID
	}
	if r.GID >= 0 {
		r.gid = r.GID
	}
	switch {
	case !own && r.uid != r.f.UID:
		return needsUser("uid")
	case !own && r.gid != r.f.GID:
		return needsUser("gid")
	case len(r.LockFiles)+1 > launcher.MaxDisks:
		return spec.CallerError(steps.Option+"lock-file",
			fmt.Sprintf("more than %d of them", launcher.MaxDisks-1), "lock fewer files")
	case r.f.Highest >= launcher.HomeFD && (r.Bounded() || len(r.LockFiles) > 0 || r.SyncFD != steps.NoFD):
		return spec.CallerError("descriptors", fmt.Sprintf("%d is open, and init holds those from %d on", r.f.Highest,
			launcher.HomeFD), "close it, or make it close-on-exec")
	case r.f.Files.Hard >= 0 && r.f.Files.Hard < int64(r.first+rootfs.Numbers):
		return spec.HostError("descriptors", fmt.Sprintf("the hard limit on open files is %d", r.f.Files.Hard),
			fmt.Sprintf("raise it to %d (ulimit -Hn)", r.first+rootfs.Numbers))
	case r.Limits.Processes > 0 && r.plan.Enforced["processes"] == "" && !r.countsProcesses():
		return spec.HostError("BRIG_PIDS", "no control group can be made, and RLIMIT_NPROC does not bound this caller",
			"give it a control group, as `brig doctor` tells, or drop the variable")
	case r.Bounded() && !r.NewPID:
		return spec.CallerError("BRIG_*", "limits end a jail with all of its processes, which takes a pid namespace",
			"add "+option("unshare-pid"))
	}
	return nil
}

// countsProcesses reports whether RLIMIT_NPROC bounds the jail alone: in its own user namespace, since Linux 5.14, and
// for any user but the host's root.
func (r *resolver) countsProcesses() bool {
	return r.NewUser && r.f.UID != 0 && r.f.Kernel.AtLeast(5, 14)
}

// flags returns the flags of clone3(2).
func (r *resolver) flags() uint64 {
	set := uint64(unix.CLONE_NEWNS)
	for _, ns := range []struct {
		new  bool
		flag uint64
	}{{r.NewUser, unix.CLONE_NEWUSER}, {r.NewPID, unix.CLONE_NEWPID}, {r.NewNet, unix.CLONE_NEWNET},
		{r.NewIPC, unix.CLONE_NEWIPC}, {r.NewUTS, unix.CLONE_NEWUTS}, {r.NewCgroup, unix.CLONE_NEWCGROUP}} {
		if ns.new {
			set |= ns.flag
		}
	}
	return set
}

// enter returns the program with which the launcher enters the caller's namespaces, in which it then creates the jail;
// nil if there are none.
func (r *resolver) enter() *program.Program {
	if r.Userns == steps.NoFD && r.PIDNS == steps.NoFD && !(r.DieWithParent && r.f.Parent) {
		return nil
	}
	p := program.New(2)
	if r.f.Parent {
		r.dieWithParent(p)
	}
	if r.Userns != steps.NoFD {
		ops.Setns(p, steps.Option+"userns", program.Int(r.Userns), unix.CLONE_NEWUSER, "CLONE_NEWUSER")
	}
	if r.PIDNS != steps.NoFD {
		ops.Setns(p, steps.Option+"pidns", program.Int(r.PIDNS), unix.CLONE_NEWPID, "CLONE_NEWPID")
	}
	return p
}

// identity takes the place of the caller in the new namespaces.
func (r *resolver) identity() {
	p := r.p
	ops.NoNewPrivs(p, "process")
	// an outer filter may refuse keyctl(2), or the kernel may lack it
	ops.JoinKeyring(p, "process").May(unix.EPERM, unix.ENOSYS, unix.EDQUOT)
	if r.f.Files.Soft >= 0 && r.f.Files.Soft < int64(r.first+rootfs.Numbers) { // for the fixed descriptor numbers
		ops.SetRlimit(p, "process", unix.RLIMIT_NOFILE, "NOFILE", spec.Rlimit{Soft: r.f.Files.Hard, Hard: r.f.Files.Hard})
	}
	r.dieWithParent(p)
	if r.Waits { // one byte, or the end of a keeper that is gone
		p.Add("wait", unix.SYS_RECVFROM, launcher.SlotReport.Arg(), program.Bytes(make([]byte, 1)), program.Int(1),
			program.Int(0), program.Named(0, "NULL"), program.Named(0, "NULL"))
	}
	if r.plan.Group != nil {
		ops.JoinGroups(p, r.plan.JoinAt, len(r.plan.Group.V1Joins()))
	}
	r.proc = ops.OpenPath(p, "process", program.CWD(), "/proc")
	if r.NewUser || r.Userns != steps.NoFD {
		r.boundingSet()
	}
	if r.Userns != steps.NoFD && r.uid != r.f.UID {
		p.Add(steps.Option+"uid", unix.SYS_SETRESUID, program.Int(r.uid), program.Int(r.uid), program.Int(r.uid))
	}
	if r.Userns != steps.NoFD && r.gid != r.f.GID {
		p.Add(steps.Option+"gid", unix.SYS_SETRESGID, program.Int(r.gid), program.Int(r.gid), program.Int(r.gid))
	}
	if r.NewNet {
		netns.Loopback(p, 0)
	}
	if r.plan.Sockets != nil {
		ops.OpenSockets(p, r.plan.Sockets)
	}
	r.setUID, r.setGID = r.uid, r.gid
	if r.NewUser && !r.Unmapped {
		if r.hasDev() { // a devpts needs a mapped root: below, another user namespace maps the ids back
			r.setUID, r.setGID = 0, 0
		}
		r.maps(r.setUID, r.f.UID, r.setGID, r.f.GID, true)
	}
}

func (r *resolver) hasDev() bool {
	return slices.ContainsFunc(r.Steps, func(s steps.Step) bool { return s.Kind == steps.Dev })
}

// dieWithParent has the kernel kill the process when its parent has died: prctl(2).
func (r *resolver) dieWithParent(p *program.Program) {
	if r.DieWithParent {
		ops.ParentDeath(p, steps.Option+"die-with-parent")
	}
}

// maps writes the maps of the process's user namespace, one id each: user_namespaces(7).
func (r *resolver) maps(uid, outUID, gid, outGID int, deny bool) {
	line := func(in, out int) string { return strconv.Itoa(in) + " " + strconv.Itoa(out) + " 1\n" }
	r.write("uid_map", "self/uid_map", line(uid, outUID))
	if deny {
		r.write("setgroups", "self/setgroups", "deny\n")
	}
	r.write("gid_map", "self/gid_map", line(gid, outGID))
}

// write writes to a file of the host's procfs.
func (r *resolver) write(label, name, text string) {
	ops.WriteAt(r.p, label, r.proc.Arg(), name, text)
}

// boundingSet drops all capabilities that the payload does not get from the bounding set: capabilities(7).
func (r *resolver) boundingSet() {
	ops.DropBounding(r.p, r.f.LastCap, r.caps, unix.EINVAL, unix.EPERM)
}

// payloadCaps returns the payload's capabilities.
func (r *resolver) payloadCaps() (set uint64) {
	if r.f.UID == 0 {
		set = r.f.Caps
	}
	for _, op := range r.Caps {
		if set &^= op.Set; op.Add {
			set |= op.Set
		}
	}
	return set & (1<<(r.f.LastCap+1) - 1) // ALL has more than the kernel knows
}

// candidates returns the files that execvp(3) tries.
func candidates(name string, env []string) (files []string) {
	if strings.Contains(name, "/") {
		return []string{name}
	}
	dirs := "/bin:/usr/bin" // without PATH: confstr(3)
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			dirs = v
		}
	}
	for _, dir := range strings.Split(dirs, ":") {
		if dir != "" {
			dir += "/"
		}
		files = append(files, dir+name)
	}
	return files
}

// needsUser refuses an option that needs a user namespace.
func needsUser(name string) error {
	return spec.CallerError(steps.Option+name, words.Textf("Specifying %s requires %s or %s", option(name),
		option("unshare-user"), option("userns")), "add one")
}

// option refers to an option.
func option(name string) words.Text { return words.Field(steps.Option + name) }

// label returns a step's label: the option as it was written.
func label(s *steps.Step, i int) string {
	words := []string{steps.Option + string(s.Kind)}
	for _, w := range []string{s.Source, s.Work, s.Target} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ") + " (" + strconv.Itoa(i+1) + ")"
}
