// Package keep keeps what a run has changed: change sets of --cow, and an image of its root.
package keep

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
	"brig/cmd/brig/internal/processors"
	"brig/cmd/brig/internal/report"
	"brig/cmd/brig/internal/verdict"
	"brig/cmd/brig/internal/wish"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// Keeper keeps the changes of a run.
type Keeper struct {
	wish    *wish.Wish
	store   *changes.Store // nil without --cow
	started time.Time
	std     *console.Console
	lost    bool // no change set has all of what was changed last
}

// New opens the store before the run: without it, the changes of the run could not be kept. It makes the caches ready.
func New(w *wish.Wish, std *console.Console) (k *Keeper, err error) {
	k = &Keeper{wish: w, started: time.Now(), std: std}
	if w.HasCOW() {
		k.store, err = changescmd.OpenStore()
	}
	if err == nil {
		err = w.Caches.Use(&w.Spec)
	}
	return k, err
}

// Keep bounds the caches, and makes a change set of each directory that has changed, and an image of the root. The
// context ends when a signal
// asks for the end after that of the jail. The code is 0 if it could.
func (k *Keeper) Keep(ctx context.Context, r *report.Report) (code int) {
	r.Caches = k.wish.Caches.Release(k.say)
	if len(r.Result.Changes) > 0 {
		processors.UseAll()
	}
	for i := range r.Result.Changes {
		c := &r.Result.Changes[i]
		what, keep := "the changes of "+words.Quote(c.Source), k.one
		if c.Mount < 0 {
			what, keep = "--commit", k.commit
		}
		err := keep(ctx, r, c)
		if err != nil && ctx.Err() != nil {
			err = errors.New("a signal has ended the comparison")
		}
		where := ""
		if err != nil && k.lost && c.Mount >= 0 {
			where = k.unkept(c)
		}
		if err = errors.Join(err, c.Close()); err != nil {
			if code = k.std.Fail(what + ": " + words.Printable(err.Error()) + where); c.Mount >= 0 {
				code = verdict.ExitKept
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
func (k *Keeper) unkept(c *nsjail.Change) string {
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
func (k *Keeper) one(ctx context.Context, r *report.Report, c *nsjail.Change) error {
	run := &changes.Run{Status: string(r.Status), ExitCode: r.ExitCode, Started: k.started, Ended: time.Now(),
		Target: changes.Name(c.Target), Protect: protectedBelow(&k.wish.Spec, c), Git: takenBack(&k.wish.Spec, c)}
	for _, arg := range k.wish.Spec.Args {
		run.Command = append(run.Command, changes.Name(arg))
	}
	begin := time.Now()
	k.lost = true
	got, err := k.store.Capture(ctx, c.Base, c.Upper, c.Source, run)
	if got == nil {
		return err
	}
	one := report.Kept{Dir: changes.Name(c.Source), Target: changes.Name(c.Target), LeftOut: got.LeftOut,
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
	if k.wish.ApplyIfOK && r.Status == nsjail.StatusOK && len(r.LimitsHit) == 0 {
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
func (k *Keeper) sayAbout(r *report.Report, c *nsjail.Change, got *changes.Captured) {
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
func (k *Keeper) apply(set *changes.Set, one *report.Kept, id string) error {
	done, err := set.Apply(&changes.ApplyOptions{})
	if conflict, ok := errors.AsType[*changes.ConflictError](err); ok {
		first := conflict.List[0]
		err = fmt.Errorf("%s: %s", changes.GitQuote(string(first.Path)), first.Reason.In(k.std.Words))
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

// LearnVariable is set by brig learn, which removes the change sets of its runs. Its value tells where the parts of the
// --spec come from (wish.Origin), or is 1.
const LearnVariable = "BRIG_LEARN"

// say prints a line, except with --json and below brig learn, which removes the change sets that the line would name.
func (k *Keeper) say(format string, args ...any) {
	if !k.wish.Output.JSON && os.Getenv(LearnVariable) == "" {
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
