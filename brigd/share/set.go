package share

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"brig/brigd/job"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/spec"
)

// Set holds the directories of shares open. Its methods may be called concurrently.
type Set struct {
	list []*held
}

// held is a Share with its directory.
type held struct {
	Share
	root *spec.Held
	real string // Dir without symbolic links
	at   identity
	// waits counts the lookups that were given up and have no answer yet.
	waits atomic.Int32
}

// identity is st_dev and st_ino of stat(2).
type identity struct{ dev, ino uint64 }

// maxPath is the maximum length of a path below a share, in bytes: PATH_MAX of limits.h, less its NUL.
const maxPath = 4095

// Open opens the directories. Symbolic links in their paths are followed, once.
func Open(shares []Share) (*Set, error) {
	s := &Set{}
	for _, share := range shares {
		h, err := open(share)
		if err == nil {
			err = s.add(h)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("share %s: %w", share.Name, err), s.Close())
		}
	}
	return s, nil
}

func open(share Share) (*held, error) {
	dir, err := filepath.EvalSymlinks(share.Dir)
	if err != nil {
		return nil, fmt.Errorf("%w; make the directory, or name another", err)
	}
	h := &held{Share: share, real: dir}
	f, err := sys.Open(unix.AT_FDCWD, dir, dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, func(st *unix.Stat_t) error {
		h.at = identity{uint64(st.Dev), st.Ino}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w; name a directory that this user may search", err)
	}
	h.root = &spec.Held{Name: share.Name, File: f}
	return h, nil
}

// add adds a share, unless its name is taken, or it contradicts another: what one share protects from being written
// could be written through another one, above or below.
func (s *Set) add(h *held) error {
	for _, other := range s.list {
		inner, outer := h, other
		if !sys.Under(inner.real, outer.real) || inner.Mode == "rw" {
			inner, outer = other, h
		}
		var err error
		switch {
		case other.Name == h.Name:
			err = errors.New("there are two of this name; rename one")
		case len(s.list) == Max:
			err = fmt.Errorf("there are more than %d; name a directory above some of them", Max)
		case sys.Under(inner.real, outer.real) && outer.Mode == "rw" && inner.Mode != "rw":
			err = fmt.Errorf("%s (%s) is in the writable %s, through which it could be changed; put it elsewhere, or name "+
				"the writable one alone: a policy, or a request, can have it read-only", inner.Name, inner.Mode, outer.Name)
		default:
			err = cmp.Or(h.bypasses(other), other.bypasses(h))
		}
		if err != nil {
			return errors.Join(err, h.root.File.Close())
		}
	}
	s.list = append(s.list, h)
	return nil
}

// bypasses returns an error if runs may change through h what another share protects. Mode cow is included, since its
// changes can be applied.
func (h *held) bypasses(other *held) error {
	if h.Mode == "ro" {
		return nil
	}
	for _, at := range other.protected() {
		kept := slices.ContainsFunc(h.protected(), func(own string) bool { return sys.Under(at, own) })
		if sys.Under(h.real, at) || sys.Under(at, h.real) && !kept {
			return fmt.Errorf("%s of %s is protected, and could be changed through %s; protect it in both, or make %s read-only",
				words.Quote(at), other.Name, h.Name, h.Name)
		}
	}
	return nil
}

// protected returns the paths of the host that Protect names, and where they lead by symbolic links. Each such link is
// protected, too, so that no run changes it.
func (h *held) protected() (list []string) {
	for _, p := range h.Protect {
		full := filepath.Join(h.real, p)
		list = append(list, full)
		for at := full; ; at = filepath.Dir(at) { // the last names may be absent
			if real, err := filepath.EvalSymlinks(at); err == nil {
				if real += full[len(at):]; real != full {
					list = append(list, real)
				}
				break
			}
		}
	}
	return list
}

// Protected returns the protected paths in a directory of a share, relative to it. It reports whether the directory
// itself is in one.
func (s *Set) Protected(name, path string) (list []string, whole bool) {
	h := s.find(name)
	dir := filepath.Join(h.real, path)
	for _, at := range h.protected() {
		if whole = whole || sys.Under(dir, at); sys.Under(at, dir) && at != dir {
			list = append(list, strings.TrimPrefix(at[len(dir):], "/"))
		}
	}
	return list, whole
}

// Close closes the directories.
func (s *Set) Close() error {
	var errs []error
	for _, h := range s.list {
		errs = append(errs, h.root.File.Close())
	}
	return errors.Join(errs...)
}

// List returns the shares, in the operator's order.
func (s *Set) List() (list []Share) {
	for _, h := range s.list {
		list = append(list, h.Share)
	}
	return list
}

// Find returns a share by its name.
func (s *Set) Find(name string) (Share, bool) {
	if h := s.find(name); h != nil {
		return h.Share, true
	}
	return Share{}, false
}

func (s *Set) find(name string) *held {
	if i := slices.IndexFunc(s.list, func(h *held) bool { return h.Name == name }); i >= 0 {
		return s.list[i]
	}
	return nil
}

// Root returns a share's directory and its path, without symbolic links. The Set keeps it open until Close.
func (s *Set) Root(name string) (root *spec.Held, where string, no *job.Refusal) {
	h := s.find(name)
	if h == nil {
		return nil, "", refuse("share_unknown", "there is no share "+words.Quote(words.Short(name, words.MaxShown)))
	}
	o := h.within(answerTime, func() opened { return opened{h.root, h.real, h.present()} })
	return o.dir, o.where, o.no
}

// Owns reports whether the Set closes a directory.
func (s *Set) Owns(dir *spec.Held) bool {
	return slices.ContainsFunc(s.list, func(h *held) bool { return h.root == dir })
}

// Resolve opens a directory of a share and returns its path on the host, for messages; "" is the share's own. The
// caller closes what the Set does not own.
func (s *Set) Resolve(name, path string) (dir *spec.Held, where string, no *job.Refusal) {
	root, where, no := s.Root(name)
	if no != nil || path == "" {
		return root, where, no
	}
	if !local(path) {
		return nil, "", refuse("bad_path", fmt.Sprintf("path: %.200q is not a path below the share", path),
			`Write it as in "sub/dir", without a leading slash, "." and "..".`)
	}
	o := s.find(name).within(answerTime, func() opened { return below(root, name, path) })
	return o.dir, o.where, o.no
}

// below opens a directory below a share's.
func below(root *spec.Held, name, path string) opened {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := sys.Openat2(int(root.File.Fd()), path, &how)
	if err != nil {
		return opened{no: pathRefusal(name, path, err)}
	}
	// The path of what was opened, should somebody have moved it since: proc_pid_fd(5).
	where, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		unix.Close(fd)
		return opened{no: pathRefusal(name, path, err)}
	}
	return opened{dir: &spec.Held{Name: name, File: os.NewFile(uintptr(fd), where)}, where: where}
}

