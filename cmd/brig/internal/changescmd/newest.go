package changescmd

import (
	"errors"
	"fmt"
	"strings"

	"brig/changes"
	"brig/cmd/brig/internal/console"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// newest returns the change set that a command without an ID is about: the newest one of the working directory, or of
// the nearest directory above it that has one, and else the only one of the store.
func newest(store *changes.Store, command string) (*changes.Set, error) {
	sets, err := store.List()
	if len(sets) == 0 {
		return nil, errors.Join(err, errors.New("there is no change set; brig run --cow DIR leaves one"))
	}
	up := "."
	for {
		var st, above unix.Stat_t
		if unix.Stat(up, &st) != nil || unix.Stat(up+"/..", &above) != nil {
			break
		}
		for _, s := range sets {
			if s.Dir.Device == st.Dev && s.Dir.Inode == st.Ino {
				return s, nil
			}
		}
		if st.Dev == above.Dev && st.Ino == above.Ino { // the root
			break
		}
		up += "/.."
	}
	if len(sets) == 1 {
		return sets[0], nil
	}
	var list []string
	for _, s := range sets[:min(len(sets), 5)] {
		list = append(list, store.Short(s.ID)+" of "+changes.GitQuote(string(s.Dir.Path)))
	}
	if len(sets) > len(list) {
		list = append(list, fmt.Sprintf("%d more", len(sets)-len(list)))
	}
	return nil, fmt.Errorf("no change set is of this directory; name one of %s, as in brig %s %s",
		words.Printable(strings.Join(list, ", ")), command, store.Short(sets[0].ID))
}

// chosen is newest for a command that changes something, and tells which set it is.
func chosen(store *changes.Store, command string, std *console.Console) (*changes.Set, error) {
	set, err := newest(store, command)
	if err == nil {
		std.Say("%s: %s of %s", command, store.Short(set.ID), changes.GitQuote(string(set.Dir.Path)))
	}
	return set, err
}
