// Package changescmd has the commands about what runs with --cow have left: diff, apply, discard and changes.
package changescmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"brig/changes"
	"brig/cmd/brig/internal/console"
	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
)

// Commands returns the commands.
func Commands(open func(cli.Stdio) *console.Console) []cli.Command {
	return []cli.Command{
		console.Command[diffFlags](cli.Command{Name: "diff", Args: "[FLAG...] [ID [PATH...]]", About: diffAbout,
			What: "show the changes that a run with --cow has left"}, open),
		console.Command[applyFlags](cli.Command{Name: "apply", Args: "[FLAG...] [ID [PATH...]]", About: applyAbout,
			What: "make these changes in the directory itself"}, open),
		console.Command[discardFlags](cli.Command{Name: "discard", Args: "[--force] [ID...|--all]", About: noID,
			What: "remove them without a trace"}, open),
		console.Command[listFlags](cli.Command{Name: "changes", Args: "[--json]", About: changesAbout,
			What: "list the changes that wait to be applied or discarded"}, open),
	}
}

// Flags returns the flags of diff, apply and discard, to which messages about change sets refer.
func Flags() []cli.Flag {
	return slices.Concat(new(diffFlags).Flags(), new(applyFlags).Flags(), new(discardFlags).Flags())
}

// noID is in the help of the commands about one change set.
const noID = "\nWithout an ID it is the newest change set of the working directory, or of the nearest directory\n" +
	"above that has one, and else the only one.\n"

const changesAbout = "\nThey are in /var/lib/brig/changes of root, or ~/.local/state/brig/changes (XDG_STATE_HOME),\n" +
	"or /var/tmp/brig-UID/changes where no home can be written, or in BRIG_CHANGES. A run with --cow,\n" +
	"and brig gc, remove what is older than 30 days or exceeds 100 change sets or 8 GiB, the oldest\n" +
	"first; BRIG_CHANGES_KEEP=age=720h,count=100,size=8g sets other bounds. Changes on disk that could\n" +
	"not be made a set are listed as kept-N, which brig discard takes, and gc after the same age.\n"

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

// listFlags is brig changes with its flag.
type listFlags struct{ asJSON bool }

// Flags returns its table.
func (o *listFlags) Flags() []cli.Flag { return []cli.Flag{cli.JSON(&o.asJSON)} }

// Run lists the change sets.
func (o *listFlags) Run(list []string, std *console.Console) (int, error) {
	if err := console.NoWords(list, "brig changes, with or without --json"); err != nil {
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
		return std.Answer(o.asJSON, list, text.String()), errors.Join(damaged, err)
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
	return fmt.Sprintf("%-6s %4s  %-40s %s  %s%s\n", store.Short(s.ID), age(now.Sub(s.Run.Ended)), Counted(s.Counts),
		changes.GitQuote(string(s.Dir.Path)), words.Short(strings.Join(command, " "), words.MaxShown), note)
}