// present refuses a share whose path leads to another directory than when the Set was made.
func (h *held) present() *job.Refusal {
	var st unix.Stat_t
	if err := unix.Lstat(h.real, &st); err == nil && (identity{uint64(st.Dev), st.Ino}) == h.at {
		return nil
	}
	return refuse("share_replaced", "the directory of the share "+h.Name+" is not the one that it was when brigd started",
		"Have the operator put it back, or restart brigd.")
}

func pathRefusal(name, path string, err error) *job.Refusal {
	why, next := err.Error(), "Name a directory that the share has, or leave path out."
	switch {
	case errors.Is(err, unix.ELOOP):
		why, next = "a symbolic link is in it", "Name the directory that the link leads to, if the share has it."
	case errors.Is(err, unix.ENOTDIR):
		why = "it is not a directory"
	}
	return refuse("bad_path", fmt.Sprintf("path: %.200q of the share %s cannot be mounted: %s", path, name, why), next)
}

func refuse(code, message string, next ...string) *job.Refusal {
	return &job.Refusal{Message: message, Code: code, Layer: "request", Rule: "mounts", NextSteps: next}
}

// Containing returns the name of the innermost share that contains a path of the host without symbolic links, and the
// path below that share; "" for none.
func (s *Set) Containing(path string) (name, rest string) {
	longest := -1
	for _, h := range s.list {
		if sys.Under(path, h.real) && len(h.real) > longest {
			longest = len(h.real)
			name, rest = h.Name, strings.TrimPrefix(strings.TrimPrefix(path, h.real), "/")
		}
	}
	return name, rest
}

// Hide replaces the paths of the shares in a text by their names.
func (s *Set) Hide(text string) string {
	list := slices.Clone(s.list)
	slices.SortFunc(list, func(a, b *held) int { return len(b.real) - len(a.real) })
	for _, h := range list {
		text = words.Hide(text, h.real, "share "+h.Name)
	}
	return text
}
