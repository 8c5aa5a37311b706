package changescmd

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brig/changes"
	"brig/cmd/brig/internal/console"
	"brig/internal/cli"
	"brig/internal/sys"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// diffFlags is brig diff with its flags.
type diffFlags struct {
	stat, nameOnly, asJSON, all bool
	color                       string // auto, always or never; "" is auto
}

var whens = []string{"auto", "always", "never"}

const diffAbout = "\nThe text is what git apply and patch read, byte for byte. On a terminal, and with\n" +
	"--color=always (for less -R), it has colours, and what would steer the terminal is escaped. A\n" +
	"PATH is below the directory, and chooses all below it. What git itself keeps in .git is one line\n" +
	"without --all or a PATH.\n" + noID

// Flags returns its table.
func (o *diffFlags) Flags() []cli.Flag {
	return cli.InGroup("Flags", []cli.Flag{
		{Name: "stat", Help: "print how many lines of each file have changed", Set: cli.Switch(&o.stat, true)},
		{Name: "name-only", Help: "print the paths, quoted as by git", Set: cli.Switch(&o.nameOnly, true)},
		{Name: "all", Help: "show objects, references and the index in .git as well", Set: cli.Switch(&o.all, true)},
		cli.JSON(&o.asJSON),
		{Name: "color", Args: "WHEN", Words: whens, Set: o.setColor,
			Help: "colour the text: auto, for a terminal without NO_COLOR, always or never"},
	})
}

func (o *diffFlags) setColor(v []string) error {
	if !slices.Contains(whens, v[0]) {
		return fmt.Errorf("%s is not a time to colour; %s", words.Quote(v[0]), words.DidYouMean(v[0], whens))
	}
	o.color = v[0]
	return nil
}

// Run shows a change set.
func (o *diffFlags) Run(list []string, std *console.Console) (int, error) {
	return withStore(func(store *changes.Store) (int, error) {
		if len(list) == 0 {
			set, err := newest(store, "diff")
			if err == nil {
				err = o.show(set, nil, std)
			}
			return 0, err
		}
		set, err := store.Find(list[0])
		if err == nil {
			err = o.show(set, list[1:], std)
		}
		return 0, err
	})
}

// show prints a change set on stdout.
func (o *diffFlags) show(set *changes.Set, paths []string, std *console.Console) error {
	terminal := sys.IsTerminal(std.Out)
	if !o.stat && !o.nameOnly && !o.asJSON {
		colored := o.color == "always" || o.color != "never" && console.Colourful(std.Out)
		err := set.Diff(std.Out, &changes.DiffOptions{Paths: paths, Words: std.Words,
			Color: colored, Escape: terminal || colored,
			Fold: !o.all})
		if errors.Is(err, unix.EPIPE) {
			return nil // the reader has seen enough
		}
		return err
	}
	list, err := set.Changes(paths)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(std.Out)
	if o.asJSON {
		err = writeAnswer(out, set, list)
	} else {
		o.list(out, list, len(paths) == 0)
	}
	return errors.Join(err, out.Flush())
}

// list prints the names, or the numbers of lines. whole means that the reader has named no paths.
func (o *diffFlags) list(out *bufio.Writer, list []changes.Change, whole bool) {
	for _, c := range list {
		if o.nameOnly {
			_, _ = out.WriteString(changes.GitQuote(string(c.Path)) + "\n") // Flush returns the error
		}
	}
	if o.stat {
		var folded []changes.Folded
		if !o.all && whole {
			_, folded = changes.Fold(list)
		}
		stat(out, list, folded)
	}
}

// diffAnswer is the output of `brig diff --json`.
type diffAnswer struct {
	ID      string       `json:"id"`
	Dir     changes.Name `json:"dir"`
	Changes []jsonChange `json:"changes"`
}

