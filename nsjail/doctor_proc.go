package nsjail

import (
	"bytes"
	"errors"
	"os"
	"strings"
)

// mountLine is what the visibility of procfs depends on: proc_pid_mountinfo(5).
type mountLine struct {
	id, parent, root, point, fstype string
	readOnly                        bool
}

// parseMounts reads the lines of mountinfo that contain a text; it looks at no others, because this is on the path of
// every start, and a mount table can have thousands.
func parseMounts(mountinfo []byte, text string) (list []mountLine) {
	for len(mountinfo) > 0 {
		at := bytes.Index(mountinfo, []byte(text))
		if at < 0 {
			return list
		}
		line := mountinfo[bytes.LastIndexByte(mountinfo[:at], '\n')+1:]
		line, mountinfo, _ = bytes.Cut(line, []byte("\n"))
		left, right, ok := bytes.Cut(line, []byte(" - "))
		if !ok {
			continue
		}
		fstype, right, _ := bytes.Cut(right, []byte(" "))
		var f [6][]byte
		for i := range f {
			f[i], left, _ = bytes.Cut(left, []byte(" "))
		}
		_, super, _ := bytes.Cut(right, []byte(" "))
		list = append(list, mountLine{string(f[0]), string(f[1]), string(f[3]), string(f[4]), string(fstype),
			option(f[5], "ro") || option(super, "ro")})
	}
	return list
}

func option(list []byte, name string) bool {
	return contains(strings.Split(string(list), ","), name)
}

// noProc says why the kernel would refuse a new procfs to a user namespace, or "". It demands one in the caller's
// mount namespace that is complete: mounted from its root, writable, with nothing mounted over a part of it but over
// directories that are always empty: mount_namespaces(7), and mnt_already_visible() in the kernel's fs/namespace.c.
func noProc(mountinfo []byte) string {
	if !bytes.Contains(mountinfo, []byte(" /proc/")) && bytes.Contains(mountinfo, []byte(" / /proc rw")) {
		return "" // the usual machine: nothing to search
	}
	why := "/proc is not mounted"
	for _, m := range parseMounts(mountinfo, " - proc ") {
		over := ""
		for _, child := range parseMounts(mountinfo, " "+m.point) { // at it or below it
			if over == "" && child.parent == m.id && child.id != m.id && !emptyProcDir(child.point) {
				over = child.point
			}
		}
		switch {
		case m.root != "/":
			continue
		case m.readOnly:
			why = quote(m.point) + " is mounted read-only"
		case over != "":
			why = quote(m.point) + " is masked: " + quote(over) + " is mounted over it"
		default:
			return ""
		}
	}
	return why + ", and the kernel then refuses a new one (mount_namespaces(7))"
}

// emptyProcDir knows the directories of procfs that exist only to be mounted on.
func emptyProcDir(point string) bool {
	return strings.HasSuffix(point, "/sys/fs/binfmt_misc") || strings.HasSuffix(point, "/fs/nfsd")
}

func (f *Facts) proc() Finding {
	x := Finding{Name: "proc", State: Present, Why: "a jail can have its own procfs"}
	mounts, ok := f.Files["/proc/self/mountinfo"]
	why := "/proc is not mounted"
	if ok {
		why = noProc([]byte(mounts))
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

// needProc explains a machine without /proc.
func needProc(err error) error {
	var pe *os.PathError
	if !errors.As(err, &pe) || !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(pe.Path, "/proc/") {
		return err
	}
	return &Error{Fault: FaultHost, Op: "proc", Detail: quote(pe.Path) + " does not exist, so /proc is not mounted", Remedy: "run mount -t proc proc /proc"}
}

// chrooted says whether this is known to be a chroot: then no mount is at "/", unless the directory is a mount point.
func (f *Facts) chrooted() bool {
	mounts, ok := f.Files["/proc/self/mountinfo"]
	return f.Chrooted || ok && len(rootMounts(mounts)) == 0
}

// rootMounts are the mounts at "/", the lowest first.
func rootMounts(mountinfo string) (list []mountLine) {
	for _, m := range parseMounts([]byte(mountinfo), " / ") {
		if m.point == "/" {
			list = append(list, m)
		}
	}
	return list
}

func (f *Facts) root() Finding {
	x := Finding{Name: "root", State: Present, Why: "the root is a mount that pivot_root(2) can replace"}
	if f.chrooted() {
		x.State, x.Why, x.Fix = Missing, "this is a chroot: user namespaces and pivot_root(2) are forbidden in it", enterByPivot
		return x
	}
	roots := rootMounts(f.Files["/proc/self/mountinfo"])
	if n := len(roots); n > 0 && roots[n-1].fstype == "rootfs" {
		x.State, x.Why = Missing, "the root is the kernel's initramfs, which pivot_root(2) cannot replace"
		x.Fix = "copy the tree to a tmpfs and enter it: exec switch_root /newroot /sbin/init"
	}
	return x
}
