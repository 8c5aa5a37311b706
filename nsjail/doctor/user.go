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
func blockers(m *Machine, t *Trials) (list []blocker) {
	if t.Default.Works() || !t.userFailed() {
		return nil
	}
	add := func(shown bool, why, fix spec.Text) {
		if shown {
			list = append(list, blocker{why, fix})
		}
	}
	e := t.Default.failure()
	kind, _ := m.outer()
	add(kind == "gVisor", "gVisor is not Linux: it has no mount_setattr(2)", outerFix(kind))
	add(kind == "WSL 1", "WSL 1 has no namespaces", "wsl --set-version DISTRIBUTION 2")
	add(m.has("/proc/self/status") && !m.has("/proc/self/uid_map"), "the kernel is built without CONFIG_USER_NS",
		"boot a kernel with user namespaces")
	none := m.sysctl("user.max_user_namespaces") == "0"
	add(none, "user.max_user_namespaces is 0", "sysctl -w user.max_user_namespaces=15000")
	add(m.sysctl(debianSwitch) == "0", debianSwitch+" is 0", "sysctl -w "+debianSwitch+"=1")
	add(profile(m, t) != "", host.AppArmorSwitch+" is 1, and no AppArmor profile allows brig user namespaces",
		"install the profile below as /etc/apparmor.d/usr.bin.brig and run: apparmor_parser -r /etc/apparmor.d/usr.bin.brig")
	add(m.chrooted(), "this is a chroot, in which the kernel forbids user namespaces", enterByPivot)
	// the kernel treats a mount over "/" that is not this process's root as a chroot
	add(len(rootMounts(m.Files["/proc/self/mountinfo"])) >= 2 && e.Errno == unix.EPERM, "another mount covers this "+
		"process's root, which to the kernel is a chroot, and it forbids user namespaces there", "umount /")
	add(m.seccompMode() == "2", "an outer seccomp filter is in force (Seccomp: 2 in /proc/self/status)",
		outerFix(kind))
	confined := spec.Text("allow userns, mount and pivot_root in it, or run brig outside of it: aa-status")
	if kind != "" {
		confined = outerFix(kind)
	}
	add(m.confined(), "the AppArmor profile "+words.Plain(words.Quote(m.label()))+" confines this process", confined)
	label := spec.Text("see what it denies: ausearch -m avc -ts recent | audit2why")
	if kind == "docker" || kind == "podman" {
		label = words.Plain(kind) + " run --security-opt label=disable ..."
	}
	add(m.file(selinuxEnforce) == "1", "SELinux is enforcing", label)
	add(e.Errno == unix.EUSERS, "user namespaces are nested 32 deep already", "run brig further out")
	state, why, fix := checkNamespaces(m)
	add(e.Errno == unix.ENOSPC && state != Present && !none, why, fix)
	// user_namespaces(7), EPERM
	add(m.sysctl("kernel.overflowuid") == strconv.Itoa(m.UID), "the caller's uid is not mapped in its user namespace",
		"map it: unshare --map-current-user, or /proc/PID/uid_map")
	// clone(2) names no other reason than these and a chroot
	add(len(list) == 0 && e.Op == "clone3" && e.Errno == unix.EPERM, "this must be a chroot, in which the kernel "+
		"forbids user namespaces: nothing else here does", enterByPivot)
	return list
}

const debianSwitch = "kernel.unprivileged_userns_clone"

// profile returns an AppArmor profile that confines nothing, if a user namespace fails and the restriction of Ubuntu
// 23.10 and later is in force. It is lifted for programs with any profile.
func profile(m *Machine, t *Trials) string {
	if t.Default.Works() || !t.userFailed() || m.sysctl(host.AppArmorSwitch) != "1" || m.label() != "unconfined" {
		return ""
	}
	return appArmorProfile(m.Exe)
}

func appArmorProfile(exe string) string {
	glob := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`,
		"^", `\^`)
	return "abi <abi/4.0>,\ninclude <tunables/global>\n\nprofile brig \"" + glob.Replace(exe) +
		"\" flags=(unconfined) {\n" +
		"  userns,\n  include if exists <local/brig>\n}\n"
}

func checkUser(m *Machine, t *Trials, h *host.Host) (state State, why, fix spec.Text) {
	var whys, fixes []spec.Text
	for _, b := range blockers(m, t) {
		whys = append(whys, b.why)
		if !slices.Contains(fixes, b.fix) {
			fixes = append(fixes, b.fix)
		}
	}
	switch {
	case len(whys) > 0:
		return Missing, words.Join(whys, "; "), words.Join(fixes, "; then ")
	case t.userFailed() && !t.Default.Works():
		return Missing, "user namespaces cannot be made or used, and nothing here shows by whose will: " +
			words.Textf("%v", t.Default.Err), "look into the kernel log: dmesg | tail"
	case h != nil && h.Drop:
		return Present, "user namespaces can be made; root's payloads run as an id that nobody has", ""
	}
	return Present, "user namespaces can be made", ""
}
