package nsjail

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// mountMistake tells what is wrong with one of the caller's mounts, in the words of the Spec, and reports whether it
// can: a directory over a file, a file over a directory, or a place where nothing can be made.
func mountMistake(s *spec.Spec, h *host.Host, e *spec.Error) bool {
	n, _, _ := strings.Cut(strings.TrimPrefix(e.Op, "mounts["), "]")
	i, err := strconv.Atoi(n)
	if err != nil || i >= len(s.Mounts) {
		return false
	}
	m := &s.Mounts[i]
	switch {
	case e.Errno == unix.EINVAL && strings.HasPrefix(e.Detail.String(), "move_mount("),
		e.Errno == unix.ENOTDIR && m.Type == spec.MountDir && strings.HasPrefix(e.Detail.String(), "openat2("):
		kind, other := "a directory", "a file"
		if !h.ShowsDir(s, i) {
			kind, other = "a file", "a directory"
		}
		shows := "the mount is " + kind
		if m.Source != "" {
			shows = words.Quote(m.Source) + " is " + kind
		}
		e.Remedy = words.Plain(shows + ", and " + words.Quote(m.Target) + " in the jail is " + other +
			": show a directory over a " +
			"directory, and a file over a file, or choose another target")
	case e.Errno == unix.EROFS:
		e.Remedy = words.Plain(readOnlyPlace(s, h, i))
	default:
		return false
	}
	e.Fault = spec.FaultCaller
	return true
}

// workdirMistake tells why the payload cannot start in what a mount shows there, and reports whether one does.
func workdirMistake(s *spec.Spec, e *spec.Error) bool {
	dir := cmp.Or(s.Workdir, spec.DefaultWorkdir)
	i := slices.IndexFunc(s.Mounts, func(m spec.Mount) bool { return m.Target == dir && m.Source != "" })
	if e.Op != "workdir" || i < 0 {
		return false
	}
	m := &s.Mounts[i]
	shown := words.Quote(m.Source) + ", which is shown at " + words.Quote(dir) + ", "
	switch e.Errno {
	case unix.EACCES:
		e.Remedy = words.Plain(shown + "may not be entered by the payload: let its user (chmod u+x), or others " +
			"(chmod o+x), enter it; or show another directory")
	case unix.ENOTDIR:
		e.Remedy = words.Plain(shown+"is no directory: show one, or name another with ") + words.Field("workdir")
	default:
		return false
	}
	e.Op, e.Fault = spec.Index("mounts", i)+".source", spec.FaultCaller
	return true
}

// readOnlyPlace returns the remedy for a target that is missing in a directory over which brig has no layer of its own.
func readOnlyPlace(s *spec.Spec, h *host.Host, i int) string {
	m, at := &s.Mounts[i], ""
	what := words.Quote(m.Target) + " is missing in a read-only directory of the jail; "
	switch j := host.CoveredBy(s, i); {
	case m.Type == spec.MountSymlink:
		return what + "no link can be made there: choose another path"
	case j >= 0 && s.Mounts[j].Type == spec.MountBind:
		at = path.Join(s.Mounts[j].Source, strings.TrimPrefix(m.Target, s.Mounts[j].Target))
	case s.Rootfs.Image == "":
		at = path.Join(cmp.Or(s.Rootfs.Path, "/"), m.Target)
	default:
		return what + "choose another target"
	}
	make := "mkdir -p " + words.Shell(at)
	if !h.ShowsDir(s, i) {
		make = "mkdir -p " + words.Shell(path.Dir(at)) + "; touch " + words.Shell(at)
	}
	return what + "make it on the host: " + make + " (as its owner), or choose another target"
}
