// Package freezer stops the jails in a sandbox for a moment, so that its files are those of one moment.
package freezer

import (
	"errors"
	"os"
	"sync"

	"brig/brigd/job"
	"brig/nsjail"
)

// Freezer has the jails that are in sandboxes. The zero Freezer has none.
type Freezer struct {
	in sync.Map // the ids of sandboxes, by the *nsjail.Cmd in them
}

// Track notes which jails are in a sandbox, for Freeze.
func (r *Freezer) Track(j *job.Job) (end func()) {
	var cmd *nsjail.Cmd
	if then := j.Started; j.Sandbox != "" {
		j.Started = func(c *nsjail.Cmd) {
			cmd = c
			r.in.Store(c, j.Sandbox)
			if then != nil {
				then(c)
			}
		}
	}
	return func() { r.in.Delete(cmd) }
}

// Freeze freezes the runs in a sandbox that have control groups, and returns their number.
func (r *Freezer) Freeze(sandbox string) (thaw func() error, n int) {
	var cmds []*nsjail.Cmd
	for key, in := range r.in.Range {
		if cmd := key.(*nsjail.Cmd); in == sandbox {
			if g, v1 := cmd.ControlGroup(); g == "" && len(v1) == 0 {
				continue
			}
			cmds = append(cmds, cmd)
			if cmd.Freeze(true) == nil {
				n++
			}
		}
	}
	return func() (err error) {
		for _, cmd := range cmds {
			if cmd.Freeze(false) == nil {
				continue
			}
			if again := cmd.Freeze(false); !errors.Is(again, os.ErrProcessDone) { // it may have ended meanwhile
				err = errors.Join(err, again)
			}
		}
		return err
	}, n
}
