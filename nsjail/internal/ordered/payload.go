package ordered

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"brig/internal/program"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/ops"
	"brig/nsjail/spec"
	"brig/nsjail/steps"

	"golang.org/x/sys/unix"
)

// leave drops what the set-up needed: the user namespace that it was made in, and the capabilities.
func (r *resolver) leave() {
	p := r.p
	if r.Userns2 != steps.NoFD {
		ops.Setns(p, steps.Option+"userns2", program.Int(r.Userns2), unix.CLONE_NEWUSER, "CLONE_NEWUSER")
	}
	if r.NewUser && !r.Unmapped && (r.setUID != r.uid || r.setGID != r.gid || r.DisableUserns) {
		if r.DisableUserns {
			r.write(steps.Option+"disable-userns", "sys/user/max_user_namespaces", "1")
		}
		ops.Unshare(p, "user", unix.CLONE_NEWUSER, "CLONE_NEWUSER")
		r.boundingSet()
		r.maps(r.uid, r.setUID, r.gid, r.setGID, false)
	}
	if r.DisableUserns || r.AssertUserns {
		r.assertUserns()
	}
	if r.plan.Group != nil {
		ops.RootGroup(p)
	}
	if len(r.Caps) > 0 || r.f.UID != 0 {
		r.capset(r.caps)
	}
	if r.ExecLabel != "" { // a context, which the kernel must know: selinux(8), proc_pid_attr(5)
		ops.ExecLabel(p, steps.Option+"exec-label", r.proc.Arg(), "thread-self/attr/exec", r.ExecLabel, r.ExecLabel)
	}
	p.Close("process", r.proc)
	// a change of identity has made /proc/PID root's, where others look for the namespaces of --info-fd: proc(5)
	ops.Dumpable(p, "process", 1)
	if r.BlockFD != steps.NoFD {
		p.Add(steps.Option+"block-fd", unix.SYS_READ, program.Int(r.BlockFD), program.Bytes(make([]byte, 1)), program.Int(1))
	}
}

// assertUserns fails if a user namespace can be made. In a new one no id is mapped, so that even the process's own uid
// cannot be set there: setresuid(2).
func (r *resolver) assertUserns() {
	p := r.p
	const label = "creation of new user namespaces was not disabled as requested"
	p.Add(label, unix.SYS_UNSHARE, program.Named(unix.CLONE_NEWUSER, "CLONE_NEWUSER")).
		May(unix.ENOSPC, unix.EPERM, unix.EUSERS, unix.EINVAL)
	p.Add(label, unix.SYS_SETRESUID, program.Int(r.uid), program.Int(r.uid), program.Int(r.uid))
}

// ambient makes the payload keep its capabilities over execve(2). Those that are not inheritable cannot be (EPERM).
func (r *resolver) ambient() {
	for set := r.caps; set != 0; set &= set - 1 {
		ops.RaiseAmbient(r.p, bits.TrailingZeros64(set)).May(unix.EINVAL, unix.EPERM)
	}
}

// capset sets the effective, permitted and inheritable capabilities: capset(2).
func (r *resolver) capset(set uint64) {
	b := make([]byte, 24)
	for i := range 3 {
		binary.NativeEndian.PutUint32(b[4*i:], uint32(set))
		binary.NativeEndian.PutUint32(b[12+4*i:], uint32(set>>32))
	}
	op := ops.Capset(r.p, "caps", b, fmt.Sprintf("{%#x, %#[1]x, %#[1]x}", set))
	if r.f.UID == 0 { // a container's root may lack some of the requested capabilities, and keeps the others
		op.May(unix.EPERM)
	}
}

// process makes the process that stays with the payload, if there is to be one.
func (r *resolver) process() {
	p := r.p
	r.workdir()
	if r.NewSession {
		p.Add(steps.Option+"new-session", unix.SYS_SETSID)
	}
	if !r.init {
		return
	}
	held := r.held()
	if !r.plan.Stays { // the payload must not read or change init's memory: ptrace(2)
		ops.Dumpable(p, "init", 0)
	}
	r.dieWithParent(p) // a change of identity has cancelled the first
	mode := program.Int(0)
	if r.plan.Stays {
		mode = program.Named(launcher.InitStays, "INIT_STAYS")
	}
	p.Add("init", program.Fork, launcher.SlotReport.Arg(), program.Int(0), program.Int(held), program.Int(0),
		program.Int(0), mode)
}

