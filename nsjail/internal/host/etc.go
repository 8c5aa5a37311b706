package host

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/spec"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

// publicEtc is the configuration in the host's /etc that programs in /usr cannot do without, or are less safe without
// (ImageMagick's policy.xml). A jail shows those that exist, as far as every user may read them. Nothing here is an
// account, a key or an identity. A file that programs in /usr link to and can do without (X11/rgb.txt) is not here,
// since each name costs every start a mount; `brig doctor` lists it, and Spec.Etc adds it.
var publicEtc = []string{"alternatives", "ssl/certs", "pki/tls/certs", "pki/ca-trust",
	"fonts", "ImageMagick-6", "ImageMagick-7", "R", "php", "libreoffice", "chromium.d", "maven", "groff", "ld.so.conf.d",
	"ld.so.cache", "ld.so.conf", "services", "protocols", "ssl/openssl.cnf", "mime.types", "manpath.config",
	"matplotlibrc", "os-release"}

// NetEtc are the files that a jail with the host's network takes from the host.
var NetEtc = []string{"etc/hosts", "etc/resolv.conf"}

// lookEtc finds the names of publicEtc that exist on this machine, and those of Spec.Etc, which must exist.
func (h *Root) lookEtc(s *spec.Spec, o overlays) error {
	h.NoEtcOverlay = unasked
	for _, name := range slices.Concat(publicEtc, javaConfigs()) {
		if _, err := h.lookEtcName("etc/"+name, o); err != nil {
			return err
		}
	}
	for i, name := range s.Etc {
		why, err := h.lookEtcName("etc/"+name, o)
		if err == nil && why != "" {
			err = spec.CallerError(spec.Index("etc", i), words.Quote("/etc/"+name)+" "+why,
				"name public configuration that this machine has")
		}
		if err != nil {
			return err
		}
	}
	if s.Net == spec.NetHost {
		for _, name := range NetEtc {
			var st unix.Stat_t
			if unix.Stat("/"+name, &st) == nil && copied(&st) {
				h.Files = append(h.Files, name)
			}
		}
	}
	_, err := h.lookEtcName("etc/localtime", o)
	return err
}

// Leads returns the path that a symbolic link leads to. It does not resolve links on the way.
func Leads(link, text string) string {
	if filepath.IsAbs(text) {
		return filepath.Clean(text)
	}
	return filepath.Join(filepath.Dir(link), text)
}

// copied reports whether a file may be read by every user and is small enough to be copied.
func copied(st *unix.Stat_t) bool {
	return st.Mode&(unix.S_IFMT|0o004) == unix.S_IFREG|0o004 && st.Size <= MaxEtcFile
}

// lookEtcName adds a name in /etc to those that the jail shows. why is the reason if it cannot be shown.
func (h *Root) lookEtcName(name string, o overlays) (why string, err error) {
	var st unix.Stat_t
	switch err := unix.Lstat("/"+name, &st); err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR:
		return "does not exist", nil
	case unix.EACCES:
		return "cannot be reached by this user", nil
	default:
		return "", &os.PathError{Op: "lstat", Path: "/" + name, Err: err}
	}
	d := SystemDir{Name: name}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		if d.Link, err = os.Readlink("/" + name); err != nil {
			return "", err
		}
		if !strings.HasPrefix(Leads("/"+name, d.Link), "/usr/") {
			return "is a link that leads out of /usr", nil
		}
	case unix.S_IFDIR:
		if st.Mode&0o005 != 0o005 {
			return "is not for everybody to read", nil
		}
		if h.NoEtcOverlay == unasked {
			h.NoEtcOverlay = o.no("/etc")
		}
		if h.NoEtcOverlay != "" {
			d.NoOverlay = o.no("/" + name)
		}
	default:
		if !copied(&st) {
			return "is no file of at most 1m that everybody may read", nil
		}
		if !slices.Contains(h.Files, name) {
			h.Files = append(h.Files, name)
		}
		return "", nil
	}
	if !slices.ContainsFunc(h.System, func(s SystemDir) bool { return s.Name == name }) {
		h.System = append(h.System, d)
	}
	return "", nil
}

