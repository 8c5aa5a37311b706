package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/internal/spec"

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

// NetEtc are the files that a jail with the host's network takes from there.
var NetEtc = []string{"etc/hosts", "etc/resolv.conf"}

// lookEtc finds what there is of publicEtc, and what the Spec adds.
func (h *Host) lookEtc(s *spec.Spec) error {
	h.NoEtcOverlay = unasked
	for _, name := range publicEtc {
		if _, err := h.lookEtcName("etc/" + name); err != nil {
			return err
		}
	}
	for _, name := range javaConfigs() {
		if _, err := h.lookEtcName(name); err != nil {
			return err
		}
	}
	for i, name := range s.Etc {
		why, err := h.lookEtcName("etc/" + name)
		if err == nil && why != "" {
			err = &spec.Error{Fault: spec.FaultCaller, Op: spec.Index("etc", i), Detail: words.Quote("/etc/"+name) + " " + why,
				Remedy: "name public configuration that this machine has"}
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
	_, err := h.lookEtcName("etc/localtime")
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
func (h *Host) lookEtcName(name string) (why string, err error) {
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
			h.NoEtcOverlay = h.noOverlay("/etc")
		}
		if h.NoEtcOverlay != "" {
			d.NoOverlay = h.noOverlay("/" + name)
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

// javaConfigs are the directories of /etc without which Debian's Java does not start:
// /usr/lib/jvm/java-17-openjdk-amd64 has links into /etc/java-17-openjdk. They are not looked for in /etc, which is
// large.
func javaConfigs() (names []string) {
	fd, err := unix.Open("/usr/lib/jvm", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // no Java
	}
	defer unix.Close(fd)
	var entries []string
	for buf := make([]byte, 2048); ; {
		n, err := sys.Retry(func() (int, error) { return unix.ReadDirent(fd, buf) })
		if err != nil || n <= 0 {
			break // Java reports the missing configuration itself
		}
		_, _, entries = unix.ParseDirent(buf[:n], -1, entries)
	}
	for _, e := range entries {
		if i := strings.LastIndexByte(e, '-'); strings.HasPrefix(e, "java-") && i >= len("java-") {
			names = append(names, "etc/"+e[:i]) // one that does not exist is passed over
		}
	}
	slices.Sort(names) // the order of a directory is not the plan's
	return slices.Compact(names)
}

// MaxEtcFile bounds each copy of a file of /etc.
const MaxEtcFile = 1 << 20
