package nsjail

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"brig/internal/program"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/doctor"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// failure is a failed operation of a jail's set-up, to be explained.
type failure struct {
	Spec   *spec.Spec
	plan   *plan.Plan
	simple bool // the error names the step alone
	inBox  bool // the program is that of a process of a box
}

// setupError returns the error for a failed operation of the jail, with its name and remedy.
func (c *failure) setupError(rep launcher.Report) error {
	op, of := c.plan.Op(rep.A)
	if op == nil {
		return &spec.Error{Fault: spec.FaultBrig, Op: "program", Detail: "ended without execve(2)"}
	}
	e := &spec.Error{Fault: spec.FaultHost, Step: rep.A + 1, Of: of, Op: op.Label, Detail: words.Plain(op.Call()),
		Errno: syscall.Errno(rep.B)}
	if c.simple {
		return e
	}
	if c.inBox && op.NR == program.Fork {
		return noProcess(e)
	}
	if op.Label == spec.OpExec {
		return c.execError(e)
	}
	e.Fault, e.Remedy = doctor.Remedy(op.Label, e.Detail, e.Errno)
	if c.Spec.Rootfs.Path != "" && slices.Contains([]string{"dev", "proc", "scratch"}, op.Label) &&
		slices.Contains([]syscall.Errno{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EROFS}, e.Errno) {
		e.Fault, e.Remedy = spec.FaultCaller, "the tree of "+words.Field("rootfs.path")+" has no such directory, or a "+
			"link there that leads "+
			"nowhere in it; mend the tree"
		return e
	}
	if workdirMistake(c.Spec, e) || mountMistake(c.Spec, c.plan.Host, e) {
		return e
	}
	return doctor.OrTier(doctor.Blame(e), c.plan.Host)
}

// tooLarge returns the error for a program of more than program.SizeError allows.
func tooLarge(err error) error {
	return spec.CallerError("plan", err.Error(), "make the arguments or files smaller")
}

// execError distinguishes a missing command from one that may not be executed, and finds the flag that adds it to the
// jail.
func (c *failure) execError(e *spec.Error) error {
	name := c.Spec.Args[0]
	e.Fault, e.Detail = spec.FaultCaller, words.Plain(words.Quote(name))
	switch e.Errno {
	case unix.ENOENT, unix.ENOTDIR:
		remedy, known := c.missing()
		if e.Remedy = remedy; !known {
			e.Remedy = c.whereIsIt(name)
		}
		return &ExecError{e, ErrNotFound, !known}
	case unix.E2BIG:
		e.Remedy = "arguments and environment are too large for the payload's stack limit (execve(2))"
	case unix.ENOEXEC:
		e.Remedy = "it is no program that this kernel runs; a script needs a first line such as #!/bin/sh"
	case unix.EACCES:
		e.Remedy = c.forbidden()
	}
	if c.Spec.AppArmor+c.Spec.SELinuxLabel != "" && (e.Errno == unix.EACCES || e.Errno == unix.EPERM) {
		label := spec.Text("its label may not be entered with no_new_privs, or may not execute it: the kernel's log has " +
			"the denial")
		if e.Remedy != "" {
			label = e.Remedy + "; or " + label
		}
		e.Remedy = label
	}
	return &ExecError{Cause: e, Kind: ErrNotExecutable}
}

// forbidden returns the reason for EACCES.
func (c *failure) forbidden() spec.Text {
	for _, p := range c.plan.Exec {
		mode, head := c.inJail(p)
		if mode == 0 {
			continue
		}
		kind, needs := host.Interpreter(head)
		its, _ := c.inJail(needs)
		switch {
		case mode&unix.S_IFMT == unix.S_IFDIR:
			return "it is a directory; name a program in it"
		case mode&unix.S_IFMT != unix.S_IFREG:
			return "it is a device, FIFO or socket; name a program"
		case mode&0o111 == 0:
			return "it has no x permission; run chmod +x on it, or name its interpreter, as in sh FILE"
		case kind == host.Script && its != 0 && its&0o001 == 0:
			return "its first line names the interpreter " + words.Plain(words.Quote(needs)) +
				", which not everybody may execute; " +
				"run chmod a+x on that"
		}
	}
	if c.Spec.Tier == spec.TierProcess {
		return words.Set("tier", spec.TierProcess) + " executes programs of the system and what flags name: add " +
			spec.ShowReadOnly("DIR", "DIR") + "; or the payload's user may not execute it"
	}
	return "the payload's user may not execute it, or not pass a directory above it: run chmod a+x on these; or it lies " +
		"on a noexec mount"
}

// missing returns what an existing file lacks when execve(2) returns ENOENT, its interpreter or its loader, and whether
// there is such a file.
func (c *failure) missing() (remedy spec.Text, known bool) {
	for _, p := range c.plan.Exec {
		mode, head := c.inJail(p)
		if mode == 0 {
			continue
		}
		kind, needs := host.Interpreter(head)
		switch there, _ := c.inJail(needs); {
		case strings.HasSuffix(needs, "\r"):
			remedy = "its first line ends with a carriage return, as on Windows; remove them: sed -i 's/\\r$//' FILE"
		case needs == "" || there != 0:
			remedy = "an interpreter or loader that it needs is not in the jail"
		case kind == host.Loader:
			remedy = "it needs the loader " + words.Plain(words.Quote(needs)) +
				", which is not in the jail; put it there with the libraries that ldd lists, or link it statically"
		default:
			remedy = "its first line names the interpreter " + words.Plain(words.Quote(needs)) +
				", which is not in the jail; correct that line, or bring it in with " + spec.ShowReadOnly("", "")
		}
		return remedy, true
	}
	return "", false
}

