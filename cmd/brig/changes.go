package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"brig/changes"
	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// changeCommands returns the commands about what runs with --cow have left.
func changeCommands() []cli.Command {
	return []cli.Command{
		command[diffOptions](cli.Command{Name: "diff", Args: "[FLAG...] [ID [PATH...]]", About: diffAbout,
			What: "show the changes that a run with --cow has left"}),
		command[applyOptions](cli.Command{Name: "apply", Args: "[FLAG...] [ID [PATH...]]", About: applyAbout,
			What: "make these changes in the directory itself"}),
		command[discardOptions](cli.Command{Name: "discard", Args: "[--force] [ID...|--all]", About: noID,
			What: "remove them without a trace"}),
		command[changesOptions](cli.Command{Name: "changes", Args: "[--json]", About: changesAbout,
			What: "list the changes that wait to be applied or discarded"}),
	}
}

// noID is in the help of the commands about one change set.
const noID = "\nWithout an ID it is the newest change set of the working directory, or of the nearest directory\n" +
	"above that has one, and else the only one.\n"

const changesAbout = "\nThey are in /var/lib/brig/changes of root, or ~/.local/state/brig/changes (XDG_STATE_HOME),\n" +
	"or /var/tmp/brig-UID/changes where no home can be written, or in BRIG_CHANGES. A run with --cow,\n" +
	"and brig gc, remove what is older than 30 days or exceeds 100 change sets or 8 GiB, the oldest\n" +
	"first; BRIG_CHANGES_KEEP=age=720h,count=100,size=8g sets other bounds. Changes on disk that could\n" +
	"not be made a set are listed as kept-N, which brig discard takes, and gc after the same age.\n"

// openChanges opens the store of change sets, with the bounds of the environment variable BRIG_CHANGES_KEEP.
func openChanges() (*changes.Store, error) {
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

// expireChanges removes the sets that exceed the bounds of the store, and returns their directories. It does not make a
// missing store.
func expireChanges() (removed []string, err error) {
	dir := os.Getenv("BRIG_CHANGES")
	if dir == "" {
		if dir, err = changes.DefaultDir(); err != nil {
			return nil, err
		}
	}
	if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	store, err := openChanges()
	if err != nil {
		return nil, err
	}
	ids, err := store.Expire()
	for _, id := range ids {
		removed = append(removed, filepath.Join(dir, id))
	}
	return removed, errors.Join(err, store.Close())
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

// withStore opens the store for a command.
func withStore(f func(*changes.Store) (int, error)) (code int, err error) {
	store, err := openChanges()
	if err != nil {
		return 0, err
	}
	defer store.Close()
	return f(store)
}

// listed is a change set in the output of `brig changes --json`.
type listed struct {
	ID          string       `json:"id"`
	Dir         changes.Name `json:"dir"`
	Interrupted bool         `json:"interrupted,omitempty"`
	changes.Run
	changes.Counts
	LeftOut []changes.Refused `json:"left_out,omitempty"`
	Upper   string            `json:"upper,omitempty"` // of changes that could not be made a set, as overlayfs writes them
}

// changesOptions are the flags of changes.
type changesOptions struct{ asJSON bool }

func (o *changesOptions) flags() []cli.Flag { return []cli.Flag{cli.JSON(&o.asJSON)} }

// run lists the change sets.
func (o *changesOptions) run(list []string, std cli.Stdio) (int, error) {
	if err := noWords(list, "brig changes, with or without --json"); err != nil {
		return 0, err
	}
	return withStore(func(store *changes.Store) (int, error) {
		sets, damaged := store.List()
		var text strings.Builder
		list := []listed{}
		for _, s := range sets {
			list = append(list, listed{s.ID, s.Dir.Path, s.Interrupted, s.Run, s.Counts, s.LeftOut, ""})
			text.WriteString(row(store, s, time.Now()))
		}
		unkept, err := nsjail.KeptChanges()
		for _, k := range unkept {
			list = append(list, listed{ID: k.Name, Upper: k.Upper, Run: changes.Run{Ended: k.Since}})
			text.WriteString(keptRow(k, time.Now()))
		}
		return emit(std, o.asJSON, list, text.String()), errors.Join(damaged, err)
	})
}

// row returns a line of `brig changes`.
func row(store *changes.Store, s *changes.Set, now time.Time) string {
	command := make([]string, 0, len(s.Run.Command))
	for _, word := range s.Run.Command {
		command = append(command, changes.GitQuote(string(word)))
	}
	note := ""
	if s.Interrupted {
		note = "  (half applied: brig apply finishes it, --undo takes it back)"
	}
	return fmt.Sprintf("%-6s %4s  %-40s %s  %s%s\n", store.Short(s.ID), age(now.Sub(s.Run.Ended)), counted(s.Counts),
		changes.GitQuote(string(s.Dir.Path)), words.Short(strings.Join(command, " "), words.MaxShown), note)
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

// counted describes a change set, as 3 files changed (+41 -7, 12 KiB).
func counted(c changes.Counts) string {
	text := concerned(c.Files, c.Dirs) + " changed"
	if c.Files > 0 {
		text += fmt.Sprintf(" (+%d -%d, %s)", c.Added, c.Removed, words.Size(c.Bytes))
	}
	return text
}

// concerned returns how many files and directories changes concern, as in 3 files and 1 directory.
func concerned(files, dirs int) string {
	directories := plural(dirs, "directory")
	if dirs > 1 {
		directories = strconv.Itoa(dirs) + " directories"
	}
	switch {
	case dirs == 0:
		return plural(files, "file")
	case files == 0:
		return directories
	}
	return plural(files, "file") + " and " + directories
}

// plural returns a number with its noun.
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
