package lang

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"brig/internal/sys"
	"brig/nsjail"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// shown are the paths of the host that a default jail shows.
var shown = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives"}

// maxLinks is the number of symbolic links that one lookup follows, as in path_resolution(7).
const maxLinks = 40

// program is an executable file: the path at which it was found, and the resolved path. shown is what the jail must
// show for it, or nil.
type program struct {
	path, real string
	shown      *nsjail.Mount
}

// lookup returns all programs for a row, the preferred one first. The others are used if it does not work.
func (l *Languages) lookup(r *row) (list []program) {
	seen := map[string]bool{}
	for _, name := range r.programs {
		for _, dir := range append(strings.Split(l.path(), ":"), r.dirs...) {
			if !path.IsAbs(dir) {
				continue // nsjail skips it, too
			}
			p := program{path: path.Join(dir, name)}
			if l.resolve(&p) && !seen[p.real] {
				seen[p.real] = true
				list = append(list, p)
			}
		}
	}
	return list
}

// path returns the PATH of the jails.
func (l *Languages) path() string {
	dirs := spec.DefaultPath
	for _, e := range l.base.Env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			dirs = value
		}
	}
	return dirs
}

// resolve reports whether a jail could execute a path.
func (l *Languages) resolve(p *program) bool {
	if l.root == nil {
		return p.onHost()
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(int(l.root.Fd()), strings.TrimPrefix(p.path, "/"), &how)
	if err != nil {
		return false // openat2(2): missing or inaccessible
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return false
	}
	p.real = fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	return st.Mode&unix.S_IFMT == unix.S_IFREG && st.Mode&0o111 != 0
}

// onHost resolves a path of the host. It uses only symbolic links that a default jail shows: one through /opt does not
// resolve in the jail.
func (p *program) onHost() bool {
	at, rest := "/", p.path
	for links := 0; rest != ""; {
		name, after, _ := strings.Cut(strings.TrimLeft(rest, "/"), "/")
		rest = after
		if name == "" || name == "." {
			continue
		}
		next := path.Join(at, name)
		var st unix.Stat_t
		if !visible(next) || unix.Lstat(next, &st) != nil {
			return false
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			at = next
		case unix.S_IFLNK:
			text, err := os.Readlink(next)
			if links++; err != nil || links > maxLinks {
				return false
			}
			if path.IsAbs(text) {
				at = "/"
			}
			rest = text + "/" + rest
		case unix.S_IFREG:
			p.real = next
			return strings.Trim(rest, "/") == "" && executable(next, st.Mode)
		default:
			return false
		}
	}
	return false
}

// visible reports whether a jail shows a path, or has it as a parent directory of a shown path.
func visible(p string) bool {
	return slices.ContainsFunc(shown, func(dir string) bool { return sys.Under(p, dir) || sys.Under(dir, p) })
}

// executable reports whether the payload may execute a file. The payload has the caller's permissions; for root, those
// of a user who owns no file.
func executable(file string, mode uint32) bool {
	if os.Geteuid() == 0 {
		return mode&0o001 != 0
	}
	return unix.Faccessat(unix.AT_FDCWD, file, unix.X_OK, unix.AT_EACCESS) == nil
}
