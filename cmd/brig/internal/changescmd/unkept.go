package changescmd

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"brig/changes"
	"brig/nsjail"
)

// keptPrefix begins the names of changes that could not be made a change set: nsjail.KeptChange.
const keptPrefix = "kept-"

// keptRow returns a line of `brig changes` for changes that are no set.
func keptRow(k nsjail.KeptChange, now time.Time) string {
	return fmt.Sprintf("%-6s %4s  %-40s %s\n", k.Name, age(now.Sub(k.Since)), "no change set; as overlayfs writes it",
		changes.GitQuote(k.Upper))
}

// discardKept removes the names in a list that are of no set, and returns the others.
func discardKept(list []string) (others []string, err error) {
	for _, name := range list {
		if !strings.HasPrefix(name, keptPrefix) {
			others = append(others, name)
			continue
		}
		rerr := nsjail.RemoveKept(name)
		if errors.Is(rerr, os.ErrNotExist) {
			rerr = fmt.Errorf("there is no %s; brig changes lists them", changes.GitQuote(name))
		}
		err = errors.Join(err, rerr)
	}
	return others, err
}

// keptNames returns the names of all changes that are no set.
func keptNames() (names []string, err error) {
	list, err := nsjail.KeptChanges()
	for _, k := range list {
		names = append(names, k.Name)
	}
	return names, err
}
