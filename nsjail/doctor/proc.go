package doctor

import (
	"strings"

	"brig/nsjail/internal/host"
)

func (f *Facts) proc() Finding {
	x := Finding{Name: "proc", State: Present, Why: "a jail can have its own procfs"}
	mounts, ok := f.Files["/proc/self/mountinfo"]
	why := "/proc is not mounted"
	if ok {
		why = host.NoProc([]byte(mounts))
	}
	if why == "" || f.Default.Works() {
		return x
	}
	kind, _ := f.outer()
	x.State, x.Why, x.Fix = Missing, why, outerFix(kind)
	switch {
	case !ok:
		x.Fix = "mount -t proc proc /proc"
	case strings.Contains(why, "read-only"):
		x.Fix = "mount -o remount,rw,bind /proc"
		if kind != "" {
			x.Fix = outerFix(kind)
		}
	case kind == "":
		x.Fix = "umount what is mounted below /proc, or mount a second one: mount -t proc proc /mnt"
	}
	if f.Relaxed.Works() {
		x.State = Partial
		x.Fix += "; or do without: brig run --optional proc"
	}
	return x
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

func (f *Facts) root() Finding {
	x := Finding{Name: "root", State: Present, Why: "the root is a mount that pivot_root(2) can replace"}
	if f.chrooted() {
		x.State, x.Why, x.Fix = Missing, "this is a chroot: user namespaces and pivot_root(2) are forbidden in it",
			enterByPivot
		return x
	}
	roots := rootMounts(f.Files["/proc/self/mountinfo"])
	if n := len(roots); n > 0 && roots[n-1].Fstype == "rootfs" {
		x.State, x.Why = Missing, "the root is the kernel's initramfs, which pivot_root(2) cannot replace"
		x.Fix = "copy the tree to a tmpfs and enter it: exec switch_root /newroot /sbin/init"
	}
	return x
}
