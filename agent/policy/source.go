package policy

import (
	"path"
	"path/filepath"
	"strings"

	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// source returns which of the host's trees shows p, and where in it. bind is the mount's index, -1 for the root.
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
		return -1, -1, "", unix.ENOENT // the minimal root has nothing else of the host's
	}
	fd, err = v.open(-1)
	return -1, fd, relative(p, "/"), err
}

// shown reports whether the minimal root shows the host's p: see lookUsr in package nsjail.
func shown(p string) bool {
	for _, dir := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives"} {
		if under(p, dir) {
			return true
		}
	}
	return false
}

// open holds a source's descriptor.
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

// host is where a mount's source leads, every link followed; of index -1, the root's. It is found once: what is judged
// is what pin writes into the Spec.
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

// under reports whether p is dir or below it, by whole names.
func under(p, dir string) bool {
	return dir == "/" || p == dir || strings.HasPrefix(p, dir) && p[len(dir)] == '/'
}

// relative is p as seen from dir; both are clean.
func relative(p, dir string) string {
	if rel := strings.TrimPrefix(strings.TrimPrefix(p, dir), "/"); rel != "" {
		return rel
	}
	return "."
}

// hostPath is where a path of the host leads: every link followed, and what it is named by now.
func hostPath(source string) (string, error) {
	abs, err := filepath.Abs(source)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// settled is a policy's own path with its links followed, or as it is written if it does not exist.
func settled(dir string) string {
	if where, err := filepath.EvalSymlinks(dir); err == nil {
		return where
	}
	return path.Clean(dir)
}
