// Package ordered plans the jails of package steps. Look reads the machine; Resolve is pure and returns a plan.Plan,
// which the keeper performs like any other.
package ordered

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/nsjail/steps"

	"golang.org/x/sys/unix"
)

// Facts are what Resolve needs of the machine and the caller.
type Facts struct {
	UID, GID int
	Parent   bool   // the launcher is the process that the caller has started
	Caps     uint64 // in effect, for root
	LastCap  int
	Cwd      string // as the caller calls it; "" where it has been removed
	CwdThere bool   // it exists in the jail, as far as the steps tell
	Home     string // likewise HOME, or ""
	Terminal string // the device of stdout, or ""
	Sources  []Source
	Covers   []string // the parts of /proc that are to be read-only
	Files    spec.Rlimit
	// Inherited are the descriptors that the payload inherits, and Highest is the highest of them.
	Inherited []int
	Highest   int
	Kernel    host.Kernel

	targets []string // of the steps, absolute and clean
}

// Source is what a step refers to on the host.
type Source struct {
	Path     string   // without links: one up to "/" would lead into the tmpfs that covers "/" while the jail is made
	Layers   []string // of an overlay: the upper directory, the work directory and the lower ones
	Missing  bool     // for a Try: the step is left out
	Dir      bool
	Root     bool   // it is the caller's root
	Dev, Ino uint64 // of a descriptor's file
	Same     bool   // a symbolic link with the step's text is there already
}

// Look reads the machine for a Jail. It changes nothing. h has the kernel's version. launcher is the pid of the
// launcher, which has the caller's limit on open files.
func Look(j *steps.Jail, h *host.Host, launcher int) (*Facts, error) {
	f := &Facts{UID: os.Getuid(), GID: os.Getgid(), Kernel: h.Kernel, LastCap: h.LastCap,
		Parent: launcher == os.Getppid()}
	f.Cwd, _ = os.Getwd()
	if f.Cwd == "" { // the caller may not search it, or it has been removed: getcwd(2)
		f.Cwd, _ = unix.Getwd()
	}
	var err error
	var data [2]unix.CapUserData
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return nil, os.NewSyscallError("capget", err)
	}
	f.Caps = uint64(data[1].Effective)<<32 | uint64(data[0].Effective)
	var files unix.Rlimit
	if err := unix.Prlimit(launcher, unix.RLIMIT_NOFILE, nil, &files); err != nil {
		return nil, os.NewSyscallError("prlimit", err)
	}
	f.Files = spec.Rlimit{Soft: int64(files.Cur), Hard: int64(files.Max)}
	if f.Inherited, err = inherited(); err != nil {
		return nil, err
	}
	f.Highest = slices.Max(append(f.Inherited, 0))
	for i := range j.Steps {
		f.targets = append(f.targets, path.Clean("/"+j.Steps[i].Target))
		src, err := f.look(j, i)
		if err != nil {
			return nil, err
		}
		f.Sources = append(f.Sources, src)
	}
	f.CwdThere = f.Cwd != "" && f.there(j, f.Cwd)
	for _, e := range j.Env {
		if home, ok := strings.CutPrefix(e, "HOME="); ok && f.there(j, home) {
			f.Home = home
		}
	}
	return f, nil
}

// inherited returns the descriptors without FD_CLOEXEC: fcntl(2). The process has inherited these alone.
func inherited() ([]int, error) {
	list, err := sys.Numbers("/proc/self/fd")
	return slices.DeleteFunc(list, func(n int) bool {
		fl, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0)
		return err != nil || fl&unix.FD_CLOEXEC != 0
	}), err
}

// look examines what step i refers to.
func (f *Facts) look(j *steps.Jail, i int) (src Source, err error) {
	s := &j.Steps[i]
	switch s.Kind {
	case steps.Bind, steps.ROBind, steps.DevBind:
		return f.bindSource(s)
	case steps.Overlay, steps.TmpOverlay, steps.ROOverlay:
		for _, p := range append([]string{s.Source, s.Work}, s.Lower...) {
			var layer Source
			if p != "" {
				if layer, err = f.bindSource(&steps.Step{Source: p, FD: steps.NoFD}); err != nil {
					return src, err
				}
			}
			src.Layers = append(src.Layers, layer.Path)
		}
	case steps.Symlink:
		src.Same, err = f.sameLink(j, i)
	case steps.Dev:
		f.Terminal = terminal()
	case steps.Proc:
		f.Covers = nil
		for _, name := range []string{"sys", "sysrq-trigger", "irq", "bus"} {
			if err := unix.Access("/proc/"+name, unix.W_OK); err == nil || f.UID == 0 && err == unix.EROFS {
				f.Covers = append(f.Covers, name)
			}
		}
	}
	return src, err
}

// abs returns an absolute path. It does not shorten it: ".." behind a symbolic link leads elsewhere.
func (f *Facts) abs(p string) string {
	if path.IsAbs(p) || f.Cwd == "" {
		return p
	}
	return f.Cwd + "/" + p
}

