package trace

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"brig/internal/sys"
	"brig/learn"

	"golang.org/x/sys/unix"
)

// lookup finds out which files of the host are missing in the jail.
type lookup struct {
	places []learn.Place
	root   int             // of the jail, or -1: then it is guessed
	public map[string]bool // of directories: everybody may pass
}

// Nodes returns the files of a path that are missing in a jail whose command did not start.
func Nodes(places []learn.Place, at string) []learn.Node {
	l := &lookup{places: places, root: -1, public: map[string]bool{}}
	return l.nodes(at, true)
}

// maxLinks is how many symbolic links a path may lead over: path_resolution(7).
const maxLinks = 40

// nodes resolves a path of the jail on the host, and returns its files that the jail lacks. It returns nil if the host
// has no such file either.
func (l *lookup) nodes(at string, exec bool) (list []learn.Node) {
	rest, cur := strings.Split(strings.Trim(at, "/"), "/"), "/"
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			cur = path.Dir(cur)
			continue
		}
		next := path.Join(cur, name)
		host := learn.HostPath(l.places, next)
		st, err := os.Lstat(host) // "" does not exist
		if err != nil && l.leads(next) {
			cur = next
			continue
		}
		if err != nil {
			return nil
		}
		switch n := (learn.Node{At: next, Host: host, Type: fileType(st.Mode())}); {
		case n.Type == learn.Link:
			text, err := os.Readlink(host)
			if links++; err != nil || links > maxLinks {
				return nil
			}
			if n.Public = l.passable(path.Dir(host)); !l.has(next) {
				n.Top = l.top(next)
				list = append(list, n)
			}
			if path.IsAbs(text) {
				cur = "/"
			}
			rest = append(strings.Split(strings.Trim(text, "/"), "/"), rest...)
		case len(rest) > 0 && n.Type != learn.Directory:
			return nil
		case len(rest) > 0:
			cur = next
		default:
			n.Public = l.everybody(host, st)
			if !l.has(next) {
				n.Top = l.top(next)
				list = append(list, n)
			}
			if exec && n.Type == learn.File {
				if interpreter := hashBang(host); path.IsAbs(interpreter) {
					list = append(list, l.nodes(path.Clean(interpreter), false)...)
				}
			}
		}
	}
	return list
}

// leads reports whether a directory of the host is mounted below a path of the jail.
func (l *lookup) leads(at string) bool {
	return slices.ContainsFunc(l.places, func(p learn.Place) bool {
		return p.Host != "" && strings.HasPrefix(p.At, at+"/")
	})
}

// top returns the outermost missing directory above a path of the jail, or the path if none is missing.
func (l *lookup) top(at string) string {
	for dir := path.Dir(at); dir != "/" && !l.has(dir); dir = path.Dir(dir) {
		at = dir
	}
	return at
}

func fileType(m os.FileMode) learn.Type {
	switch {
	case m.IsDir():
		return learn.Directory
	case m&os.ModeSymlink != 0:
		return learn.Link
	case m&os.ModeSocket != 0:
		return learn.SocketFile
	case m.IsRegular():
		return learn.File
	}
	return learn.Device
}

// everybody reports whether every user may reach and read the file.
func (l *lookup) everybody(host string, st os.FileInfo) bool {
	return readable(st.Mode()) && l.passable(path.Dir(host))
}

// readable reports whether a mode lets every user read a file, or read and pass a directory.
func readable(m os.FileMode) bool {
	bits := os.FileMode(0o004)
	if m.IsDir() {
		bits = 0o005
	}
	return m&bits == bits
}

// passable reports whether everybody may pass a directory and those above it.
func (l *lookup) passable(dir string) bool {
	if may, known := l.public[dir]; known || dir == "/" {
		return may || dir == "/"
	}
	st, err := os.Stat(dir)
	may := err == nil && st.Mode()&0o001 != 0 && l.passable(path.Dir(dir))
	l.public[dir] = may
	return may
}

// has reports whether the jail has a path: openat2(2), which does not leave the jail's root.
func (l *lookup) has(at string) bool {
	fd := l.open(at, unix.O_PATH|unix.O_NOFOLLOW)
	if fd < 0 {
		return l.root < 0 && usr(at)
	}
	_ = unix.Close(fd)
	return true
}

func (l *lookup) open(at string, flags uint64) int {
	if l.root < 0 {
		return -1
	}
	fd, err := unix.Openat2(l.root, "."+at, &unix.OpenHow{Flags: flags | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return -1
	}
	return fd
}

// usr reports whether a path is in the part of the host that every jail shows.
func usr(at string) bool {
	return slices.ContainsFunc([]string{"/usr", "/bin", "/sbin", "/lib", "/lib64"},
		func(dir string) bool { return sys.Under(at, dir) })
}

// dir describes a directory of the jail and its counterpart on the host.
func (l *lookup) dir(at string) learn.Dir {
	d := learn.Dir{Path: at}
	if st, err := os.Stat(learn.HostPath(l.places, at)); err == nil {
		d.OnHost = st.IsDir()
	}
	if fd := l.open(at, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK); fd >= 0 {
		f := os.NewFile(uintptr(fd), at)
		defer f.Close()
		_, err := f.Readdirnames(1)
		d.InJail, d.Empty = true, err == io.EOF
	}
	return d
}

// hashBang returns the interpreter of a script: execve(2).
func hashBang(host string) string {
	f, err := os.OpenFile(host, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	var head [256]byte
	n, _ := io.ReadFull(f, head[:]) // a short file is read to its end
	line, _, _ := bytes.Cut(head[:n], []byte{'\n'})
	words := strings.Fields(strings.TrimPrefix(string(line), "#!"))
	if !bytes.HasPrefix(line, []byte("#!")) || len(words) == 0 {
		return ""
	}
	return words[0]
}

// World looks at directories of the host for learn.Advise. It remembers its answers.
type World struct{ secrets map[string]bool }

// Has reports whether there is such a file.
func (*World) Has(host string) bool {
	_, err := os.Lstat(host)
	return err == nil
}

// maxFiles bounds a search for private files. A larger directory is treated as if it had one.
const maxFiles = 100_000

// Secrets reports whether a directory has a private file in it. It does not search installed packages, whose files are
// public.
func (w *World) Secrets(host string, public bool) bool {
	if found, known := w.secrets[host]; known {
		return found
	}
	n, found := 0, false
	_ = filepath.WalkDir(host, func(p string, d fs.DirEntry, err error) error {
		switch n++; {
		case p == host:
			return nil
		case n > maxFiles || learn.SecretName(d.Name()) || public && !everybodys(d):
			found = true
			return fs.SkipAll
		case err != nil && d.IsDir(): // the payload could read no more of it than this user
			return fs.SkipDir
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "site-packages" || d.Name() == "dist-packages"):
			return fs.SkipDir
		}
		return nil
	})
	if w.secrets == nil {
		w.secrets = map[string]bool{}
	}
	w.secrets[host] = found
	return found
}

// everybodys reports whether every user may read a file, or pass a directory, that everybody can reach. It
// returns false for a file that has been removed.
func everybodys(d fs.DirEntry) bool {
	st, err := d.Info()
	return err == nil && readable(st.Mode())
}