// javaConfigs returns the directories of /etc without which Debian's Java does not start:
// /usr/lib/jvm/java-17-openjdk-amd64 has links into /etc/java-17-openjdk. They are not looked for in /etc, which is
// large.
func javaConfigs() (names []string) {
	entries, _ := os.ReadDir("/usr/lib/jvm") // without Java there is none, and Java reports a missing configuration itself
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, "java-") && strings.Count(name, "-") > 1 {
			names = append(names, name[:strings.LastIndexByte(name, '-')]) // one that does not exist is passed over
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// MaxEtcFile bounds each copy of a file of /etc.
const MaxEtcFile = 1 << 20

// The most that a prepared tree copies of /etc; a larger directory is bound there, and overlaid by each jail.
const (
	maxEtcEntries = 4096
	maxEtcBytes   = 16 << 20
)

// CopyEtc returns the directories of /etc that a prepared root copies, as entries, by their name in System.
func CopyEtc(h *Host) map[string][]rootfs.Entry {
	all := map[string][]rootfs.Entry{}
	for _, d := range h.System {
		if d.Link != "" {
			continue
		}
		if list, ok := copyEtc(d.Name); ok {
			all[d.Name] = list
		}
	}
	return all
}

// copyEtc lists a directory of /etc to be copied: what everybody may read.
func copyEtc(name string) (list []rootfs.Entry, ok bool) {
	if !strings.HasPrefix(name, "etc/") {
		return nil, false
	}
	left, bytes := maxEtcEntries, int64(maxEtcBytes)
	err := filepath.WalkDir("/"+name, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if left--; left < 0 {
			return unix.E2BIG
		}
		e := rootfs.Entry{Label: "etc", Target: path[1:]}
		switch info, err := d.Info(); {
		case err != nil:
			return err
		case d.IsDir() && info.Mode()&0o005 != 0o005: // only its owner may read it
			return fs.SkipDir
		case d.IsDir():
			e.Kind, e.Mode = rootfs.Dir, 0o755
		case d.Type() == os.ModeSymlink:
			e.Kind = rootfs.Symlink
			if e.Text, err = os.Readlink(path); err != nil {
				return err
			}
		case d.Type().IsRegular() && info.Mode()&0o004 != 0 && info.Size() <= MaxEtcFile:
			e.Kind, e.Source, e.Size, e.Mode = rootfs.Copy, rootfs.Source{Path: path}, MaxEtcFile, 0o444
			if bytes -= info.Size(); bytes < 0 {
				return unix.E2BIG
			}
		default:
			return nil
		}
		list = append(list, e)
		return nil
	})
	return list, err == nil
}

// complete reports whether a tree has every mount point that a jail of the Spec needs in it.
func (h *Root) complete(tree *Source, s *spec.Spec) bool {
	points := append([]string{"dev/", "proc/", "tmp/", spec.DefaultWorkdir + "/"}, h.ImageLacks...)
	for _, m := range s.Mounts {
		if m.Type == spec.MountDir || m.Type == spec.MountSymlink {
			return false
		}
		points = append(points, m.Target)
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	return len(s.Protect) == 0 && (s.Net != spec.NetHost || len(h.ImageLacks) == 0) &&
		!slices.ContainsFunc(points, func(name string) bool {
			fd, err := sys.Openat2(tree.Fd, name, &how)
			if err == nil {
				unix.Close(fd)
			}
			return err != nil
		})
}

// lacking returns the names of NetEtc that a tree's /etc lacks or has as an empty file. Container engines make these
// files, so that few images have them. With the host's network only those that the host has are returned. It returns
// none if the payload does not own the tree's /etc: no file can be added there.
func (h *Host) lacking(tree *Source, net spec.Net) (list []string) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	etc, err := sys.Openat2(tree.Fd, "etc", &how)
	if err != nil {
		return nil // it has no /etc
	}
	defer unix.Close(etc)
	owner := h.UID
	if h.Drop && h.Missing["idmap"] == "" { // its owner is mapped to the payload
		owner = tree.UID
	}
	var dir unix.Stat_t
	if unix.Fstat(etc, &dir) != nil || int(dir.Uid) != owner || h.Drop && h.Missing["idmap"] != "" {
		return nil
	}
	for _, name := range NetEtc {
		var st unix.Stat_t
		err := unix.Fstatat(etc, strings.TrimPrefix(name, "etc/"), &st, unix.AT_SYMLINK_NOFOLLOW)
		lacks := err == unix.ENOENT || err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size == 0
		if lacks && (net != spec.NetHost || unix.Access("/"+name, unix.R_OK) == nil) {
			list = append(list, name)
		}
	}
	return list
}
