package doctor

import (
	"strings"

	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
)

func (f *Facts) proc() (state State, why, fix spec.Text) {
	mounts, ok := f.Files["/proc/self/mountinfo"]
	why = "/proc is not mounted"
	if ok {
		why = words.Plain(host.NoProc([]byte(mounts)))
	}
	if why == "" || f.Default.Works() {
		return Present, "a jail can have its own procfs", ""
	}
	kind, _ := f.outer()
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
	if f.Relaxed.Works() {
		return Partial, why, fix + "; or do without: brig run " + spec.Without("proc")
	}
	return Missing, why, fix
}

// chrooted reports whether this process is known to be in a chroot: no mount is at "/", unless the root is a mount
// point.
func (f *Facts) chrooted() bool {
	mounts, ok := f.Files["/proc/self/mountinfo"]
	return f.Chrooted || ok && len(rootMounts(mounts)) == 0
}

// rootMounts returns the mounts at "/", the lowest first.
func rootMounts(mountinfo string) (list []host.MountLine) {
	for _, m := range host.ParseMounts([]byte(mountinfo), " / ") {
		if m.Point == "/" {
			list = append(list, m)
		}
	}
	return list
}

func (f *Facts) root() (state State, why, fix spec.Text) {
	roots := rootMounts(f.Files["/proc/self/mountinfo"])
	switch n := len(roots); {
	case f.chrooted():
		return Missing, "this is a chroot: user namespaces and pivot_root(2) are forbidden in it", enterByPivot
	case n > 0 && roots[n-1].Fstype == "rootfs":
		return Missing, "the root is the kernel's initramfs, which pivot_root(2) cannot replace",
			"copy the tree to a tmpfs and enter it: exec switch_root /newroot /sbin/init"
	}
	return Present, "the root is a mount that pivot_root(2) can replace", ""
}