func (f *Facts) bindSource(s *steps.Step) (src Source, err error) {
	src.Path = f.abs(s.Source)
	var st unix.Stat_t
	if s.FD != steps.NoFD {
		src.Path, err = os.Readlink("/proc/self/fd/" + strconv.Itoa(s.FD))
		if err == nil {
			err = unix.Fstat(s.FD, &st)
		}
		src.Dev, src.Ino = st.Dev, st.Ino
	} else if !path.IsAbs(src.Path) {
		err = unix.ENOENT // the caller's directory has been removed, and nothing can be in it
	} else if _, err = sys.Retry(func() (int, error) { return 0, unix.Stat(src.Path, &st) }); err == nil {
		src.Path, err = filepath.EvalSymlinks(src.Path)
	}
	switch {
	case s.Try && errors.Is(err, unix.ENOENT):
		src.Missing = true
		return src, nil
	case err != nil && s.FD != steps.NoFD:
		return src, spec.CallerError(steps.Option+string(s.Kind)+"-fd", strconv.Itoa(s.FD)+": "+err.Error(), "open it")
	case err != nil:
		return src, spec.CallerError("Can't find source path "+words.Printable(s.Source), err.Error(),
			"create it, or use the option that ends in -try")
	}
	src.Dir, src.Root = st.Mode&unix.S_IFMT == unix.S_IFDIR, src.Path == "/"
	return src, nil
}

// terminal returns the device of a terminal that is stdout, as ttyname(3) does, or "".
func terminal() string {
	var at, st unix.Stat_t
	name, err := os.Readlink("/proc/self/fd/1")
	if err != nil || unix.Fstat(1, &st) != nil || unix.Stat(name, &at) != nil || st.Rdev != at.Rdev || at.Ino != st.Ino {
		return ""
	}
	if _, err := unix.IoctlGetTermios(1, unix.TCGETS); err != nil {
		return ""
	}
	return name
}

// onHost returns the path of the host that the steps before the given one show at a path of the jail; "" if it is
// none of the host's. from is the step that covers the path, or -1.
func (f *Facts) onHost(j *steps.Jail, p string, before int) (at string, from int) {
	p = path.Clean("/" + p)
	from = -1
	link := false // an earlier step has made a symbolic link there
	for i := range j.Steps[:before] {
		s := &j.Steps[i]
		target := f.targets[i]
		below, ok := strings.CutPrefix(p, strings.TrimSuffix(target, "/"))
		if !ok || below != "" && below[0] != '/' {
			continue
		}
		if _, err := os.Readlink(strings.TrimSuffix(at, below)); at != "" && err == nil {
			continue // the target is a link of the host's: the mount is where it leads to
		}
		if below == "" && link || s.Kind == steps.Symlink {
			link = link || below == ""
			continue // likewise
		}
		was := from
		switch s.Kind {
		case steps.Bind, steps.ROBind, steps.DevBind:
			if !f.Sources[i].Missing {
				at, from = f.Sources[i].Path+below, i
			}
		case steps.Proc:
			at, from = "/proc"+below, i
		case steps.Overlay, steps.TmpOverlay, steps.ROOverlay, steps.Dev, steps.Tmpfs, steps.Mqueue:
			at, from = "", i
		}
		link = link && from == was
	}
	return at, from
}

// there reports whether a directory exists in the jail.
func (f *Facts) there(j *steps.Jail, dir string) bool {
	at, from := f.onHost(j, dir, len(j.Steps))
	if at != "" {
		if st, err := os.Stat(at); err == nil {
			return st.IsDir()
		}
	}
	dir = path.Clean("/" + dir)
	for i := max(from, 0); i < len(j.Steps); i++ { // a step makes the directories above its target
		s := &j.Steps[i]
		below, ok := strings.CutPrefix(f.targets[i], dir)
		made := below != "" && (below[0] == '/' || dir == "/")
		switch s.Kind {
		case steps.Hostname, steps.Chmod:
			made = false
		case steps.Dir, steps.Tmpfs, steps.Dev, steps.Overlay, steps.TmpOverlay, steps.ROOverlay, steps.Mqueue:
			made = made || below == ""
		}
		if ok && made {
			return true
		}
	}
	return dir == "/"
}

// sameLink reports whether the symbolic link of step i is in the jail already: in a directory of the host, or by an
// earlier step. What else is there is an error.
func (f *Facts) sameLink(j *steps.Jail, i int) (bool, error) {
	s := &j.Steps[i]
	target := f.targets[i]
	at, from := f.onHost(j, target, i)
	text, err := "", error(unix.ENOENT)
	switch {
	case from >= 0 && f.targets[from] == target:
		err = unix.EINVAL // a mount point is no symbolic link
	case at != "":
		text, err = os.Readlink(filepath.Clean(at))
	}
	for k := max(from, 0); k < i; k++ {
		if j.Steps[k].Kind == steps.Symlink && f.targets[k] == target {
			text, err = j.Steps[k].Source, nil
		}
	}
	detail := ""
	switch {
	case err == nil && text == s.Source:
		return true, nil
	case err == nil:
		detail = "existing destination is " + words.Printable(text)
	case errors.Is(err, unix.EINVAL):
		detail = "destination exists and is not a symlink"
	default:
		return false, nil
	}
	for k := range i { // what is mounted by way of a link of the host may cover it: then symlinkat(2) tells
		at, _ := f.onHost(j, f.targets[k], k)
		if _, err := os.Readlink(at); err == nil && j.Steps[k].Kind != steps.Symlink {
			return false, nil
		}
	}
	return false, spec.CallerError("Can't make symlink at "+words.Printable(s.Target), detail,
		"name another place, or remove it")
}
