package gitview

import (
	"cmp"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"brig/internal/gitdata"
	"brig/internal/owned"
	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// bringer writes what a comparer has found.
type bringer struct {
	*comparer
	upper int
	token string
	step  func(string) // called between the steps, by tests
}

var (
	// errHost means that the host has changed a file meanwhile, or holds git's lock on it.
	errHost = errors.New("the host has changed it")
	// errWay means that something is in the place of a directory.
	errWay = errors.New("something else is in the place of its directory")
)

// bring brings the data from the upper directory to a directory of the host: objects first, then references, then HEAD
// and index, and then what the payload has removed. So whoever is killed in between leaves a valid repository.
func (c *comparer) bring(base, upper *os.File, step func(string)) error {
	return sys.Control(base, func(top int) error {
		return sys.Control(upper, func(up int) (err error) {
			restore, err := owned.Lend(up, 0o700) // the payload may have removed all permissions
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, restore()) }()
			c.top = top
			if err := c.dir(up, top, "", false); err != nil || len(c.puts)+len(c.removed) == 0 {
				return err
			}
			b := &bringer{comparer: c, upper: up, step: step}
			if b.token, err = newToken(); err != nil {
				return err
			}
			return b.all()
		})
	})
}

func newToken() (string, error) {
	random := make([]byte, 8)
	_, err := sys.Retry(func() (int, error) { return unix.Getrandom(random, 0) })
	return hex.EncodeToString(random), err
}

func (b *bringer) reached(point string) {
	if b.step != nil {
		b.step(point)
	}
}

// all performs the changes. What is where the payload has removed something else waits for that.
func (b *bringer) all() error {
	slices.SortStableFunc(b.puts, func(x, y change) int { return cmp.Compare(x.kind, y.kind) })
	slices.SortStableFunc(b.removed, func(x, y change) int { return cmp.Compare(y.kind, x.kind) }) // objects last
	var late []change
	for _, ch := range b.puts {
		err := errWay
		if !isDir(ch.old) {
			err = b.one(&ch, b.put)
		}
		if err == errWay {
			late = append(late, ch)
		} else if err != nil {
			return err
		}
	}
	for _, ch := range b.removed {
		if ch.kind == gitdata.Object && len(b.report.Conflicts) > 0 {
			continue // something that the host has made may need it
		}
		if err := b.one(&ch, b.remove); err != nil && err != errWay {
			return err
		}
	}
	for _, ch := range late {
		ch.old = nil
		if err := b.one(&ch, b.put); err == errWay {
			b.report.stay(b.place(ch.path).Name)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// one performs a change in its directory, which is looked up without symbolic links.
func (b *bringer) one(ch *change, do func(ch *change, dir int, name string) error) error {
	b.reached(ch.path)
	up, name := path.Split(ch.path)
	dir, err := b.enter(path.Clean(up), ch.old == nil)
	if err == nil {
		err = do(ch, dir, name)
		unix.Close(dir)
	}
	if err == errHost {
		b.report.conflict(b.place(ch.path).Name)
		return nil
	}
	if err != nil && err != errWay {
		return &os.PathError{Op: "bring back", Path: b.place(ch.path).Name, Err: err}
	}
	return err
}

// enter opens a directory of the host, and makes it and those above it with the permissions of the one that they are
// in.
func (b *bringer) enter(dir string, mayMake bool) (int, error) {
	fd, err := sys.OpenBeneath(b.top, dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	switch {
	case err == unix.ENOENT && mayMake && dir != ".":
	case err == unix.ENOTDIR, err == unix.ELOOP, err == unix.EXDEV, err == unix.ENOENT:
		return -1, errWay
	default:
		return fd, err
	}
	up, err := b.enter(path.Dir(dir), true)
	if err != nil {
		return -1, err
	}
	defer unix.Close(up)
	var st unix.Stat_t
	if err := unix.Fstat(up, &st); err != nil {
		return -1, err
	}
	name := path.Base(dir)
	if err := unix.Mkdirat(up, name, st.Mode&0o777); err != nil {
		return -1, err
	}
	fd, err = sys.OpenBeneath(up, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err == nil && os.Geteuid() == 0 {
		err = unix.Fchown(fd, int(st.Uid), int(st.Gid))
	}
	if err == nil {
		var now unix.Stat_t
		if err = unix.Fstat(fd, &now); err == nil {
			err = unix.Fchmod(fd, st.Mode&0o777|now.Mode&unix.S_ISGID)
		}
	}
	return fd, err
}

// temp returns the name under which a file is written. git passes over such names, and removes those of objects in the
// end (git-prune(1)), should this process be killed.
func (b *bringer) temp(kind gitdata.Kind) string {
	if kind <= gitdata.Index {
		return "tmp_obj_brig_" + b.token
	}
	return "brig-" + b.token + ".lock"
}

// put writes a file under a temporary name and renames it.
func (b *bringer) put(ch *change, dir int, name string) error {
	temp := b.temp(ch.kind)
	to, err := sys.OpenBeneath(dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(to), temp)
	if err = errors.Join(b.fill(ch, dir, f), f.Close()); err == nil {
		b.reached("written " + ch.path)
		if err = rename(ch, dir, temp, name); err == nil {
			b.report.Files++
		}
	}
	if gone := unix.Unlinkat(dir, temp, 0); gone != nil && gone != unix.ENOENT {
		err = errors.Join(err, gone)
	}
	return err
}

// fill writes the content, the owner and the mode. Root's file belongs to the owner of the directory, or of the file
// that it replaces. No permission is more than the directory's, and none is to execute.
func (b *bringer) fill(ch *change, dir int, to *os.File) error {
	from, done, err := open(b.upper, ch.path)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, done()); err != nil {
		return err
	}
	var like unix.Stat_t
	if err := unix.Fstat(dir, &like); err != nil {
		return err
	}
	mode := ch.mode & like.Mode
	if ch.old != nil {
		like, mode = *ch.old, ch.old.Mode
	}
	if mode &= 0o777; ch.kind != gitdata.Named {
		mode &= 0o666
	} else if ch.old != nil {
		mode = ch.mode
	}
	fd := int(to.Fd())
	if os.Geteuid() == 0 {
		err = unix.Fchown(fd, int(like.Uid), int(like.Gid))
	} else if ch.old != nil {
		_ = unix.Fchown(fd, -1, int(like.Gid)) // a group that the caller is not in is lost, as git loses it
	}
	if err == nil {
		err = unix.Fchmod(fd, mode|0o400)
	}
	if err == nil && durable(ch) {
		err = unix.Fdatasync(fd)
	}
	return err
}

// durable reports whether git itself writes a file to the disk before it renames it: core.fsync in git-config(1).
func durable(ch *change) bool {
	return ch.kind <= gitdata.Index && strings.Contains(ch.path, "/pack/") || ch.kind > gitdata.Index &&
		!strings.Contains(ch.path, "logs/") && path.Base(ch.path) != "index"
}
