package policy

import (
	"path"
	"path/filepath"
	"strings"

	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// source returns the tree of the host that contains the jail's path p: bind, the index of the mount or -1 for the root,
// a descriptor, and the path of p relative to that.
func (v *view) source(p string) (bind, fd int, rel string, err error) {
	for i := len(v.targets) - 1; i >= 0; i-- {
		if !under(p, v.targets[i]) {
			continue
		}
		m := v.spec.Mounts[i]
		if m.Type != nsjail.MountBind || m.Writable {
			return i, -1, "", errUnknown
		}
		fd, err := v.open(i)
		return i, fd, relative(p, v.targets[i]), err
	}
	minimal, made := v.spec.Rootfs.Path == "", scratch
	if minimal {
		made = minScratch
	}
	for _, dir := range made {
		if under(p, dir) {
			return -1, -1, "", errUnknown
		}
	}
	if minimal && !shown(p) && p != "/etc" {
		return -1, -1, "", unix.ENOENT // the minimal root contains nothing else of the host
	}
	fd, err = v.open(-1)
	return -1, fd, relative(p, "/"), err
}

// shown reports whether the minimal root contains the host's path p: see lookUsr in package nsjail.
func shown(p string) bool {
	for _, dir := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives"} {
		if under(p, dir) {
			return true
		}
	}
	return false
}

// open opens a mount's source, or the root for -1, and keeps the descriptor.
func (v *view) open(i int) (int, error) {
	if fd, ok := v.fds[i]; ok {
		return fd, nil
	}
	where, err := v.host(i)
	if err != nil {
		return -1, err
	}
	fd, err := unix.Open(where, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	v.fds[i] = fd
	return fd, nil
}

// host returns the host path of a mount's source, or of the root for index -1, with all symbolic links resolved. The
// result is cached, so that judge and pin use the same path.
func (v *view) host(i int) (string, error) {
	if have, ok := v.hosts[i]; ok {
		return have.path, have.err
	}
	source := v.spec.Rootfs.Path
	if i >= 0 {
		source = v.spec.Mounts[i].Source
	}
	where, err := "/", error(nil)
	if source != "" {
		where, err = hostPath(source)
	}
	v.hosts[i] = leads{where, err}
	return where, err
}

// under reports whether p is dir or below it. It compares whole path components.
func under(p, dir string) bool {
	return dir == "/" || p == dir || strings.HasPrefix(p, dir) && p[len(dir)] == '/'
}

// relative returns p relative to dir. Both must be clean.
func relative(p, dir string) string {
	if rel := strings.TrimPrefix(strings.TrimPrefix(p, dir), "/"); rel != "" {
		return rel
	}
	return "."
}

// hostPath returns the absolute path of a file of the host, with all symbolic links resolved.
func hostPath(source string) (string, error) {
	abs, err := filepath.Abs(source)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// settled returns a policy's path with its symbolic links resolved, or unchanged if it does not exist.
func settled(dir string) string {
	if where, err := filepath.EvalSymlinks(dir); err == nil {
		return where
	}
	return path.Clean(dir)
}
