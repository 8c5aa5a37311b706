package doctor

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"brig/cgroup"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/spec"
	"brig/seccomp"

	"golang.org/x/sys/unix"
)

// The bounds of Examine: a hung file system or a stuck process must not hang it.
const (
	readTime  = 2 * time.Second
	trialTime = 5 * time.Second
)

// Examine reads a machine for Diagnose, and calls try to make jails on it. It takes seconds at most.
func Examine(ctx context.Context, try func(context.Context, spec.Spec) Trial) *Facts {
	f := &Facts{tryJail: try, Files: map[string]string{}, Env: map[string]string{}, UID: os.Geteuid(), Libseccomp: seccomp.LibraryVersion()}
	f.Exe = "/usr/local/bin/brig"
	if exe, err := os.Executable(); err == nil {
		f.Exe = exe
	}
	f.readMachine()
	if abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION); errno == 0 {
		f.LandlockABI = int(abi)
	}
	within(f, "control groups", readTime, detectGroups,
		func(g groups) { f.Groups, f.GroupsErr = g.layout, g.err })
	within(f, "host", readTime, lookDefault, func(h *host.Host) { f.Host = h })
	if f.Host != nil {
		within(f, "links of /usr", linkTime, func() []string { return lookLinks(f.Host) }, func(l []string) { f.Etc = l })
	}
	f.tryJails(ctx)
	return f
}

type groups struct {
	layout cgroup.Layout
	err    error
}

func detectGroups() groups {
	l, err := cgroup.Detect("")
	if err != nil {
		return groups{err: err}
	}
	if l.Delegated { // only mkdir(2) proves it
		err = l.Try()
	}
	return groups{*l, err}
}

// lookDefault is what Look finds for a default jail, or nil: the trial of one then fails for the same reason.
func lookDefault() *host.Host {
	h, err := host.Look(&spec.Spec{Args: []string{TrialCommand}})
	if err != nil || h.Close() != nil {
		return nil
	}
	return h
}

// readMachine reads what needs no jail.
func (f *Facts) readMachine() {
	var u unix.Utsname
	if unix.Uname(&u) == nil { // it cannot fail
		f.Release, f.Version = unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Version[:])
	}
	if v, ok := os.LookupEnv("KUBERNETES_SERVICE_HOST"); ok {
		f.Env["KUBERNETES_SERVICE_HOST"] = v
	}
	f.readFiles()
	within(f, "root of process 1", readTime, func() bool { return differentRoot() }, func(v bool) { f.Chrooted = v })
}

// within runs a reading in a goroutine of its own and gives up on it after a while; what it hands to set is then lost.
func within[T any](f *Facts, name string, limit time.Duration, read func() T, set func(T)) {
	done := make(chan T, 1)
	go func() { done <- read() }()
	select {
	case v := <-done:
		set(v)
	case <-time.After(limit):
		f.Unread = append(f.Unread, name)
	}
}

func (f *Facts) readFiles() {
	paths := []string{"/proc/self/status", "/proc/self/uid_map", "/proc/self/mountinfo", "/proc/self/cgroup", "/proc/self/attr/current",
		"/proc/meminfo", "/proc/net/protocols", "/proc/sys/kernel/seccomp/actions_avail", "/sys/fs/selinux/enforce",
		"/run/systemd/container", "/proc/1/environ", "/proc/1/comm"}
	for _, name := range []string{"kernel.unprivileged_userns_clone", host.AppArmorSwitch,
		"kernel.yama.ptrace_scope", "kernel.overflowuid", corePattern, "dev.tty.legacy_tiocsti"} {
		paths = append(paths, host.SysctlPath(name))
	}
	for _, k := range namespaceKinds() {
		paths = append(paths, host.SysctlPath("user.max_"+k+"_namespaces"))
	}
	type content struct {
		text string
		ok   bool
	}
	for _, p := range paths {
		within(f, p, readTime, func() content { b, err := os.ReadFile(p); return content{string(b), err == nil} }, func(c content) {
			if c.ok {
				f.Files[p] = c.text
			}
		})
	}
	// only one variable of process 1 matters, and the others are not ours to keep
	if env, ok := f.Files["/proc/1/environ"]; ok {
		f.Files["/proc/1/environ"] = containerOf(env)
	}
	for _, p := range []string{"/.dockerenv", "/run/.containerenv", "/dev/vsock"} {
		within(f, p, readTime, func() bool { _, err := os.Lstat(p); return err == nil }, func(ok bool) {
			if ok {
				f.Files[p] = ""
			}
		})
	}
}

// containerOf is the one variable of an environ file that names a container, or "".
func containerOf(environ string) string {
	for _, v := range strings.Split(environ, "\x00") {
		if strings.HasPrefix(v, "container=") {
			return v
		}
	}
	return ""
}

// differentRoot compares the roots of this process and of process 1, where both see the same mounts and the caller may
// look: then another root is a chroot.
func differentRoot() bool {
	ours, err := os.Readlink("/proc/self/ns/mnt")
	theirs, err1 := os.Readlink("/proc/1/ns/mnt")
	root, err2 := os.Stat("/")
	first, err3 := os.Stat("/proc/1/root/.")
	return errors.Join(err, err1, err2, err3) == nil && ours == theirs && !os.SameFile(root, first)
}

// TrialCommand is what a trial runs. A root without it shows as much: the jail was made, up to the last step.
const TrialCommand = "/bin/true"

func (f *Facts) tryJails(ctx context.Context) {
	f.Default = f.try(ctx, "default jail", spec.Spec{})
	if !f.Default.Works() {
		f.Relaxed = f.try(ctx, "jail with --optional", spec.Spec{Optional: spared()})
		return
	}
	f.tryNetwork(ctx)
	dir, err := os.Getwd()
	if f.Host == nil || !f.Host.Drop || f.Host.Missing["idmap"] != "" || err != nil {
		return
	}
	f.Shared = f.try(ctx, "jail with a shared directory", spec.Spec{Optional: []string{"sockets"},
		Mounts: []spec.Mount{{Type: spec.MountBind, Source: dir, Target: spec.DefaultWorkdir, Writable: true}}})
}

// try makes one jail and forgets it.
func (f *Facts) try(ctx context.Context, name string, s spec.Spec) (t Trial) {
	s.Args = []string{TrialCommand}
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	t = Trial{Tried: true, Err: &spec.Error{Fault: spec.FaultHost, Op: "jail", Detail: "it did not answer in " + trialTime.String(), Remedy: "look into the kernel log: dmesg | tail"}}
	// the context ends the jail; the second bound is for what a context does not reach
	within(f, name, trialTime+time.Second, func() Trial { return f.tryJail(ctx, s) }, func(v Trial) { t = v })
	return t
}
