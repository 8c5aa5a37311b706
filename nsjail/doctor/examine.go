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
	egress "brig/netns/egress/policy"
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
	r := &reader{}
	f := &Facts{Machine: r.machine(), Libseccomp: seccomp.LibraryVersion(), LandlockABI: landlock.ABI()}
	f.Exe = "/usr/local/bin/brig"
	if exe, err := os.Executable(); err == nil {
		f.Exe = exe
	}
	readWithin(r, "control groups", readTime, detectGroups, func(g Groups) { f.Groups = g })
	readWithin(r, "host", readTime, lookDefault, func(h *host.Host) { f.Host = h })
	if f.Host != nil {
		readWithin(r, "links of /usr", linkTime, func() []string { return lookLinks(f.Host) }, func(l []string) { f.Etc = l })
	}
	readWithin(r, "agents", readTime, func() []Agent { return lookAgents(os.Getenv("PATH"), os.Getenv("HOME")) },
		func(l []Agent) { f.Agents = l })
	f.Trials = (&attempts{try, r}).all(ctx, f.Host)
	f.Unread = r.unread
	return f
}

// reader reads in bounded time, and notes what did not answer.
type reader struct{ unread []string }

func detectGroups() Groups {
	l, err := cgroup.Detect("")
	if err != nil {
		return Groups{Err: err}
	}
	if l.Delegated { // only mkdir(2) proves it
		err = l.Try()
	}
	return Groups{*l, err, withoutFile(l)}
}

// withoutFile returns the mechanisms that have a controller in the version 2 tree, but no file in this kernel.
func withoutFile(l *cgroup.Layout) (list []string) {
	there := func(name string) bool { return unix.Access(filepath.Join(l.Dir, name), unix.F_OK) == nil }
	if l.Mode != cgroup.V2 || l.Dir == "" || !there("cgroup.type") { // the tree's root lacks the files of other groups
		return nil
	}
	for row := range spec.LimitTable() {
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

// machine reads what needs no trial, but for the program's own file.
func (r *reader) machine() (m Machine) {
	m.Env, m.UID = map[string]string{}, os.Geteuid()
	var u unix.Utsname
	if unix.Uname(&u) == nil { // it cannot fail
		m.Release, m.Version = unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Version[:])
	}
	if v, ok := os.LookupEnv("KUBERNETES_SERVICE_HOST"); ok {
		m.Env["KUBERNETES_SERVICE_HOST"] = v
	}
	m.Files = r.files()
	readWithin(r, "root of process 1", readTime, differentRoot, func(v bool) { m.Chrooted = v })
	return m
}

// readWithin reads in another goroutine and calls set with the result. After limit it stops to wait and notes the name.
func readWithin[T any](r *reader, name string, limit time.Duration, read func() T, set func(T)) {
	done := make(chan T, 1)
	go func() { done <- read() }()
	select {
	case v := <-done:
		set(v)
	case <-time.After(limit):
		r.unread = append(r.unread, name)
	}
}

func (r *reader) files() map[string]string {
	files := map[string]string{}
	paths := []string{"/proc/self/status", "/proc/self/uid_map", "/proc/self/mountinfo", "/proc/self/cgroup",
		"/proc/self/attr/current",
		"/proc/meminfo", "/proc/net/protocols", "/proc/sys/kernel/seccomp/actions_avail", selinuxEnforce,
		"/run/systemd/container", "/proc/1/environ", "/proc/1/comm"}
	for _, name := range []string{debianSwitch, host.AppArmorSwitch,
		"kernel.yama.ptrace_scope", "kernel.overflowuid", corePattern, "dev.tty.legacy_tiocsti"} {
		paths = append(paths, host.SysctlPath(name))
	}
	for _, k := range namespaceKinds() {
		paths = append(paths, host.SysctlPath("user.max_"+k+"_namespaces"))
	}
	for _, p := range paths {
		readWithin(r, p, readTime, func() []byte {
			if p == "/proc/self/mountinfo" {
				b, _ := sys.Mounts()
				return b
			}
			b, _ := sys.ReadFile(p)
			return b
		}, func(b []byte) {
			if b != nil { // it exists and can be read
				files[p] = string(b)
			}
		})
	}
	// only the variable that names a container matters; the others may be secrets
	files["/proc/1/environ"] = containerOf(files["/proc/1/environ"])
	for _, p := range []string{"/.dockerenv", "/run/.containerenv", "/dev/vsock"} {
		readWithin(r, p, readTime, func() bool { _, err := os.Lstat(p); return err == nil }, func(ok bool) {
			if ok {
				files[p] = ""
			}
		})
	}
	return files
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

// attempts makes jails by try, within the time that reader has for each.
type attempts struct {
	try    func(context.Context, spec.Spec) Trial
	reader *reader
}

// all makes the jails that Trials describes.
func (a *attempts) all(ctx context.Context, h *host.Host) (t Trials) {
	t.Default = a.one(ctx, "default jail", spec.Spec{})
	if !t.Default.Works() {
		t.Relaxed = a.one(ctx, "jail without what can be spared", spec.Spec{Optional: spared()})
		return t
	}
	t.Egress = a.one(ctx, "jail with egress", spec.Spec{Net: spec.NetEgress})
	if t.Egress.Works() {
		all := egress.Rule{CIDR: "192.0.2.1", Ports: []egress.Ports{{From: 1, To: 65535}}}
		t.EveryPort = a.one(ctx, "jail with egress at every port", spec.Spec{Net: spec.NetEgress,
			Egress: &egress.Policy{Allow: []egress.Rule{all}}})
	}
	dir, err := os.Getwd()
	if h == nil || !h.Drop || h.Missing["idmap"] != "" || err != nil {
		return t
	}
	t.Shared = a.one(ctx, "jail with a shared directory", spec.Spec{Optional: []string{"sockets"},
		Mounts: []spec.Mount{{Type: spec.MountBind, Source: dir, Target: spec.DefaultWorkdir, Writable: true}}})
	return t
}

// one makes one jail.
func (a *attempts) one(ctx context.Context, name string, s spec.Spec) (t Trial) {
	s.Args = []string{TrialCommand}
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	t = Trial{Tried: true, Err: spec.HostError("jail", "it did not answer in "+trialTime.String(),
		"look into the kernel log: dmesg | tail")}
	// the context ends the jail; the second bound is for a start that the context cannot end
	readWithin(a.reader, name, trialTime+time.Second, func() Trial { return a.try(ctx, s) }, func(v Trial) { t = v })
	return t
}