// workdir tries the places where the payload may start, the best last. The caller's directory may not be in the jail.
func (r *resolver) workdir() {
	p := r.p
	if r.Chdir != "" {
		p.Add(steps.Option+"chdir "+r.Chdir, unix.SYS_CHDIR, program.Str(r.Chdir))
		return
	}
	for _, dir := range []string{r.f.Home, r.f.Cwd} {
		if dir != "" {
			p.Add("workdir", unix.SYS_CHDIR, program.Str(dir)).May(unix.ENOENT, unix.EACCES, unix.ENOTDIR, unix.ELOOP)
		}
	}
}

// workdir returns where the payload will start, as far as the steps tell, for PWD.
func (f *Facts) workdir(j *steps.Jail) string {
	switch {
	case j.Chdir != "":
		return j.Chdir
	case f.CwdThere:
		return f.Cwd
	case f.Home != "":
		return f.Home
	}
	return "/"
}

// held passes to init the descriptors that it holds until the jail ends: the locks (fcntl(2), which init owns
// after the payload's execve(2)) and --sync-fd. It returns their number.
func (r *resolver) held() (n int) {
	p := r.p
	keep := func(label string, fd program.Arg) {
		p.Add(label, unix.SYS_DUP3, fd, program.Int(launcher.FDDisk+n), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
		n++
	}
	for _, file := range r.LockFiles {
		label := steps.Option + "lock-file " + file
		fd := p.Open(label, unix.SYS_OPENAT, program.CWD(), program.Str(file),
			program.Named(unix.O_RDONLY|unix.O_CLOEXEC, "O_RDONLY|O_CLOEXEC"), program.Int(0))
		keep(label, fd.Arg())
		p.Close(label, fd) // before the lock: closing any descriptor of the file would release it
		p.Add(label, unix.SYS_FCNTL, program.Int(launcher.FDDisk+n-1), program.Named(unix.F_SETLK, "F_SETLK"),
			program.Struct(make([]byte, 32), program.Text("{F_RDLCK, SEEK_SET, 0, 0}")))
	}
	if r.SyncFD != steps.NoFD {
		keep(steps.Option+"sync-fd", program.Int(r.SyncFD))
		r.CloseFDs = append(r.CloseFDs, r.SyncFD)
	}
	return n
}

// payload executes the command. Nothing follows the caller's filters but execve(2).
func (r *resolver) payload() {
	p := r.p
	r.dieWithParent(p)
	for _, fd := range r.CloseFDs {
		p.Add("descriptors", unix.SYS_CLOSE, program.Int(fd)).May(unix.EBADF)
	}
	ops.SetRlimit(p, "process", unix.RLIMIT_NOFILE, "NOFILE", r.f.Files)
	r.ambient()
	p.Add("process", unix.SYS_UMASK, r.mask.Arg())
	if n := r.Limits.Processes; n > 0 && r.plan.Enforced["processes"] == "" {
		ops.SetRlimit(p, "BRIG_PIDS", unix.RLIMIT_NPROC, "NPROC", spec.Rlimit{Soft: n, Hard: n})
	}
	for _, filter := range r.Filters {
		r.filter(filter)
	}
	args := r.Args
	if r.Argv0 != nil {
		args = append([]string{*r.Argv0}, args[1:]...)
	}
	r.plan.Exec = candidates(r.Args[0], r.plan.Env)
	files := make([]ops.File, len(r.plan.Exec))
	for i, file := range r.plan.Exec {
		files[i] = ops.File{Path: file, Args: args}
	}
	ops.Execve(p, files, r.plan.Env, unix.ENOENT, unix.ENOTDIR, unix.EACCES, unix.ESTALE)
}

// filter loads a filter of seccomp(2). prctl(2) does it, since a filter of the caller's may permit that call alone.
func (r *resolver) filter(filter []byte) {
	r.p.Add("prctl(PR_SET_SECCOMP)", unix.SYS_PRCTL, program.Named(unix.PR_SET_SECCOMP, "PR_SET_SECCOMP"),
		program.Named(unix.SECCOMP_MODE_FILTER, "SECCOMP_MODE_FILTER"),
		ops.Fprog(filter))
}
