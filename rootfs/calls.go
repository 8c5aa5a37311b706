package rootfs

import (
	"encoding/binary"
	"strconv"
	"strings"
	"unsafe"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// writer appends system calls to a program, under the label of a step. It knows nothing of a tree.
type writer struct {
	*program.Program
	label string
}

func octal(m uint32) program.Arg { return program.Named(m, "0"+strconv.FormatUint(uint64(m), 8)) }

func regular() program.Arg { return program.Named(unix.S_IFREG|0o444, "S_IFREG|0444") }

func oPath(extra int) program.Arg {
	s := "O_PATH|O_CLOEXEC"
	if extra&unix.O_DIRECTORY != 0 {
		s += "|O_DIRECTORY"
	}
	return program.Named(unix.O_PATH|unix.O_CLOEXEC|extra, s)
}

func fromEmpty() program.Arg {
	return program.Named(unix.MOVE_MOUNT_F_EMPTY_PATH, "MOVE_MOUNT_F_EMPTY_PATH")
}

func attrString(a uint64) string {
	var s []string
	for _, f := range []struct {
		bit  uint64
		name string
	}{{rdonly, "RDONLY"}, {nosuid, "NOSUID"}, {nodev, "NODEV"}, {noexec, "NOEXEC"}} {
		if a&f.bit != 0 {
			s = append(s, f.name)
		}
	}
	if len(s) == 0 {
		return "0"
	}
	return strings.Join(s, "|")
}

// setattr appends mount_setattr(2), Linux 5.12: it sets attributes of the mount at a path and, with AT_RECURSIVE, of
// all mounts below it.
func (w *writer) setattr(at program.Arg, p string, attr uint64, flags int) {
	buf := make([]byte, int(unsafe.Sizeof(unix.MountAttr{})))
	binary.NativeEndian.PutUint64(buf, attr)
	text := "0"
	switch flags {
	case unix.AT_EMPTY_PATH:
		text = "AT_EMPTY_PATH"
	case unix.AT_EMPTY_PATH | unix.AT_RECURSIVE:
		text = "AT_EMPTY_PATH|AT_RECURSIVE"
	}
	w.Add(w.label, unix.SYS_MOUNT_SETATTR, at, program.Str(p), program.Named(flags, text),
		program.Struct(buf, showAttr), program.Int(len(buf)))
}

// newMount makes a detached mount by fsopen(2), fsconfig(2) and fsmount(2), Linux 5.2. An option without a value is a
// flag.
func (w *writer) newMount(fstype string, attr uint64, options ...[2]string) program.Slot {
	const setFlag, setString, cmdCreate = 0, 1, 6
	fs := w.Open(w.label, unix.SYS_FSOPEN, program.Str(fstype), program.Named(unix.FSOPEN_CLOEXEC, "FSOPEN_CLOEXEC"))
	for _, o := range options {
		if o[1] == "" {
			w.Add(w.label, unix.SYS_FSCONFIG, fs.Arg(), program.Named(setFlag, "FSCONFIG_SET_FLAG"), program.Str(o[0]),
				program.Named(0, "NULL"), program.Int(0))
			continue
		}
		w.Add(w.label, unix.SYS_FSCONFIG, fs.Arg(), program.Named(setString, "FSCONFIG_SET_STRING"), program.Str(o[0]),
			program.Str(o[1]), program.Int(0))
	}
	w.Add(w.label, unix.SYS_FSCONFIG, fs.Arg(), program.Named(cmdCreate, "FSCONFIG_CMD_CREATE"), program.Named(0, "NULL"),
		program.Named(0, "NULL"), program.Int(0))
	m := w.Open(w.label, unix.SYS_FSMOUNT, fs.Arg(), program.Named(unix.FSMOUNT_CLOEXEC, "FSMOUNT_CLOEXEC"),
		program.Named(attr, attrString(attr)))
	w.Program.Close(w.label, fs)
	return m
}

// mountAt mounts a file system at a path below the working directory by mount(2), which takes one operation instead of
// eight. It is used only for a tree built by brig in a mount namespace without the host's mounts, where the path cannot
// change its meaning.
func (w *writer) mountAt(fstype, target string, attr uint64, options ...[2]string) {
	var data []string
	for _, o := range options {
		data = append(data, strings.TrimSuffix(o[0]+"="+o[1], "="))
	}
	flags, names := 0, []string{}
	for _, f := range []struct {
		attr uint64
		flag int
		name string
	}{{rdonly, unix.MS_RDONLY, "MS_RDONLY"}, {nosuid, unix.MS_NOSUID, "MS_NOSUID"},
		{nodev, unix.MS_NODEV, "MS_NODEV"}, {noexec, unix.MS_NOEXEC, "MS_NOEXEC"}} {
		if attr&f.attr != 0 {
			flags, names = flags|f.flag, append(names, f.name)
		}
	}
	w.Add(w.label, unix.SYS_MOUNT, program.Str("none"), program.Str(target), program.Str(fstype),
		program.Named(flags, strings.Join(names, "|")), program.Str(strings.Join(data, ",")))
}

func (w *writer) newTmpfs(size, inodes int64, mode uint32, attr uint64) program.Slot {
	return w.newMount("tmpfs", attr, tmpfsOptions(size, inodes, mode)...)
}

func tmpfsOptions(size, inodes int64, mode uint32) [][2]string {
	return [][2]string{{"size", strconv.FormatInt(size, 10)}, {"nr_inodes", strconv.FormatInt(inodes, 10)},
		{"mode", strconv.FormatUint(uint64(mode), 8)}}
}

func cloneAll() program.Arg {
	return clone(unix.AT_RECURSIVE|unix.AT_EMPTY_PATH, "|AT_RECURSIVE|AT_EMPTY_PATH")
}

// clone returns the flags of open_tree(2) for a detached mount, plus more, whose text is text.
func clone(more int, text string) program.Arg {
	return program.Named(unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|more, "OPEN_TREE_CLONE|OPEN_TREE_CLOEXEC"+text)
}

// tree clones the mounts at a source (open_tree(2), Linux 5.2) and sets their attributes, recursively: the submounts of
// a read-only bind must not stay writable.
func (w *writer) tree(s *Source, attr uint64) program.Slot {
	if s.Passed {
		return s.FD
	}
	flags := cloneAll()
	var t program.Slot
	if s.Ino == 0 {
		t = w.Open(w.label, unix.SYS_OPEN_TREE, program.CWD(), program.Str(s.Path), flags)
	} else {
		fd := w.Open(w.label, unix.SYS_OPENAT, program.CWD(), program.Str(s.Path), oPath(0), program.Int(0))
		w.Add(w.label, program.Same, fd.Arg(), program.Int(s.Dev), program.Int(s.Ino))
		t = w.Open(w.label, unix.SYS_OPEN_TREE, fd.Arg(), program.Str(""), flags)
		w.Program.Close(w.label, fd)
	}
	if attr != 0 {
		w.setattr(t.Arg(), "", attr, unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	}
	return t
}

// showHow formats a struct open_how.
func showHow(b []byte) string {
	s := "O_RDONLY"
	switch f := binary.NativeEndian.Uint64(b); {
	case f&unix.O_PATH != 0 && f&unix.O_NOFOLLOW != 0:
		s = "O_PATH|O_NOFOLLOW"
	case f&unix.O_PATH != 0:
		s = "O_PATH"
	case f&unix.O_EXCL != 0:
		s = "O_CREAT|O_EXCL|O_WRONLY"
	case f&unix.O_CREAT != 0:
		s = "O_CREAT|O_WRONLY"
	}
	s += ", RESOLVE_IN_ROOT|RESOLVE_NO_MAGICLINKS"
	if binary.NativeEndian.Uint64(b[16:])&unix.RESOLVE_NO_SYMLINKS != 0 {
		s += "|RESOLVE_NO_SYMLINKS"
	}
	return s
}

// showAttr formats a struct mount_attr.
func showAttr(b []byte) string {
	return "{attr_set=" + attrString(binary.NativeEndian.Uint64(b)) + "}"
}

// attachTo attaches a detached mount to an open mount point, above existing mounts.
func (w *writer) attachTo(m, point program.Slot) {
	w.Add(w.label, unix.SYS_MOVE_MOUNT, m.Arg(), program.Str(""), point.Arg(), program.Str(""),
		program.Named(unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH,
			"MOVE_MOUNT_F_EMPTY_PATH|MOVE_MOUNT_T_EMPTY_PATH"))
}

// bind appends mount(2) MS_BIND for a path below the working directory, in a tree built by brig. It saves two
// operations over open_tree(2) and move_mount(2) for a mount that needs no attributes.
func (w *writer) bind(from, to string) {
	null := program.Named(0, "NULL")
	w.Add(w.label, unix.SYS_MOUNT, program.Str(from), program.Str(to), null, program.Named(unix.MS_BIND, "MS_BIND"), null)
}

func detach() program.Arg { return program.Named(unix.MNT_DETACH, "MNT_DETACH") }
