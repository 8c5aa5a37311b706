package doctor

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/spec"

	"golang.org/x/sys/unix"
)

func asError(err error) *spec.Error {
	var e *spec.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// blocker is a reason why no user namespace can be made or used.
type blocker struct{ why, fix, text string }

// blockers returns every reason that the facts show, the most certain first.
func (f *Facts) blockers() (list []blocker) {
	if f.Default.Works() || !f.userFailed() {
		return nil
	}
	for _, reason := range []func() blocker{f.sandboxKernel, f.noUserNS, f.maxUser, f.debianSwitch, f.ubuntuAppArmor,
		f.inChroot, f.coveredRoot, f.outerSeccomp,
		f.confined, f.selinux, f.nested, f.exhausted, f.unmapped} {
		if b := reason(); b.why != "" {
			list = append(list, b)
		}
	}
	if e := asError(f.Default.Err); len(list) == 0 && e != nil && e.Op == "clone3" && e.Errno == unix.EPERM {
		// clone(2) names no other reason than these and a chroot
		list = append(list, blocker{why: "this must be a chroot, in which the kernel forbids user namespaces: nothing " +
			"else here does", fix: enterByPivot})
	}
	return list
}

// userFailed reports whether the trial failed at an operation that a user namespace should permit. A trial that failed
// at /proc did not get that far; then the other trial, without /proc, decides.
func (f *Facts) userFailed() bool {
	if !f.Default.Tried {
		return true
	}
	e := asError(f.Default.Err)
	if e != nil && e.Op == "proc" && f.Relaxed.Tried {
		e = asError(f.Relaxed.Err)
	}
	if e == nil {
		return false
	}
	switch e.Op {
	case "clone3", "user", "kernel":
		return true
	}
	// an LSM permits the namespace and then denies the operations in it
	return (e.Op == "mount" || e.Op == "rootfs" || e.Op == "uts" || e.Op == "net") &&
		(e.Errno == unix.EPERM || e.Errno == unix.EACCES)
}

func (f *Facts) sandboxKernel() blocker {
	switch kind, _ := f.outer(); kind {
	case "gVisor":
		return blocker{why: "gVisor is not Linux: it has no mount_setattr(2)",
			fix: "run the outer container with runc: docker run --runtime=runc ..."}
	case "WSL 1":
		return blocker{why: "WSL 1 has no namespaces", fix: "wsl --set-version DISTRIBUTION 2"}
	}
	return blocker{}
}

func (f *Facts) noUserNS() blocker {
	if f.has("/proc/self/status") && !f.has("/proc/self/uid_map") {
		return blocker{why: "the kernel is built without CONFIG_USER_NS", fix: "boot a kernel with user namespaces"}
	}
	return blocker{}
}

func (f *Facts) maxUser() blocker {
	if f.sysctl("user.max_user_namespaces") == "0" {
		return blocker{why: "user.max_user_namespaces is 0", fix: "sysctl -w user.max_user_namespaces=15000"}
	}
	return blocker{}
}

func (f *Facts) debianSwitch() blocker {
	if f.sysctl("kernel.unprivileged_userns_clone") == "0" {
		return blocker{why: "kernel.unprivileged_userns_clone is 0", fix: "sysctl -w kernel.unprivileged_userns_clone=1"}
	}
	return blocker{}
}

// ubuntuAppArmor checks the restriction of Ubuntu 23.10 and later. An AppArmor profile lifts it for one program.
func (f *Facts) ubuntuAppArmor() blocker {
	if f.sysctl(host.AppArmorSwitch) != "1" || f.file("/proc/self/attr/current") != "unconfined" {
		return blocker{}
	}
	return blocker{why: host.AppArmorSwitch + " is 1, and no AppArmor profile allows brig user namespaces",
		fix:  "install the profile below as /etc/apparmor.d/brig and run: apparmor_parser -r /etc/apparmor.d/brig",
		text: appArmorProfile(f.Exe)}
}

// appArmorProfile returns a profile that confines nothing. The restriction is lifted for programs with any profile.
func appArmorProfile(exe string) string {
	glob := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`,
		"^", `\^`)
	return "abi <abi/4.0>,\ninclude <tunables/global>\n\nprofile brig \"" + glob.Replace(exe) +
		"\" flags=(unconfined) {\n" +
		"  userns,\n  include if exists <local/brig>\n}\n"
}

func (f *Facts) inChroot() blocker {
	if f.chrooted() {
		return blocker{why: "this is a chroot, in which the kernel forbids user namespaces", fix: enterByPivot}
	}
	return blocker{}
}

// coveredRoot checks for a mount over "/" that is not this process's root. The kernel treats that as a chroot.
func (f *Facts) coveredRoot() blocker {
	e := asError(f.Default.Err)
	if roots := rootMounts(f.Files["/proc/self/mountinfo"]); len(roots) < 2 || e == nil || e.Errno != unix.EPERM {
		return blocker{}
	}
	return blocker{why: "another mount covers this process's root, which to the kernel is a chroot, and it forbids " +
		"user namespaces there", fix: "umount /"}
}

// enterByPivot makes a directory a real root; chroot(2) does not.
const enterByPivot = "enter the tree as a real root instead of by chroot: systemd-nspawn -D DIR, bwrap --bind DIR " +
	"/ ..., or unshare -m and pivot_root(8)"

func (f *Facts) outerSeccomp() blocker {
	if f.status("Seccomp") != "2" {
		return blocker{}
	}
	kind, _ := f.outer()
	return blocker{why: "an outer seccomp filter is in force (Seccomp: 2 in /proc/self/status)", fix: outerFix(kind)}
}

func (f *Facts) confined() blocker {
	label := f.file("/proc/self/attr/current")
	if !strings.HasSuffix(label, " (enforce)") {
		return blocker{}
	}
	kind, _ := f.outer()
	fix := "allow userns, mount and pivot_root in it, or run brig outside of it: aa-status"
	if kind != "" {
		fix = outerFix(kind)
	}
	return blocker{why: "the AppArmor profile " + words.Quote(label) + " confines this process", fix: fix}
}

func (f *Facts) selinux() blocker {
	if f.file("/sys/fs/selinux/enforce") != "1" {
		return blocker{}
	}
	fix := "see what it denies: ausearch -m avc -ts recent | audit2why"
	if kind, _ := f.outer(); kind == "docker" || kind == "podman" {
		fix = kind + " run --security-opt label=disable ..."
	}
	return blocker{why: "SELinux is enforcing", fix: fix}
}

func (f *Facts) nested() blocker {
	if e := asError(f.Default.Err); e != nil && e.Errno == unix.EUSERS {
		return blocker{why: "user namespaces are nested 32 deep already", fix: "run brig further out"}
	}
	return blocker{}
}

func (f *Facts) exhausted() blocker {
	x := f.namespaceLimits()
	if e := asError(f.Default.Err); e == nil || e.Errno != unix.ENOSPC || x.State == Present ||
		f.sysctl("user.max_user_namespaces") == "0" {
		return blocker{}
	}
	return blocker{why: x.Why, fix: x.Fix}
}

// unmapped checks for a caller whose uid is not mapped in its user namespace: user_namespaces(7), EPERM.
func (f *Facts) unmapped() blocker {
	if id := f.file("/proc/sys/kernel/overflowuid"); id == "" || id != strconv.Itoa(f.UID) {
		return blocker{}
	}
	return blocker{why: "the caller's uid is not mapped in its user namespace",
		fix: "map it: unshare --map-current-user, or /proc/PID/uid_map"}
}

func (f *Facts) userNamespaces() Finding {
	x := Finding{Name: "user", State: Present, Why: "user namespaces can be made"}
	if f.Host != nil && f.Host.Drop {
		x.Why += "; root's payloads run as an id that nobody has"
	}
	causes := f.blockers()
	if len(causes) == 0 {
		if f.userFailed() && !f.Default.Works() {
			x.State, x.Why = Missing, "user namespaces cannot be made or used, and nothing here shows by whose will: "+
				fmt.Sprint(f.Default.Err)
			x.Fix = "look into the kernel log: dmesg | tail"
		}
		return x
	}
	var why, fix []string
	for _, b := range causes {
		why = append(why, b.why)
		if fix = append(fix, b.fix); b.text != "" {
			x.Text = b.text
		}
	}
	x.State, x.Why, x.Fix = Missing, strings.Join(why, "; "), strings.Join(unique(fix), "; then ")
	return x
}

func unique(list []string) (out []string) {
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// Blame replaces a general remedy by the reason that this machine's files show. It runs only after a failure, so its
// cost does not matter.
func Blame(e *spec.Error) *spec.Error {
	switch e.Errno {
	case unix.EPERM, unix.EACCES, unix.ENOSYS, unix.ENOSPC:
	default:
		return e
	}
	f := &Facts{Files: map[string]string{}, Env: map[string]string{}, UID: os.Geteuid()}
	f.readMachine()
	f.Default = Trial{Tried: true, Err: e}
	if causes := f.blockers(); len(causes) > 0 {
		e.Fault, e.Remedy = spec.FaultHost, causes[0].why+"; "+causes[0].fix
		if causes[0].text != "" {
			e.Remedy = causes[0].why + "; `brig doctor` prints the profile to install"
		}
	}
	return e
}
