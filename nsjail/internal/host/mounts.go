package host

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/spec"
)

// MountLine is a line of mountinfo, as far as the visibility of procfs depends on it: proc_pid_mountinfo(5).
type MountLine struct {
	id, parent, dev, root, Point, Fstype string
	readOnly                             bool
}

// table is a mount table, as /proc/self/mountinfo has it.
type table []byte

// below reports whether something is mounted below a directory.
func (t table) below(dir string) bool {
	return bytes.Contains(t, []byte(" "+strings.TrimSuffix(dir, "/")+"/"))
}

func (m *MountLine) point() string { return sys.MountPath(m.Point) }

// ParseMounts reads the lines of mountinfo that contain a text; it looks at no others, because this is on the path of
// every start, and a mount table can have thousands.
func ParseMounts(mountinfo []byte, text string) (list []MountLine) {
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
		list = append(list, MountLine{string(f[0]), string(f[1]), string(f[2]), string(f[3]), string(f[4]), string(fstype),
			readOnly(f[5]) || readOnly(super)})
	}
	return list
}

func readOnly(options []byte) bool { return slices.Contains(strings.Split(string(options), ","), "ro") }

// NoProc returns why the kernel would refuse a new procfs to a user namespace, or "". It demands one in the caller's
// mount namespace that is complete: mounted from its root, writable, with nothing mounted over a part of it but over
// directories that are always empty: mount_namespaces(7), and mnt_already_visible() in the kernel's fs/namespace.c.
func NoProc(mountinfo []byte) string {
	if !bytes.Contains(mountinfo, []byte(" /proc/")) && bytes.Contains(mountinfo, []byte(" / /proc rw")) {
		return "" // the usual machine: nothing to search
	}
	why := "/proc is not mounted"
	for _, m := range ParseMounts(mountinfo, " - proc ") {
		over := ""
		for _, child := range ParseMounts(mountinfo, " "+m.Point) { // at it or below it
			if over == "" && child.parent == m.id && child.id != m.id && !emptyProcDir(child.Point) {
				over = child.Point
			}
		}
		switch {
		case m.root != "/":
			continue
		case m.readOnly:
			why = words.Quote(m.Point) + " is mounted read-only"
		case over != "":
			why = words.Quote(m.Point) + " is masked: " + words.Quote(over) + " is mounted over it"
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

// NeedProc explains a machine without /proc.
func NeedProc(err error) error {
	var pe *os.PathError
	if !errors.As(err, &pe) || !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(pe.Path, "/proc/") {
		return err
	}
	return spec.HostError("proc", words.Quote(pe.Path)+" does not exist, so /proc is not mounted",
		"run mount -t proc proc /proc")
}
