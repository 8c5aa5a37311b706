package changes

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"brig/internal/store"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// draftPrefix begins the name of a set that is being written or removed.
const draftPrefix = ".new-"

func isDraft(name string) bool { return strings.HasPrefix(name, draftPrefix) }

// draft makes a directory for a new set, and locks it, so that it is known to be in use.
func (s *Store) draft() (name string, lock *os.File, err error) {
	return s.dir.Draft(func() string { return fmt.Sprintf("%s%d-%d", draftPrefix, os.Getpid(), time.Now().UnixNano()) })
}

// errBusy means that another process has locked a set.
var errBusy = errors.New("another brig is at work on it; wait until it has ended")

// busy returns errBusy for store.ErrBusy.
func busy(err error) error {
	if errors.Is(err, store.ErrBusy) {
		return errBusy
	}
	return err
}

// lock locks a directory of the store.
func (s *Store) lock(name string) (*os.File, error) {
	f, err := s.dir.Hold(name, unix.O_DIRECTORY, unix.LOCK_EX|unix.LOCK_NB)
	return f, busy(err)
}

// Expire removes the sets that exceed the Limits, but for those that are in use or half applied, and what killed
// processes have left. It returns the ids.
func (s *Store) Expire() (removed []string, err error) { return s.expire("", time.Now()) }

// expire is Expire, and keeps the newest set.
func (s *Store) expire(newest string, now time.Time) (removed []string, err error) {
	drafts, err := s.dir.Names(isDraft)
	errs := []error{err}
	for _, name := range drafts {
		_, err := s.removeUnused(name)
		errs = append(errs, err)
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
	gone := ""
	if isDigest(name) {
		gone = draftPrefix + name
	}
	err := s.dir.Evict(name, gone)
	if errors.Is(err, unix.ENOTDIR) {
		return s.dir.Unlink(name) // nothing of brig's
	}
	return busy(err)
}

// drop removes a set that is locked.
func (s *Store) drop(id string) error { return s.dir.Retire(id, draftPrefix+id) }

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
