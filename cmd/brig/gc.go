package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"brig/nsjail"
)

// collection is the answer of `brig gc --json`.
type collection struct {
	Removed []string `json:"removed"` // the groups that are gone
	Busy    int      `json:"busy"`    // how many belong to jails that run
}

// gcCmd is `brig gc`: it ends and removes what keepers that were killed have left, and touches no jail that runs.
func gcCmd(args []string, std stdio) int {
	parent, asJSON, help, err := parseGC(args)
	switch {
	case err != nil:
		return fail(std, strings.Split("gc: "+err.Error(), "\n")...)
	case help:
		return emit(std, commandHelp("gc"))
	}
	removed, busy, err := nsjail.CollectGroups(parent)
	c := collection{Removed: append([]string{}, removed...), Busy: busy}
	text, failed := c.text(), ""
	if asJSON {
		b, jsonErr := json.MarshalIndent(c, "", "  ")
		if jsonErr != nil {
			return fail(std, "gc: "+jsonErr.Error())
		}
		text = string(b) + "\n"
	}
	if err != nil {
		failed = "gc: " + printable(err.Error())
	}
	if failed != "" && len(removed) == 0 { // nothing was done: no answer but why
		return fail(std, failed)
	}
	if code := emit(std, text); code != 0 || failed == "" {
		return code
	}
	return fail(std, failed)
}

func parseGC(args []string) (parent string, asJSON, help bool, err error) {
	list, words, help, err := scan(plainFlags("gc"), args)
	if err != nil || help {
		return "", false, help, err
	}
	if len(words) > 0 {
		return "", false, false, fmt.Errorf("%s is not wanted; write brig gc, with --json or --cgroup-parent PATH", show(words[0]))
	}
	for _, g := range list {
		switch g.flag.name {
		case "json":
			asJSON = true
		case "cgroup-parent":
			if parent, err = g.values[0], checkParent(g.values[0]); err != nil {
				return "", false, false, fmt.Errorf("--cgroup-parent: %w", err)
			}
		}
	}
	return parent, asJSON, false, nil
}

// checkParent refuses what no run could have been given either.
func checkParent(parent string) error {
	if parent == "" {
		return fmt.Errorf("it is empty; write it as in /batch.slice, or leave the flag out")
	}
	for _, p := range (&nsjail.Spec{Args: []string{"id"}, CgroupParent: parent}).Check() {
		return fmt.Errorf("%s; %s", p.Reason, p.Fix)
	}
	return nil
}

// text is a line for each group and one for all.
func (c *collection) text() string {
	var b strings.Builder
	for _, dir := range c.Removed {
		b.WriteString("removed " + printable(dir) + "\n")
	}
	fmt.Fprintf(&b, "%d removed, %d in use\n", len(c.Removed), c.Busy)
	return b.String()
}
