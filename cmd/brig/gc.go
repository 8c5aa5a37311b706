package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
)

// collection is the output of `brig gc --json`.
type collection struct {
	Removed []string `json:"removed"` // the removed groups
	Busy    int      `json:"busy"`    // the number of groups of running jails
}

// gcOptions are the flags of gc.
type gcOptions struct {
	asJSON, below bool
	parent        string // the group below which to search
}

func (o *gcOptions) flags() []cli.Flag {
	below := func(v []string) error {
		o.below, o.parent = true, v[0]
		return nil
	}
	return []cli.Flag{cli.JSON(&o.asJSON), {Name: "cgroup-parent", Args: "PATH", Group: "Flags", Set: below,
		Help: "look below this group, named as in /proc/self/cgroup, instead of the own one"}}
}

const gcAbout = "\nThat is what a brig left which was itself killed (SIGKILL, a crash): whatever still runs there " +
	"is\n" +
	"killed, and the group removed. Jails that run are left alone.\n"

// read parses the command line. The code is -1 if gc is to proceed.
func (o *gcOptions) read(args []string, std cli.Stdio) (code int) {
	if code := flagsOnly("gc", "brig gc, with --json or --cgroup-parent PATH", o.flags(), args, std); code >= 0 {
		return code
	}
	if o.below {
		if err := checkParent(o.parent); err != nil {
			return std.Fail("gc: --cgroup-parent: " + err.Error())
		}
	}
	return -1
}

// gcCmd runs `brig gc`: it ends and removes what killed keepers have left. It does not affect running jails.
func gcCmd(args []string, std cli.Stdio) int {
	var o gcOptions
	if code := o.read(args, std); code >= 0 {
		return code
	}
	removed, busy, err := nsjail.CollectGroups(o.parent)
	c := collection{Removed: append([]string{}, removed...), Busy: busy}
	text, failed := c.text(), ""
	if o.asJSON {
		b, jsonErr := json.MarshalIndent(c, "", "  ")
		if jsonErr != nil {
			return std.Fail("gc: " + jsonErr.Error())
		}
		text = string(b) + "\n"
	}
	if err != nil {
		failed = "gc: " + words.Printable(err.Error())
	}
	if failed != "" && len(removed) == 0 { // nothing was done: only the error is printed
		return std.Fail(failed)
	}
	if code := std.Emit(text); code != 0 || failed == "" {
		return code
	}
	return std.Fail(failed)
}

// checkParent refuses a parent that run would refuse, too.
func checkParent(parent string) error {
	if parent == "" {
		return fmt.Errorf("it is empty; write it as in /batch.slice, or leave the flag out")
	}
	for _, p := range (&nsjail.Spec{Args: []string{"id"}, CgroupParent: parent}).Check() {
		return fmt.Errorf("%s; %s", p.Reason, p.Fix)
	}
	return nil
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
