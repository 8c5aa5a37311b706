package doctor

import (
	"slices"
	"strconv"
	"strings"

	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// blocker is a reason why no user namespace can be made or used.
type blocker struct{ why, fix spec.Text }

// blockers returns every reason that the facts show, the most certain first.
func (f *Facts) blockers() (list []blocker) {
	if f.Default.Works() || !f.userFailed() {
		return nil
	}
	add := func(shown bool, why, fix spec.Text) {
		if shown {
			list = append(list, blocker{why, fix})
		}
	}
	e := f.Default.failure()
	kind, _ := f.outer()
	add(kind == "gVisor", "gVisor is not Linux: it has no mount_setattr(2)", outerFix(kind))
	add(kind == "WSL 1", "WSL 1 has no namespaces", "wsl --set-version DISTRIBUTION 2")
	add(f.has("/proc/self/status") && !f.has("/proc/self/uid_map"), "the kernel is built without CONFIG_USER_NS",
		"boot a kernel with user namespaces")
	none := f.sysctl("user.max_user_namespaces") == "0"
	add(none, "user.max_user_namespaces is 0", "sysctl -w user.max_user_namespaces=15000")
	add(f.sysctl(debianSwitch) == "0", debianSwitch+" is 0", "sysctl -w "+debianSwitch+"=1")
	add(f.profile() != "", host.AppArmorSwitch+" is 1, and no AppArmor profile allows brig user namespaces",
		"install the profile below as /etc/apparmor.d/usr.bin.brig and run: apparmor_parser -r /etc/apparmor.d/usr.bin.brig")
	add(f.chrooted(), "this is a chroot, in which the kernel forbids user namespaces", enterByPivot)
	// the kernel treats a mount over "/" that is not this process's root as a chroot
	add(len(rootMounts(f.Files["/proc/self/mountinfo"])) >= 2 && e.Errno == unix.EPERM, "another mount covers this "+
		"process's root, which to the kernel is a chroot, and it forbids user namespaces there", "umount /")
	add(f.seccompMode() == "2", "an outer seccomp filter is in force (Seccomp: 2 in /proc/self/status)",
		outerFix(kind))
	confined := spec.Text("allow userns, mount and pivot_root in it, or run brig outside of it: aa-status")
	if kind != "" {
		confined = outerFix(kind)
	}
	add(f.confined(), "the AppArmor profile "+words.Plain(words.Quote(f.label()))+" confines this process", confined)
	label := spec.Text("see what it denies: ausearch -m avc -ts recent | audit2why")
	if kind == "docker" || kind == "podman" {
		label = words.Plain(kind) + " run --security-opt label=disable ..."
	}
	add(f.file(selinuxEnforce) == "1", "SELinux is enforcing", label)
	add(e.Errno == unix.EUSERS, "user namespaces are nested 32 deep already", "run brig further out")
	state, why, fix := f.namespaceLimits()
	add(e.Errno == unix.ENOSPC && state != Present && !none, why, fix)
	// user_namespaces(7), EPERM
	add(f.sysctl("kernel.overflowuid") == strconv.Itoa(f.UID), "the caller's uid is not mapped in its user namespace",
		"map it: unshare --map-current-user, or /proc/PID/uid_map")
	// clone(2) names no other reason than these and a chroot
	add(len(list) == 0 && e.Op == "clone3" && e.Errno == unix.EPERM, "this must be a chroot, in which the kernel "+
		"forbids user namespaces: nothing else here does", enterByPivot)
	return list
}

const (
	debianSwitch   = "kernel.unprivileged_userns_clone"
	selinuxEnforce = "/sys/fs/selinux/enforce"
	// enterByPivot makes a directory a real root; chroot(2) does not.
	enterByPivot = "enter the tree as a real root instead of by chroot: systemd-nspawn -D DIR, bwrap --bind DIR " +
		"/ ..., or unshare -m and pivot_root(8)"
)

// userFailed reports whether the trial failed at an operation that a user namespace should permit. A trial that failed
// at /proc did not get that far; then the other trial, without /proc, decides.
func (f *Facts) userFailed() bool {
	if !f.Default.Tried {
		return true
	}
	e := f.Default.failure()
	if e.Op == "proc" && f.Relaxed.Tried {
		e = f.Relaxed.failure()
	}
	switch e.Op {
	case "clone3", "user", "kernel":
		return true
	case "mount", "rootfs", "uts", "net": // an LSM permits the namespace and then denies the operations in it
		return e.Errno == unix.EPERM || e.Errno == unix.EACCES
	}
	return false
}

// label returns the label that an LSM has given to this process, such as an AppArmor profile with its mode.
func (f *Facts) label() string { return f.file("/proc/self/attr/current") }

// confined reports whether an AppArmor profile confines this process.
func (f *Facts) confined() bool { return strings.HasSuffix(f.label(), " (enforce)") }

// profile returns an AppArmor profile that confines nothing, if a user namespace fails and the restriction of Ubuntu
// 23.10 and later is in force. It is lifted for programs with any profile.
func (f *Facts) profile() string {
	if f.Default.Works() || !f.userFailed() || f.sysctl(host.AppArmorSwitch) != "1" || f.label() != "unconfined" {
		return ""
	}
	return appArmorProfile(f.Exe)
}

func appArmorProfile(exe string) string {
	glob := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`,
		"^", `\^`)
	return "abi <abi/4.0>,\ninclude <tunables/global>\n\nprofile brig \"" + glob.Replace(exe) +
		"\" flags=(unconfined) {\n" +
		"  userns,\n  include if exists <local/brig>\n}\n"
}

func (f *Facts) userNamespaces() (state State, why, fix spec.Text) {
	var whys, fixes []spec.Text
	for _, b := range f.blockers() {
		whys = append(whys, b.why)
		if !slices.Contains(fixes, b.fix) {
			fixes = append(fixes, b.fix)
		}
	}
	switch {
	case len(whys) > 0:
		return Missing, words.Join(whys, "; "), words.Join(fixes, "; then ")
	case f.userFailed() && !f.Default.Works():
		return Missing, "user namespaces cannot be made or used, and nothing here shows by whose will: " +
			words.Textf("%v", f.Default.Err), "look into the kernel log: dmesg | tail"
	case f.Host != nil && f.Host.Drop:
		return Present, "user namespaces can be made; root's payloads run as an id that nobody has", ""
	}
	return Present, "user namespaces can be made", ""
}

// Blame replaces a general remedy by the reason that this machine's files show. It runs only after a failure, so its
// cost does not matter.
func Blame(e *spec.Error) *spec.Error {
	switch e.Errno {
	case unix.EPERM, unix.EACCES, unix.ENOSYS, unix.ENOSPC:
	default:
		return e
	}
	f := &Facts{Default: Trial{Tried: true, Err: e}}
	f.readMachine()
	if causes := f.blockers(); len(causes) > 0 {
		e.Fault, e.Remedy = spec.FaultHost, causes[0].why+"; "+causes[0].fix
		if strings.HasPrefix(string(causes[0].why), host.AppArmorSwitch) {
			e.Remedy = causes[0].why + "; `brig doctor` prints the profile to install"
		}
	}
	return e
}
