package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"brig/cgroup"
	"brig/internal/sys"
	"brig/landlock"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
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
	f := &Facts{tryJail: try, Exe: "/usr/local/bin/brig", Libseccomp: seccomp.LibraryVersion(),
		LandlockABI: landlock.ABI()}
	if exe, err := os.Executable(); err == nil {
		f.Exe = exe
	}
	f.readMachine()
	readWithin(f, "control groups", readTime, detectGroups,
		func(g groups) { f.Groups, f.GroupsErr, f.NoFile = g.layout, g.err, g.noFile })
	readWithin(f, "host", readTime, lookDefault, func(h *host.Host) { f.Host = h })
	if f.Host != nil {
		readWithin(f, "links of /usr", linkTime, func() []string { return lookLinks(f.Host) }, func(l []string) { f.Etc = l })
	}
	readWithin(f, "agents", readTime, func() []Agent { return lookAgents(os.Getenv("PATH"), os.Getenv("HOME")) },
		func(l []Agent) { f.Agents = l })
	f.tryJails(ctx)
	return f
}

// groups is what can be known of the control groups.
type groups struct {
	layout cgroup.Layout
	noFile []string
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
	return groups{*l, withoutFile(l), err}
}

// withoutFile returns the mechanisms that have a controller in the version 2 tree, but no file in this kernel.
func withoutFile(l *cgroup.Layout) (list []string) {
	there := func(name string) bool { return unix.Access(filepath.Join(l.Dir, name), unix.F_OK) == nil }
	if l.Mode != cgroup.V2 || l.Dir == "" || !there("cgroup.type") { // the tree's root lacks the files of other groups
		return nil
	}
	for _, row := range spec.LimitTable() {
		if row.Files != "" && !slices.ContainsFunc(strings.Fields(row.Files), there) {
			list = append(list, strings.Fields(row.Mechanism)...)
		}
	}
	return list
}

// lookDefault returns the Host of a default jail, or nil if Look fails; the trial then fails for the same reason.
func lookDefault() *host.Host {
	h, err := host.Look(&spec.Spec{Args: []string{TrialCommand}})
	if err != nil || h.Close() != nil {
		return nil
	}
	return h
}

// readMachine reads the facts that need no trial.
func (f *Facts) readMachine() {
	f.Files, f.Env, f.UID = map[string]string{}, map[string]string{}, os.Geteuid()
	var u unix.Utsname
	if unix.Uname(&u) == nil { // it cannot fail
		f.Release, f.Version = unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Version[:])
	}
	if v, ok := os.LookupEnv("KUBERNETES_SERVICE_HOST"); ok {
		f.Env["KUBERNETES_SERVICE_HOST"] = v
	}
	f.readFiles()
	readWithin(f, "root of process 1", readTime, differentRoot, func(v bool) { f.Chrooted = v })
}

// readWithin reads in another goroutine and calls set with the result. After limit it stops to wait and notes the name.
func readWithin[T any](f *Facts, name string, limit time.Duration, read func() T, set func(T)) {
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
	paths := []string{"/proc/self/status", "/proc/self/uid_map", "/proc/self/mountinfo", "/proc/self/cgroup",
		"/proc/self/attr/current",
		"/proc/meminfo", "/proc/net/protocols", "/proc/sys/kernel/seccomp/actions_avail", "/sys/fs/selinux/enforce",
		"/run/systemd/container", "/proc/1/environ", "/proc/1/comm"}
	for _, name := range []string{"kernel.unprivileged_userns_clone", host.AppArmorSwitch,
		"kernel.yama.ptrace_scope", "kernel.overflowuid", corePattern, "dev.tty.legacy_tiocsti"} {
		paths = append(paths, host.SysctlPath(name))
	}
	for _, k := range namespaceKinds() {
		paths = append(paths, host.SysctlPath("user.max_"+k+"_namespaces"))
	}
	for _, p := range paths {
		readWithin(f, p, readTime, func() []byte {
			if p == "/proc/self/mountinfo" {
				b, _ := sys.Mounts()
				return b
			}
			b, _ := sys.ReadFile(p)
			return b
		}, func(b []byte) {
			if b != nil { // it exists and can be read
				f.Files[p] = string(b)
			}
		})
	}
	// only the variable that names a container matters; the others may be secrets
	f.Files["/proc/1/environ"] = containerOf(f.Files["/proc/1/environ"])
	for _, p := range []string{"/.dockerenv", "/run/.containerenv", "/dev/vsock"} {
		readWithin(f, p, readTime, func() bool { _, err := os.Lstat(p); return err == nil }, func(ok bool) {
			if ok {
				f.Files[p] = ""
			}
		})
	}
}

// containerOf returns the variable of an environ file that names a container, or "".
func containerOf(environ string) string {
	for v := range strings.SplitSeq(environ, "\x00") {
		if strings.HasPrefix(v, "container=") {
			return v
		}
	}
	return ""
}

// differentRoot reports whether this process is in a chroot: it has the mount namespace of process 1, but another root.
// It returns false if the caller may not read these.
func differentRoot() bool {
	ours, err := os.Readlink("/proc/self/ns/mnt")
	theirs, err1 := os.Readlink("/proc/1/ns/mnt")
	root, err2 := os.Stat("/")
	first, err3 := os.Stat("/proc/1/root/.")
	return errors.Join(err, err1, err2, err3) == nil && ours == theirs && !os.SameFile(root, first)
}

// TrialCommand is the payload of a trial. If the root has no such file, the jail was made all the same.
const TrialCommand = "/bin/true"

func (f *Facts) tryJails(ctx context.Context) {
	f.Default = f.try(ctx, "default jail", spec.Spec{})
	if !f.Default.Works() {
		f.Relaxed = f.try(ctx, "jail without what can be spared", spec.Spec{Optional: spared()})
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

// try makes one jail.
func (f *Facts) try(ctx context.Context, name string, s spec.Spec) (t Trial) {
	s.Args = []string{TrialCommand}
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	t = Trial{Tried: true, Err: spec.HostError("jail", "it did not answer in "+trialTime.String(),
		"look into the kernel log: dmesg | tail")}
	// the context ends the jail; the second bound is for a start that the context cannot end
	readWithin(f, name, trialTime+time.Second, func() Trial { return f.tryJail(ctx, s) }, func(v Trial) { t = v })
	return t
}
