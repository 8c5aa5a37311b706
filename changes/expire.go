package changes

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"brig/internal/sys"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// draftPrefix begins the name of a set that is being written or removed.
const draftPrefix = ".new-"

// draft makes a directory for a new set, and locks it, so that it is known to be in use. The expire of another process
// may remove it before; then it is made again.
func (s *Store) draft() (name string, lock *os.File, err error) {
	for range 100 {
		name = fmt.Sprintf("%s%d-%d", draftPrefix, os.Getpid(), time.Now().UnixNano())
		if err = s.root.Mkdir(name, 0o700); err != nil {
			return "", nil, err
		}
		if lock, err = s.lock(name); !errors.Is(err, errBusy) && !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	return name, lock, err
}

// errBusy means that another process has locked a set.
var errBusy = errors.New("another brig is at work on it; wait until it has ended")

// lock locks a directory of the store: flock(2).
func (s *Store) lock(name string) (*os.File, error) {
	f, err := s.root.OpenFile(name, careful, 0)
	if err != nil {
		return nil, err
	}
	err = sys.Flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		err = errBusy
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Expire removes the sets that exceed the Limits, but for those that are in use or half applied, and what killed
// processes have left. It returns the ids.
func (s *Store) Expire() (removed []string, err error) { return s.expire("", time.Now()) }

// expire is Expire, and keeps the newest set.
func (s *Store) expire(newest string, now time.Time) (removed []string, err error) {
	list, err := s.names()
	errs := []error{err}
	for _, name := range list {
		if strings.HasPrefix(name, draftPrefix) {
			_, err := s.removeUnused(name)
			errs = append(errs, err)
		}
	}
	sets, _ := s.List() // a damaged set stays until it is discarded
	count, bytes := 0, int64(0)
	for _, set := range sets {
		size := set.Layer.Size + set.Table.Size
		count, bytes = count+1, bytes+size
		if set.ID == newest || set.Interrupted ||
			count <= s.Limits.Count && bytes <= s.Limits.Bytes && now.Sub(set.Run.Ended) <= s.Limits.Age {
			continue
		}
		gone, err := s.removeUnused(set.ID)
		if errs = append(errs, err); gone {
			removed = append(removed, set.ID)
			count, bytes = count-1, bytes-size
		}
	}
	return removed, errors.Join(errs...)
}

func (s *Store) removeUnused(name string) (gone bool, err error) {
	err = s.remove(name)
	if errors.Is(err, errBusy) || errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// remove removes a set or a draft unless another process has locked it.
func (s *Store) remove(name string) error {
	if st, err := s.root.Lstat(name); err == nil && !st.IsDir() {
		return s.root.Remove(name) // nothing of brig's
	}
	lock, err := s.lock(name)
	if err != nil {
		return err
	}
	return errors.Join(s.drop(name), lock.Close())
}

// drop removes a locked directory. It renames a set first, so that no process sees part of one.
func (s *Store) drop(name string) error {
	if isDigest(name) {
		gone := draftPrefix + name
		if err := s.root.Rename(name, gone); err != nil {
			return err
		}
		name = gone
	}
	return s.root.RemoveAll(name)
}

// Discard removes the set from the store. One whose Apply was interrupted is removed only with force: its directory
// stays half changed then.
func (s *Set) Discard(force bool) error {
	if s.Interrupted && !force {
		id := s.store.Short(s.ID)
		return words.Error(words.Textf("the apply of %s was interrupted, and %s is half changed", id,
			GitQuote(string(s.Dir.Path))) + words.Clause("; "+words.Set("apply", id)+" finishes it, "+
			words.Set("apply.undo", id)+" takes it back, "+words.Field("discard.force")+" leaves it so"))
	}
	return s.store.Remove(s.ID)
}

// Remove removes a set, also one that List calls damaged.
func (s *Store) Remove(id string) error {
	if !isDigest(id) {
		return fmt.Errorf("%q is not a whole id", id)
	}
	return s.remove(id)
}
