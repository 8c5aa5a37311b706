package cgroup

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// errNoFreezer is the error for a group without a freezer.
var errNoFreezer = errors.New("the group cannot be frozen: brig may use neither a version 2 tree nor a freezer " +
	"controller here")

// Freeze stops all processes of the group and waits until they have stopped, or resumes them: cgroup.freeze (≥
// 5.2), or version 1's freezer.state.
func (g *Group) Freeze(on bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.freeze(on)
}

func (g *Group) freeze(on bool) error {
	for _, d := range g.dirs {
		switch {
		case d.fd < 0:
		case d.Version == 2:
			value := map[bool]string{true: "1", false: "0"}[on]
			return d.turn("cgroup.freeze", value, "cgroup.events", "frozen "+value)
		case d.holds("freezer"):
			word := map[bool]string{true: "FROZEN", false: "THAWED"}[on]
			return d.turn("freezer.state", word, "freezer.state", word)
		}
	}
	return errNoFreezer
}

// freezeWait bounds the wait for a change of state. An uninterruptible process stops only after its system call.
var freezeWait = 5 * time.Second

// turn writes a value and waits until a file contains a line. With version 1 a process that waits for its child in
// vfork(2) is not stopped if that child is: both have to go on for a moment.
func (d *directory) turn(file, value, says, line string) error {
	if err := d.put(file, value); err != nil {
		return fmt.Errorf("%s: %w", quote(d.path()+"/"+file), err)
	}
	end := time.Now().Add(freezeWait)
	for looks := 1; ; looks++ {
		text, err := d.read(says)
		if err != nil {
			return fmt.Errorf("%s: %w", quote(d.path()+"/"+says), err)
		}
		if slices.Contains(strings.Split(text, "\n"), line) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s does not say %q after %s", quote(d.path()+"/"+says), line, freezeWait)
		}
		d.awaitChange(says, 10*time.Millisecond)
		if d.Version == 1 && looks%10 == 0 {
			if err := errors.Join(d.put(file, "THAWED"), d.put(file, value)); err != nil {
				return fmt.Errorf("%s: %w", quote(d.path()+"/"+file), err)
			}
		}
	}
}
