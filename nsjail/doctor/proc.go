package doctor

import (
	"strings"

	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
)

func checkProc(m *Machine, t *Trials) (state State, why, fix spec.Text) {
	mounts, ok := m.Files["/proc/self/mountinfo"]
	why = "/proc is not mounted"
	if ok {
		why = words.Plain(host.NoProc([]byte(mounts)))
	}
	if why == "" || t.Default.Works() {
		return Present, "a jail can have its own procfs", ""
	}
	kind, _ := m.outer()
	switch {
	case !ok:
		fix = "mount -t proc proc /proc"
	case kind != "":
		fix = outerFix(kind)
	case strings.Contains(why.String(), "read-only"):
		fix = "mount -o remount,rw,bind /proc"
	default:
		fix = "umount what is mounted below /proc, or mount a second one: mount -t proc proc /mnt"
	}
	if t.Relaxed.Works() {
		return Partial, why, fix + "; or do without: brig run " + spec.Without("proc")
	}
	return Missing, why, fix
}

func checkRoot(m *Machine) (state State, why, fix spec.Text) {
	roots := rootMounts(m.Files["/proc/self/mountinfo"])
	switch n := len(roots); {
	case m.chrooted():
		return Missing, "this is a chroot: user namespaces and pivot_root(2) are forbidden in it", enterByPivot
	case n > 0 && roots[n-1].Fstype == "rootfs":
		return Missing, "the root is the kernel's initramfs, which pivot_root(2) cannot replace",
			"copy the tree to a tmpfs and enter it: exec switch_root /newroot /sbin/init"
	}
	return Present, "the root is a mount that pivot_root(2) can replace", ""
}

// enterByPivot makes a directory a real root; chroot(2) does not.
const enterByPivot = "enter the tree as a real root instead of by chroot: systemd-nspawn -D DIR, bwrap --bind DIR " +
	"/ ..., or unshare -m and pivot_root(8)"