// whereIsIt looks on the host for a file that the jail lacks, and returns the flag that adds it.
func (c *failure) whereIsIt(name string) spec.Text {
	if c.Spec.Rootfs.Image != "" && !strings.Contains(name, "/") { // a program of the host needs the host's libraries
		return "the image has no such program on its PATH; name one that it has, or use another image"
	}
	host, err := exec.LookPath(name)
	if err != nil {
		if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() && !strings.Contains(name, "/") {
			return "it is not on the PATH; for the file in this directory write ./" + words.Plain(name)
		}
		return "it is not on this machine's PATH either"
	}
	if host, err = filepath.Abs(host); err != nil {
		return words.Plain(err.Error())
	}
	if rel := c.fromWork(host); rel != "" && strings.Contains(name, "/") {
		if name == rel || name == "./"+rel {
			return "the jail does not see this directory; add " + spec.ShowWork(".")
		}
		return "the jail does not see this directory; add " + spec.ShowWork(".") + " and write ./" + words.Plain(rel)
	}
	real, err := filepath.EvalSymlinks(host)
	if err != nil {
		real = host
	}
	switch system := strings.HasPrefix(real, "/usr/"); {
	case system && c.Spec.Rootfs.Path != "":
		return words.Textf("the tree of %s has no such file; install it there (the host's %s needs the host's libraries)",
			words.Field("rootfs.path"), real)
	case system && strings.Contains(name, "/"):
		return "there is no such path in the jail; the host has it as " + words.Plain(real)
	case system:
		return words.Textf("the host has it as %s, which is not on the jail's PATH; %sname it in full", real, orPath(host))
	}
	dir := filepath.Dir(filepath.Dir(real)) // the prefix: a program also needs its lib and share
	if _, err := os.Stat(filepath.Join(dir, "lib")); err != nil || dir == "/" {
		dir = filepath.Dir(real)
	}
	return words.Textf("the host has it as %s; add %s and name it in full", real, spec.ShowReadOnly(dir, dir))
}

// orPath returns the advice to pass the caller's PATH, if the directory in which that has found a program is in the
// jail.
func orPath(program string) string {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(program)); err != nil || !sys.Under(dir, "/usr") {
		return ""
	}
	return "add -e PATH, or "
}

// fromWork returns the path of a host file relative to the caller's directory, where --work . would show it, or "".
func (c *failure) fromWork(host string) string {
	taken := slices.ContainsFunc(c.Spec.Mounts, func(m spec.Mount) bool { return m.Target == spec.DefaultWorkdir })
	here, err := os.Getwd()
	if err != nil || taken || c.workdir() != spec.DefaultWorkdir {
		return ""
	}
	if rel, err := filepath.Rel(here, host); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return ""
}

func (c *failure) workdir() string { return cmp.Or(c.Spec.Workdir, spec.DefaultWorkdir) }

// inJail looks up a path of the jail on the host. It returns the mode (0 if the path is missing or unknown) and the
// beginning of a regular file. It runs only after the command could not be started. Links made by the payload are
// resolved within the shared directory: openat2(2), RESOLVE_IN_ROOT.
func (c *failure) inJail(p string) (mode uint32, head []byte) {
	if p == "" {
		return 0, nil
	}
	if !path.IsAbs(p) {
		p = path.Join(c.workdir(), p)
	}
	root, rest := c.source(path.Clean(p))
	if root == "" {
		return 0, nil
	}
	fd, err := unix.Open(root, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, nil
	}
	defer unix.Close(fd)
	if rest = strings.Trim(rest, "/"); rest != "" {
		how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
		if fd, err = sys.Openat2(fd, rest, &how); err != nil {
			return 0, nil
		}
		defer unix.Close(fd)
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG { // not a device, FIFO or socket
		return st.Mode, nil
	}
	f, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return st.Mode, nil
	}
	defer f.Close()
	head = make([]byte, 4096) // an ELF file names its loader near the beginning
	n, _ := f.Read(head)      // a short read finds less
	return st.Mode, head[:n]
}

// source returns the host directory or file behind a path of the jail, and the remaining path below it.
func (c *failure) source(p string) (root, rest string) {
	rest = p
	switch first, _, _ := strings.Cut(p[1:], "/"); {
	case c.Spec.Rootfs.Path != "":
		root = c.Spec.Rootfs.Path
	case slices.Contains([]string{"usr", "bin", "sbin"}, first) || strings.HasPrefix(first, "lib"):
		root = "/"
	}
	best := -1
	for _, m := range c.Spec.Mounts {
		below, ok := strings.CutPrefix(p, strings.TrimSuffix(m.Target, "/"))
		if !ok || below != "" && below[0] != '/' || len(m.Target) < best {
			continue
		}
		best, root, rest = len(m.Target), "", below
		if m.Type == spec.MountBind || m.Type == spec.MountFile {
			root = m.Source
		}
	}
	return root, rest
}
