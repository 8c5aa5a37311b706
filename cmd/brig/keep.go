package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"brig/changes"
	"brig/cmd/brig/internal/changescmd"
	"brig/cmd/brig/internal/console"
	"brig/gitview"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// kept is a change set in the report.
type kept struct {
	ID     string       `json:"id,omitempty"` // "" if there is nothing that a set can hold
	Dir    changes.Name `json:"dir"`
	Target changes.Name `json:"target"`
	changes.Counts
	LeftOut   []changes.Refused `json:"left_out,omitempty"`
	Applied   bool              `json:"applied,omitempty"` // by --apply-if-ok: the set is gone
	Stayed    []changes.Stayed  `json:"stayed_behind,omitempty"`
	CaptureUS int64             `json:"capture_us"` // what the comparison took after the run
}

// reported is the report of run: the Result, where the changes of its --cow are, and the image of its --commit.
type reported struct {
	*nsjail.Result
	Changes []kept     `json:"changes,omitempty"`
	Commit  *committed `json:"commit,omitempty"`
	// Git has an entry for each git directory in which the payload has written.
	Git []*gitview.Report `json:"git,omitempty"`
}

// keeper keeps the changes of a run.
type keeper struct {
	inv     *invocation
	store   *changes.Store // nil without --cow
	started time.Time
	std     *console.Console
	ctx     context.Context // ends when a signal asks for the end after that of the jail
	lost    bool            // no change set has all of what was changed last
}

// newKeeper opens the store before the run: without it, the changes of the run could not be kept.
func newKeeper(inv *invocation, std *console.Console) (k *keeper, err error) {
	k = &keeper{inv: inv, started: time.Now(), std: std}
	if inv.hasCOW() {
		k.store, err = changescmd.OpenStore()
	}
	return k, err
}

// keep makes a change set of each directory that has changed, and an image of the root. The code is 0 if it could.
func (k *keeper) keep(r *reported) (code int) {
	if len(r.Result.Changes) > 0 {
		useAllProcessors()
	}
	for i := range r.Result.Changes {
		c := &r.Result.Changes[i]
		what, keep := "the changes of "+words.Quote(c.Source), k.one
		if c.Mount < 0 {
			what, keep = "--commit", k.commit
		}
		err := keep(r, c)
		if err != nil && k.ctx.Err() != nil {
			err = errors.New("a signal has ended the comparison")
		}
		where := ""
		if err != nil && k.lost && c.Mount >= 0 {
			where = k.unkept(c)
		}
		if err = errors.Join(err, c.Close()); err != nil {
			if code = k.std.Fail(what + ": " + words.Printable(err.Error()) + where); c.Mount >= 0 {
				code = exitKept
			}
		}
	}
	if k.store != nil {
		if err := k.store.Close(); err != nil {
			code = k.std.Fail(err.Error())
		}
	}
	return code
}

// unkept keeps the changes on disk that could not be made a change set, and returns where they are.
func (k *keeper) unkept(c *nsjail.Change) string {
	path, err := c.Keep()
	switch {
	case err != nil:
		return "; they are lost: " + words.Printable(err.Error())
	case path == "":
		return "; what is in memory alone is lost now (store=disk keeps it)"
	}
	return "; they are in " + words.Quote(filepath.Join(path, "upper")) + ", as overlayfs writes them, until you remove " +
		words.Quote(path)
}