type jsonChange struct {
	Op   string       `json:"op"` // added, changed, deleted or renamed
	From changes.Name `json:"from,omitempty"`
	// StaysBehind means that apply leaves it out: it is in a git directory, and no data.
	StaysBehind bool `json:"stays_behind,omitempty"`
	*changes.File
}

// writeAnswer writes a change at a time: a set may have a million.
func writeAnswer(w *bufio.Writer, set *changes.Set, list []changes.Change) error {
	answer := &diffAnswer{ID: set.ID, Dir: set.Dir.Path, Changes: []jsonChange{}}
	return console.WriteJSONList(w, answer, len(list), func(i int) any {
		c := list[i]
		j := &jsonChange{Op: c.Op(), File: c.File, StaysBehind: c.Stays()}
		if c.From != nil {
			j.Op, j.From = "renamed", c.From.Path
		}
		return j
	})
}

// stat writes the text of --stat: a line for each file, with as many signs as lines, scaled to the width.
func stat(b *bufio.Writer, all []changes.Change, folded []changes.Folded) {
	list := all
	if len(folded) > 0 {
		list, _ = changes.Fold(all)
	}
	const signs = 40
	added, removed, most, width := 0, 0, 1, 0
	for _, c := range list {
		most = max(most, c.Added+c.Removed)
		width = max(width, len(shown(c)))
	}
	width = min(width, 60)
	for _, c := range list {
		name := shown(c)
		if c.IsDirectory() && (c.Old == nil || c.New == nil) {
			continue
		}
		if c.From != nil {
			fmt.Fprintf(b, " %-*s | renamed%s\n", width, name, modes(c))
			continue
		}
		if c.Binary {
			fmt.Fprintf(b, " %-*s | binary, %s, %s before%s\n", width, name, words.Size(size(c.New)), words.Size(size(c.Old)),
				modes(c))
			continue
		}
		added, removed = added+c.Added, removed+c.Removed
		scale := func(n int) int { return (n*min(most, signs) + most - 1) / most }
		line := fmt.Sprintf(" %-*s | %5s %s%s", width, name, strconv.Itoa(c.Added+c.Removed),
			strings.Repeat("+", scale(c.Added)), strings.Repeat("-", scale(c.Removed)))
		_, _ = b.WriteString(strings.TrimRight(line, " ") + modes(c) + "\n")
	}
	for _, f := range folded {
		fmt.Fprintf(b, " %-*s | %s\n", width, changes.GitQuote(f.Dir), Concerned(f.Files, f.Dirs))
	}
	fmt.Fprintf(b, " %s changed, %s added, %d removed\n", Concerned(changes.CountOf(all)), words.Plural(added, "line"),
		removed)
}

// modes describes a change that has no lines: permissions, attributes, or a symbolic link, and whether apply leaves it
// out.
func modes(c changes.Change) string {
	if c.Stays() {
		return kind(c) + ", apply leaves it out"
	}
	return kind(c)
}

func kind(c changes.Change) string {
	old, now := c.Old, c.New
	if c.From != nil {
		old = c.From.Old
	}
	switch {
	case now == nil:
		return ""
	case now.Kind == changes.Symlink:
		return ", symbolic link"
	case old == nil && now.Kind == changes.Regular && now.Mode&0o133 != 0:
		return fmt.Sprintf(", mode %04o", now.Mode)
	case old != nil && old.Kind == now.Kind && old.Mode != now.Mode:
		return fmt.Sprintf(", mode %04o, was %04o", now.Mode, old.Mode)
	case old != nil && old.Kind == now.Kind && !now.SameAttributes(old):
		return ", extended attributes"
	}
	return ""
}

// shown returns the path of a change, quoted as by git, and where it was.
func shown(c changes.Change) string {
	name := changes.GitQuote(string(c.Path))
	if c.From != nil {
		name = changes.GitQuote(string(c.From.Path)) + " => " + name
	}
	return name
}

func size(s *changes.State) int64 {
	if s == nil {
		return 0
	}
	return s.Size
}
