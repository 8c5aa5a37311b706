package changescmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"brig/changes"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// OpenStore opens the store of change sets, with the bounds of the environment variable BRIG_CHANGES_KEEP.
func OpenStore() (*changes.Store, error) {
	limits, err := changeLimits(os.Getenv("BRIG_CHANGES_KEEP"))
	if err != nil {
		return nil, fmt.Errorf("BRIG_CHANGES_KEEP: %w; write it as in age=720h,count=100,size=8g", err)
	}
	store, err := changes.Open(os.Getenv("BRIG_CHANGES"))
	if err != nil {
		return nil, fmt.Errorf("cannot use the directory of change sets: %w; name another one in BRIG_CHANGES", err)
	}
	store.Limits = limits
	return store, nil
}

// withStore opens the store for a command.
func withStore(f func(*changes.Store) (int, error)) (code int, err error) {
	store, err := OpenStore()
	if err != nil {
		return 0, err
	}
	defer store.Close()
	return f(store)
}

// ExpireSets removes the sets that exceed the bounds of the store, and returns their directories. It does not make a
// missing store.
func ExpireSets() (removed []string, err error) {
	dir := os.Getenv("BRIG_CHANGES")
	if dir == "" {
		if dir, err = changes.DefaultDir(); err != nil {
			return nil, err
		}
	}
	if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	store, err := OpenStore()
	if err != nil {
		return nil, err
	}
	ids, err := store.Expire()
	for _, id := range ids {
		removed = append(removed, filepath.Join(dir, id))
	}
	return removed, errors.Join(err, store.Close())
}

// ExpireKept removes the ones that are older than change sets may be, and returns what it has removed.
func ExpireKept() (removed []string, err error) {
	limits, err := changeLimits(os.Getenv("BRIG_CHANGES_KEEP"))
	if err != nil {
		return nil, err
	}
	list, err := nsjail.KeptChanges()
	list = slices.DeleteFunc(list, func(k nsjail.KeptChange) bool { return time.Since(k.Since) <= limits.Age })
	for _, k := range list {
		if rerr := nsjail.RemoveKept(k.Name); rerr != nil {
			err = errors.Join(err, rerr)
			continue
		}
		removed = append(removed, strings.TrimSuffix(k.Upper, "/upper"))
	}
	return removed, err
}

func changeLimits(text string) (changes.Limits, error) {
	l := changes.DefaultLimits()
	for option := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(option, "=")
		var err error
		switch name {
		case "":
		case "age":
			l.Age, err = time.ParseDuration(value)
		case "count":
			l.Count, err = strconv.Atoi(value)
		case "size":
			var n nsjail.Bytes
			n, err = spec.ParseBytes(value)
			l.Bytes = int64(n)
		default:
			err = fmt.Errorf("%s is not one of age, count and size", words.Quote(name))
		}
		if err != nil || l.Age < 0 || l.Count < 0 {
			return l, fmt.Errorf("%s is not a bound", words.Quote(option))
		}
	}
	return l, nil
}