// one keeps the changes of one directory, and applies them with --apply-if-ok if the run succeeded.
func (k *keeper) one(r *reported, c *nsjail.Change) error {
	run := &changes.Run{Status: string(r.Status), ExitCode: r.ExitCode, Started: k.started, Ended: time.Now(),
		Target: changes.Name(c.Target), Protect: protectedBelow(&k.inv.spec, c), Git: takenBack(&k.inv.spec, c)}
	for _, arg := range k.inv.spec.Args {
		run.Command = append(run.Command, changes.Name(arg))
	}
	begin := time.Now()
	k.lost = true
	got, err := k.store.Capture(k.ctx, c.Base, c.Upper, c.Source, run)
	if got == nil {
		return err
	}
	one := kept{Dir: changes.Name(c.Source), Target: changes.Name(c.Target), LeftOut: got.LeftOut,
		CaptureUS: time.Since(begin).Microseconds()}
	one.Left = got.Left
	k.sayAbout(r, c, got)
	if got.Full {
		err = errors.Join(err, errors.New("not all of them fit into the store of change sets; BRIG_CHANGES_KEEP=size=SIZE, "+
			"or BRIG_CHANGES in another file system, make room for the next run"))
	}
	set := got.Set
	k.lost = set == nil || got.Full
	if set == nil {
		if got.Left > 0 {
			r.Changes = append(r.Changes, one)
		}
		return err
	}
	id := k.store.Short(set.ID)
	one.ID, one.Counts = set.ID, set.Counts
	r.Changes = append(r.Changes, one)
	if k.inv.applyIfOK && r.Status == nsjail.StatusOK && len(r.LimitsHit) == 0 {
		return errors.Join(err, k.apply(set, &r.Changes[len(r.Changes)-1], id))
	}
	where := ""
	if len(r.Result.Changes) > 1 {
		where = " in " + changes.GitQuote(string(set.Dir.Path))
	}
	k.say("%s%s: brig diff %s | apply | discard", changescmd.Counted(set.Counts), where, id)
	return err
}

// sayAbout prints what the change set does not have, and what was removed for it.
func (k *keeper) sayAbout(r *reported, c *nsjail.Change, got *changes.Captured) {
	if len(got.Expired) > 0 {
		k.say("%s removed from the store, first %s (BRIG_CHANGES_KEEP)", words.Plural(len(got.Expired), "older change set"),
			got.Expired[0][:4])
	}
	if got.Left > 0 {
		k.say("%s of the run left out, first %s: %s", words.Plural(got.Left, "file"),
			changes.GitQuote(string(got.LeftOut[0].Path)), got.LeftOut[0].Reason)
	}
	if r.ExitCode == 0 {
		return
	}
	if name, gid := foreignGroup(c.Base); name != "" {
		k.say("--cow %s cannot change files of group %d, such as %s (EOVERFLOW): use --work, or chgrp them",
			changes.GitQuote(c.Source), gid, changes.GitQuote(name))
	}
}

// apply does --apply-if-ok.
func (k *keeper) apply(set *changes.Set, one *kept, id string) error {
	done, err := set.Apply(&changes.ApplyOptions{})
	if conflict, ok := errors.AsType[*changes.ConflictError](err); ok {
		first := conflict.List[0]
		err = fmt.Errorf("%s: %s", changes.GitQuote(string(first.Path)), first.Reason.In(inFlags))
	}
	if err != nil {
		return fmt.Errorf("--apply-if-ok: %w; brig diff %s shows them", err, id)
	}
	one.Applied, one.Stayed = done.Removed, done.Stayed
	for _, line := range changescmd.Stayed(done, id) {
		k.say("%s", line)
	}
	what := changescmd.Counted(set.Counts) + ":"
	if !done.Removed {
		what = changescmd.Concerned(done.Count()) + " of " + changescmd.Counted(set.Counts) + ":"
	}
	k.say("%s applied to %s", what, changes.GitQuote(string(set.Dir.Path)))
	return nil
}

// learnVariable is set by brig learn, which removes the change sets of its runs.
const learnVariable = "BRIG_LEARN"

// say prints a line, except with --json and below brig learn, which removes the change sets that the line would name.
func (k *keeper) say(format string, args ...any) {
	if !k.inv.json && os.Getenv(learnVariable) == "" {
		k.std.Say(format, args...)
	}
}

// protectedBelow returns the protected paths that are below a mount's target, relative to it.
func protectedBelow(spec *nsjail.Spec, c *nsjail.Change) (list []changes.Name) {
	for _, rel := range spec.ProtectedIn(c.Mount) {
		list = append(list, changes.Name(rel))
	}
	return list
}

// takenBack returns the paths of a mount whose protection the caller has taken back, relative to it; "." is all.
func takenBack(s *nsjail.Spec, c *nsjail.Change) (list []changes.Name) {
	if !slices.Contains(s.Protect, spec.ProtectGit) || s.Git == spec.GitRW || s.TakesBack(".", c.Target) {
		return []changes.Name{"."}
	}
	for _, entry := range s.Protect {
		back, ok := strings.CutPrefix(entry, "!")
		rel, below := strings.CutPrefix(back, c.Target+"/")
		if rel = path.Clean(rel); ok && (below || !path.IsAbs(rel)) {
			list = append(list, changes.Name(rel))
		}
	}
	return list
}
