package host

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// lookTable reads the caller's mount table.
func (l *looker) lookTable() (err error) {
	l.table, err = sys.Mounts()
	return err
}

// unmask adds the remedy for a masked /proc, and for a filter that is in force as well, which would refuse the next
// step. status is that of this process: proc_pid_status(5).
func unmask(why spec.Text, status string) spec.Text {
	filter, more := "", ""
	if strings.Contains(status, "\nSeccomp:\t2\n") {
		filter, more = " --security-opt seccomp=unconfined", ", and lift the seccomp filter that is in force, too"
	}
	return why + words.Textf("; unmask it%s (docker run --security-opt systempaths=unconfined%s, podman run "+
		"--security-opt "+
		"unmask=ALL%[2]s; in a brig jail: %s outside, %s inside)", more, filter, words.Set("seccomp", "unconfined"),
		spec.Without("proc"))
}

func (h *looker) lookSystem() error {
	if why := NoProc(h.table); why != "" {
		h.Missing["proc"] = unmask(words.Plain(why), ReadText("/proc/self/status"))
	}
	if unix.Access("/sys/module/overlay", unix.F_OK) != nil { // built in without parameters, or missing
		filesystems, err := sys.ReadFile("/proc/filesystems")
		if err != nil {
			return err
		}
		if !bytes.Contains(filesystems, []byte("\toverlay\n")) {
			h.Missing["overlay"] = "the kernel has no overlay file system; run `modprobe overlay` as root"
		}
	}
	hidden, readOnly := Masks()
	for _, f := range append(hidden, readOnly...) {
		var st unix.Stat_t
		if err := unix.Lstat("/proc/"+f, &st); err != nil {
			continue
		}
		h.ProcFiles = append(h.ProcFiles, ProcFile{f, st.Mode&unix.S_IFMT == unix.S_IFDIR})
		if f == "sys" && h.UID != 0 && int(st.Uid) == h.UID { // it is the host's root's, or of nobody who is mapped here
			if err := notRoot(h.UID); err != nil {
				return err
			}
		}
	}
	if h.spec.Rootfs.Path != "" {
		return nil
	}
	return h.lookUsr(h.spec, overlays{h.Missing["overlay"].String(), h.table})
}

// unasked is the reason for no overlay of a directory before anything of it is shown.
const unasked = "nothing of it is shown"

// lookUsr reads what the minimal root takes from the host.
func (h *Root) lookUsr(s *spec.Spec, o overlays) error {
	for _, name := range []string{"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"} {
		var st unix.Stat_t
		err := unix.Lstat("/"+name, &st)
		if err == unix.ENOENT {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "lstat", Path: "/" + name, Err: err}
		}
		d := SystemDir{Name: name}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFLNK:
			if d.Link, err = os.Readlink("/" + name); err != nil {
				return err
			}
		case unix.S_IFDIR:
			d.NoOverlay = o.no("/" + name)
		default:
			continue
		}
		h.System = append(h.System, d)
	}
	h.CPUs = ReadText("/sys/devices/system/cpu/online")
	return h.lookEtc(s, o)
}

// overlays tells which directories can be lower layers.
type overlays struct {
	missing string // why the kernel has no overlays, or ""
	table   table
}

// no returns why a directory cannot be a lower layer, or "".
func (o *overlays) no(dir string) string {
	if o.missing != "" {
		return o.missing
	}
	// a mount point below it would be hidden, and the kernel refuses to clone it (EINVAL)
	if o.table.below(dir) {
		return "there are mounts below " + dir
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "statfs: " + err.Error()
	}
	switch {
	case layers(int64(st.Type)):
		return ""
	case st.Type == unix.OVERLAYFS_SUPER_MAGIC:
		return dir + " is on an overlay already, and they stack only twice"
	}
	return fmt.Sprintf("file system type %#x of %s is not known to work as a layer", st.Type, dir)
}

// layers reports whether a file system of this type (statfs(2)) is known to work as a layer of an overlay.
func layers(magic int64) bool {
	switch magic {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.SQUASHFS_MAGIC, unix.EROFS_SUPER_MAGIC_V1, 0x2fc12fc1: // the last is ZFS
		return true
	}
	return false
}

// AppArmorSwitch denies capabilities in user namespaces to programs that no AppArmor profile names.
const AppArmorSwitch = "kernel.apparmor_restrict_unprivileged_userns"
