package doctor

import (
	"slices"
	"strings"
	"syscall"

	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// failure is a row of the table of remedies. An empty field matches everything.
type failure struct {
	label  string // of the step; a * at the end stands for any rest
	call   string // what its call begins with
	errnos []syscall.Errno
	fault  spec.Fault
	remedy spec.Text
}

// failures returns the table of remedies. The first row that fits decides; the last row fits every failure.
func failures() []failure {
	type errnos = []syscall.Errno
	const ofHost, ofCaller = spec.FaultHost, spec.FaultCaller
	files := words.Textf("the hard limit on open files is too low: a jail needs %d; raise it with ulimit -Hn",
		host.NeededFiles)
	return append(cloneFailures(), []failure{
		{"user", "", errnos{unix.EPERM, unix.EACCES}, ofHost,
			"an outer sandbox or an LSM forbids user namespaces; `brig doctor` tells which"},
		{"user", "", errnos{unix.EROFS}, ofHost, "/proc is mounted read-only here; run mount -o remount,rw,bind /proc, " +
			"or give the outer container a writable /proc (docker run --security-opt systempaths=unconfined)"},
		{"net", "recvfrom", errnos{unix.EAGAIN}, ofHost, "the kernel has refused a route or a rule of the jail's own " +
			"network namespace; a policy for every port needs nf_tables with NAT (modprobe nft_redir), and one that " +
			"names its ports does not"},
		{"net", "dup3", errnos{unix.EBADF}, ofHost, "the hard limit on open files is too low for the sockets of this " +
			"policy: raise it to 512 with ulimit -Hn, or name fewer ports"},
		{"apparmor", "write", errnos{unix.ENOENT}, ofCaller, "AppArmor has loaded no profile of this name: " +
			"apparmor_parser -r FILE loads one, and aa-status lists them"},
		{"apparmor", "write", errnos{unix.EACCES, unix.EPERM}, ofHost, "the profile that confines brig must permit it: " +
			"change_profile -> &PROFILE,"},
		{"apparmor", "read", errnos{unix.EBADMSG}, ofCaller, "the kernel has the profile in another mode than enforce, or " +
			"by another name; apparmor_parser -r FILE, without flags=(complain), mends that, and aa-status shows it"},
		{"selinux", "write", errnos{unix.EINVAL}, ofCaller, "the policy has no such context; seinfo lists its parts"},
		{"selinux", "write", errnos{unix.EACCES, unix.EPERM}, ofHost, "the policy must permit brig's own type to choose " +
			"a context: process setexec; ausearch -m avc shows the denial"},
		{"selinux", "read", errnos{unix.EBADMSG}, ofCaller, "write the context as the kernel does: chcon and ls -Z show it"},
		{"", "", errnos{unix.EMFILE}, ofHost, files},
		{"", "dup3", errnos{unix.EBADF}, ofHost, files},
		{"pivot", "", errnos{unix.EINVAL}, ofHost, "the root is the kernel's initramfs, which pivot_root(2) cannot " +
			"replace; enter a tmpfs with switch_root(8) first"},
		{"mounts[*", "", errnos{unix.EEXIST}, ofCaller, "the target exists already; choose another"},
		{"rootfs", "", errnos{unix.EROFS}, ofCaller, "the tree has no such mount point, and no layer of brig's is over it; " +
			"make it there"},
		{"mounts[*", "", errnos{unix.ENOTDIR, unix.ELOOP, unix.ENOENT}, ofCaller,
			"a part of the target's path is no directory, or a symbolic link that leads nowhere in the jail or that the " +
				"payload could replace, since it lies in a writable mount; name the path that it leads to"},
		{"protect", "openat2", errnos{unix.ENOENT}, ofCaller, "a protected path is not in the jail: it was removed " +
			"meanwhile, or " + spec.Show(spec.Shown{Type: "cow"}) + " does not show it, since a directory above it " +
			"has the attribute user.overlay.opaque (getfattr -R -m user.overlay DIR lists them); remove the attribute"},
		{"", "", errnos{unix.ESTALE}, ofCaller, "the source was replaced while the jail was being made; share a path " +
			"that nobody else can change"},
		{"proc*", "", errnos{unix.EPERM}, ofHost, "this container's /proc is masked, and the kernel then refuses a new " +
			"one (mount_namespaces(7)); run the outer container with an unmasked /proc, or accept an empty one: " +
			spec.Without("proc")},
		{"workdir", "", nil, ofCaller, noWorkdir()},
		{"session", "keyctl", nil, ofHost, "an outer filter forbids keyctl(2); accept that: " + spec.Without("keyring")},
		{"tty", "", errnos{unix.ENOSPC}, ofHost, "all pseudo-terminals of this machine are in use (kernel.pty.nr): " +
			"raise kernel.pty.max with sysctl, or end what holds them"},
		{"inotify", "", nil, ofHost, "a limit on inotify(7) cannot be set in the jail's own user namespace; an outer " +
			"sandbox forbids it, or the kernel lacks CONFIG_INOTIFY_USER"},
		{"etc", "write", errnos{unix.ENOSPC}, ofCaller, noRoom()},
		{"mounts[*", "write", errnos{unix.ENOSPC}, ofCaller, noRoom()},
		{"mounts[*", "sendfile", errnos{unix.ENOSPC}, ofCaller, noRoom()},
		{"", "", errnos{unix.ENOSPC}, ofHost, "raise user.max_mnt_namespaces and its neighbours (namespaces(7)), or " +
			"fs.mount-max"},
		{"", "", errnos{unix.ENOMEM}, ofHost, "free memory"},
		{"", "openat", errnos{unix.EACCES}, ofCaller, "the jail's user may not reach that path; see namei -l"},
		{"", "", nil, ofHost, "`brig doctor` checks this machine"},
	}...)
}

// cloneFailures returns the rows for clone3(2), and for clone3(2) into a control group of version 2.
func cloneFailures() []failure {
	type errnos = []syscall.Errno
	const seeWho = "; see who else writes below brig's group"
	return []failure{
		{"clone3", "", errnos{unix.EPERM, unix.EACCES}, spec.FaultHost,
			"user namespaces are forbidden here; `brig doctor` tells by what"},
		{"clone3", "", errnos{unix.ENOSPC}, spec.FaultHost,
			"a limit of user.max_*_namespaces is reached (namespaces(7)); raise it with sysctl"},
		{"clone3", "", errnos{unix.EAGAIN}, spec.FaultHost, "the limit on processes is reached (ulimit -u)"},
		{"clone3", "", errnos{unix.EUSERS}, spec.FaultHost, "user namespaces are nested 32 deep already"},
		{"clone3", "", errnos{unix.ENOSYS}, spec.FaultHost,
			"an outer filter hides clone3(2); give the outer container a newer seccomp profile"},
		{"cgroup", "clone3", errnos{unix.EACCES}, spec.FaultHost, "its parent and brig's own group have no common " +
			"ancestor that is yours to write (cgroups(7), delegation containment); start brig inside the group that is " +
			"delegated to you, or drop " + words.Field("cgroup_parent")},
		{"cgroup", "clone3", errnos{unix.EBUSY}, spec.FaultHost,
			"somebody has made it a parent of groups with controllers" + seeWho},
		{"cgroup", "clone3", errnos{unix.ENODEV}, spec.FaultHost, "somebody has removed it" + seeWho},
	}
}

func noWorkdir() spec.Text {
	return words.Field("workdir") + " must be a directory of the jail that the payload may enter"
}

func noRoom() spec.Text {
	return "the jail's own directories are too small for the files that it starts with: raise " + words.Field("scratch") +
		", or the size of a writable root"
}

// OrTier adds to the remedy of a failure that only a jail with namespaces meets that there is one without.
func OrTier(e *spec.Error, h *host.Host) *spec.Error {
	t := &Trials{Default: Trial{Tried: true, Err: e}}
	forbidden := []syscall.Errno{unix.EPERM, unix.EACCES, unix.ENOSPC, unix.EUSERS}
	if t.userFailed() && h.HasTier() && slices.Contains(forbidden, e.Errno) {
		e.Remedy += "; " + host.OrTier()
	}
	return e
}

// Remedy returns whose fault a failed operation is, and the remedy.
func Remedy(label string, call spec.Text, errno syscall.Errno) (spec.Fault, spec.Text) {
	all := failures()
	i := slices.IndexFunc(all, func(c failure) bool {
		start, open := strings.CutSuffix(c.label, "*")
		return (c.label == "" || c.label == label || open && strings.HasPrefix(label, start)) &&
			strings.HasPrefix(string(call), c.call) && (c.errnos == nil || slices.Contains(c.errnos, errno))
	})
	return all[i].fault, all[i].remedy
}
