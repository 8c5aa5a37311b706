package changescmd

import (
	"fmt"
	"strconv"
	"time"

	"brig/changes"
	"brig/internal/words"
)

// Counted describes a change set, as 3 files changed (+41 -7, 12 KiB).
func Counted(c changes.Counts) string {
	text := Concerned(c.Files, c.Dirs) + " changed"
	if c.Files > 0 {
		text += fmt.Sprintf(" (+%d -%d, %s)", c.Added, c.Removed, words.Size(c.Bytes))
	}
	return text
}

// Concerned returns how many files and directories changes concern, as in 3 files and 1 directory.
func Concerned(files, dirs int) string {
	directories := words.Plural(dirs, "directory")
	if dirs > 1 {
		directories = strconv.Itoa(dirs) + " directories"
	}
	switch {
	case dirs == 0:
		return words.Plural(files, "file")
	case files == 0:
		return directories
	}
	return words.Plural(files, "file") + " and " + directories
}

// age returns a duration in one unit, as 5m.
func age(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d >= u.unit {
			return strconv.FormatInt(int64(d/u.unit), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(max(d, 0)/time.Second), 10) + "s"
}
