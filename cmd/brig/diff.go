package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brig/changes"
	"brig/internal/cli"
	"brig/internal/sys"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// diffOptions are the flags of diff.
type diffOptions struct {
	stat, nameOnly, asJSON bool
	color                  string // auto, always or never; "" is auto
}

var whens = []string{"auto", "always", "never"}

const diffAbout = "\nThe text is what git apply and patch read. On a terminal it has colours, and what would steer\n" +
	"the terminal is escaped. A PATH is below the directory, and chooses all below it.\n"

func (o *diffOptions) flags() []cli.Flag {
	return cli.InGroup("Flags", []cli.Flag{
		{Name: "stat", Help: "print how many lines of each file have changed", Set: cli.Switch(&o.stat, true)},
		{Name: "name-only", Help: "print the paths, quoted as by git", Set: cli.Switch(&o.nameOnly, true)},
		cli.JSON(&o.asJSON),
		{Name: "color", Args: "WHEN", Words: whens, Set: o.setColor,
			Help: "colour the text: auto, for a terminal without NO_COLOR, always or never"},
	})
}

func (o *diffOptions) setColor(v []string) error {
	if !slices.Contains(whens, v[0]) {
		return fmt.Errorf("%s is not a time to colour; %s", words.Quote(v[0]), words.DidYouMean(v[0], whens))
	}
	o.color = v[0]
	return nil
}

// run shows a change set.
func (o *diffOptions) run(list []string, std cli.Stdio) (int, error) {
	return withStore(func(store *changes.Store) (int, error) {
		set, err := find(store, "diff", list)
		if err == nil {
			err = o.show(set, list[1:], std)
		}
		return 0, err
	})
}

// show prints a change set on stdout.
func (o *diffOptions) show(set *changes.Set, paths []string, std cli.Stdio) error {
	terminal := sys.IsTerminal(std.Out)
	if !o.stat && !o.nameOnly && !o.asJSON {
		colored := o.color == "always" || o.color != "never" && colourful(std.Out)
		err := set.Diff(std.Out, &changes.DiffOptions{Paths: paths, Color: colored, Escape: terminal || colored})
		if errors.Is(err, unix.EPIPE) {
			return nil // the reader has seen enough
		}
		return err
	}
	list, err := set.Changes(paths)
	if err != nil {
		return err
	}
	if o.asJSON {
		return writeJSON(std.Out, answerOf(set, list))
	}
	var b strings.Builder
	for _, c := range list {
		if o.nameOnly {
			b.WriteString(changes.GitQuote(string(c.Path)) + "\n")
		}
	}
	if o.stat {
		b.WriteString(stat(list))
	}
	_, err = std.Out.WriteString(b.String())
	return err
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
	*changes.File
}

func answerOf(set *changes.Set, list []changes.Change) *diffAnswer {
	a := &diffAnswer{ID: set.ID, Dir: set.Dir.Path, Changes: []jsonChange{}}
	for _, c := range list {
		j := jsonChange{Op: c.Op(), File: c.File}
		if c.From != nil {
			j.Op, j.From = "renamed", c.From.Path
		}
		a.Changes = append(a.Changes, j)
	}
	return a
}

// stat returns the text of --stat: a line for each file, with as many signs as lines, scaled to the width.
func stat(list []changes.Change) string {
	const signs = 40
	files, added, removed, most, width := 0, 0, 0, 1, 0
	for _, c := range list {
		most = max(most, c.Added+c.Removed)
		width = max(width, len(shown(c)))
	}
	width = min(width, 60)
	var b strings.Builder
	for _, c := range list {
		name := shown(c)
		if !c.Counts() {
			continue
		}
		files++
		if c.From != nil {
			fmt.Fprintf(&b, " %-*s | renamed%s\n", width, name, modes(c))
			continue
		}
		if c.Binary {
			fmt.Fprintf(&b, " %-*s | binary, %s, %s before%s\n", width, name, words.Size(size(c.New)), words.Size(size(c.Old)),
				modes(c))
			continue
		}
		added, removed = added+c.Added, removed+c.Removed
		scale := func(n int) int { return (n*min(most, signs) + most - 1) / most }
		line := fmt.Sprintf(" %-*s | %5s %s%s", width, name, strconv.Itoa(c.Added+c.Removed),
			strings.Repeat("+", scale(c.Added)), strings.Repeat("-", scale(c.Removed)))
		b.WriteString(strings.TrimRight(line, " ") + modes(c) + "\n")
	}
	fmt.Fprintf(&b, " %s changed, %s added, %d removed\n", plural(files, "file"), plural(added, "line"), removed)
	return b.String()
}

// modes describes a change that has no lines: permissions, attributes, or a symbolic link.
func modes(c changes.Change) string {
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
