// Package gccmd has brig gc.
package gccmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"brig/cache"
	"brig/cmd/brig/internal/changescmd"
	"brig/cmd/brig/internal/console"
	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// collection is the output of `brig gc --json`.
type collection struct {
	Removed []string `json:"removed"` // the removed groups, sockets and directories
	Busy    int      `json:"busy"`    // the number of groups and directories of running jails
}

// Command returns the command.
func Command(open func(cli.Stdio) *console.Console) cli.Command {
	return console.Command[options](cli.Command{Name: "gc",
		Args: "[--json] [--caches [--older TIME]] [--cgroup-parent PATH]", About: about,
		What: "remove the control groups that killed runs have left"}, open)
}

// options are the flags of gc.
type options struct {
	asJSON bool
	parent string // the group below which to search; "" for the own one
	caches bool
	older  nsjail.Duration // of the last use of a cache that is removed
}

// Flags returns its table.
func (o *options) Flags() []cli.Flag {
	below := func(v []string) error {
		if err := cli.Text(&o.parent, "/batch.slice")(v); err != nil {
			return err
		}
		for _, p := range (&nsjail.Spec{Args: []string{"id"}, CgroupParent: o.parent}).Check() { // as run refuses it
			return fmt.Errorf("%s; %s", p.Reason, p.Fix)
		}
		return nil
	}
	older := func(v []string) (err error) {
		o.older, err = spec.ParseDuration(v[0])
		return err
	}
	return []cli.Flag{cli.JSON(&o.asJSON), {Name: "caches", Group: "Flags", Set: cli.Switch(&o.caches, true),
		Help: "remove the caches of --cache that no run uses, too"},
		{Name: "older", Args: "TIME", Group: "Flags", Set: older,
			Help: "of these, only those that no run has used for so long, as in 720h"},
		{Name: "cgroup-parent", Args: "PATH", Group: "Flags", Set: below,
			Help: "look below this group, named as in /proc/self/cgroup, instead of brig's own"}}
}

const about = "\nThat is what a brig left which was itself killed (SIGKILL, a crash): whatever still runs there " +
	"is\n" +
	"killed, and the group removed. So are the sockets that stood for absent protected paths, the\n" +
	"changes on disk of --cow and --rootfs-writable, and old change sets (brig changes --help).\n" +
	"Jails that run are left alone.\n"

// Run ends and removes what killed keepers have left. It does not affect running jails.
func (o *options) Run(list []string, std *console.Console) (code int, err error) {
	if err := console.NoWords(list, "brig gc, with --json, --caches or --cgroup-parent PATH"); err != nil {
		return 0, err
	}
	if o.older > 0 && !o.caches {
		return 0, errors.New("--older: it is for caches; add --caches, or leave it out")
	}
	removed, busy, err := nsjail.CollectGroups(o.parent)
	ghosts, gerr := nsjail.CollectGhosts()
	stores, used, serr := nsjail.CollectStores()
	sets, cerr := changescmd.ExpireSets()
	old, kerr := changescmd.ExpireKept()
	removed, busy = slices.Concat(removed, ghosts, stores, sets, old), busy+used
	err = errors.Join(err, gerr, serr, cerr, kerr)
	if o.caches {
		gone, held, herr := cache.Collect(time.Duration(o.older))
		removed, busy, err = append(removed, gone...), busy+held, errors.Join(err, herr)
	}
	if err == nil || len(removed) > 0 { // else nothing was done, and only the error is printed
		c := collection{Removed: append([]string{}, removed...), Busy: busy}
		code = std.Answer(o.asJSON, c, c.text())
	}
	return code, err
}

// text returns a line for each group and a summary.
func (c *collection) text() string {
	var b strings.Builder
	for _, dir := range c.Removed {
		b.WriteString("removed " + words.Printable(dir) + "\n")
	}
	fmt.Fprintf(&b, "%d removed, %d in use\n", len(c.Removed), c.Busy)
	return b.String()
}
