package changes

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"brig/internal/words"
)

const shortID = 4 // hexadecimal digits of an id, at least

// List returns the sets of the store, the newest first. An error about one set, which does not keep others from being
// returned, is a *DamagedError.
func (s *Store) List() (sets []*Set, err error) {
	ids, err := s.IDs()
	errs := []error{err}
	for _, id := range ids {
		set, err := s.load(id)
		if errs = append(errs, err); set != nil {
			sets = append(sets, set)
		}
	}
	slices.SortFunc(sets, func(a, b *Set) int { return b.Run.Ended.Compare(a.Run.Ended) })
	return sets, errors.Join(errs...)
}

// IDs returns the ids of all sets, also of damaged ones.
func (s *Store) IDs() ([]string, error) {
	return s.dir.Names(isDigest)
}

// Find returns the set whose id begins with prefix, which has at least four digits.
func (s *Store) Find(prefix string) (*Set, error) {
	if len(prefix) < shortID || !isHex(prefix) {
		return nil, fmt.Errorf("%s is not the id of a change set, of which at least %d digits are needed; "+
			"brig changes lists them", words.Quote(prefix), shortID)
	}
	ids, err := s.IDs()
	if err != nil {
		return nil, err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, prefix) })
	if len(ids) > 1 {
		for i, id := range ids {
			ids[i] = id[:min(len(prefix)+8, len(id))]
		}
		return nil, fmt.Errorf("%s is the beginning of several ids: %s; write more digits", prefix, words.Or(ids))
	}
	if len(ids) == 1 {
		if set, err := s.load(ids[0]); set != nil || err != nil {
			return set, err
		}
	}
	return nil, fmt.Errorf("there is no change set %s; brig changes lists them", words.Quote(prefix))
}

// Short returns the beginning of an id that is no other set's: four digits or more.
func (s *Store) Short(id string) string {
	ids, err := s.IDs()
	if err != nil {
		return id
	}
	n := shortID
	for _, other := range ids {
		for other != id && n < len(id) && strings.HasPrefix(other, id[:n]) {
			n++
		}
	}
	return id[:n]
}

// load reads a set's header. It returns nil if the set is gone.
func (s *Store) load(id string) (*Set, error) {
	set := &Set{ID: id, store: s}
	text, err := set.small(headerFile)
	if errors.Is(err, os.ErrNotExist) {
		if _, err := s.dir.Stat(id); errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
	}
	if err == nil && digest(text) != id {
		err = errors.New("set.json has another digest")
	}
	if err == nil {
		err = set.Header.parse(text)
	}
	if err != nil {
		return nil, &DamagedError{id, err}
	}
	_, err = s.dir.Stat(id + "/" + journalFile)
	set.Interrupted = err == nil
	return set, nil
}
