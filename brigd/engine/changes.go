package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"brig/brigd/audit"
	"brig/brigd/internal/diffs"
	"brig/brigd/job"
	"brig/brigd/policy"
	"brig/brigd/tenants"
	"brig/changes"
	"brig/internal/words"
)

// changeSets are what runs have changed in copies of shares.
type changeSets struct {
	tenants *tenants.Tenants // nil without shares in mode cow
	shares  *shares
	access  *access
	log     *Recorder
	diffs   *diffs.Desk
	apply   bool // callers may apply and remove their sets
	failed  func(id, what string, err error)
}

// changeSet describes a set. Its share is the one that contains the set's directory.
func (k *changeSets) changeSet(s *changes.Set) *ChangeSet {
	share, path := k.shares.set.Containing(string(s.Dir.Path))
	return &ChangeSet{ID: s.ID, Share: share, Path: path, Target: string(s.Run.Target), Created: s.Run.Ended,
		Status: s.Run.Status, Files: s.Counts.Files, Added: s.Counts.Added, Removed: s.Counts.Removed, Bytes: s.Counts.Bytes,
		Dirs: s.Counts.Dirs, LeftOut: max(s.Counts.Left, len(s.LeftOut))}
}

// eachSet calls visit for each store of the caller, until visit returns true.
func (k *changeSets) eachSet(c Caller, visit func(o tenants.Owner, store *changes.Store) (bool, error)) error {
	if k.tenants == nil {
		return nil
	}
	for _, o := range k.tenants.List(func(o tenants.Owner) bool {
		return (c.Agent == "" || c.Agent == o.Agent) && c.Grant.Covers(o.Chain)
	}) {
		store, done, err := k.tenants.Use(o, false)
		if err != nil {
			return k.asChanges(err)
		}
		if store == nil {
			continue // its last set has just been removed
		}
		stop, err := visit(o, store)
		if done(); stop || err != nil {
			return err
		}
	}
	return nil
}

// Changes lists the caller's change sets, the newest first: those of the agent's runs, made with the caller's token or
// with one derived from it.
func (k *changeSets) Changes(c Caller) ([]ChangeSet, error) {
	if no := k.access.holds(c); no != nil {
		return nil, no
	}
	list := []ChangeSet{}
	err := k.eachSet(c, func(_ tenants.Owner, store *changes.Store) (bool, error) {
		sets, err := store.List()
		for _, s := range sets {
			list = append(list, *k.changeSet(s))
		}
		if damaged, ok := errors.AsType[*changes.DamagedError](err); ok { // only the operator can remove it
			k.failed(damaged.ID, "is not listed", err)
			return false, nil
		}
		return false, k.asChanges(err)
	})
	slices.SortStableFunc(list, func(a, b ChangeSet) int { return b.Created.Compare(a.Created) })
	return list, err
}

// asChanges converts an error of a store to a Refusal without a path of the host.
func (k *changeSets) asChanges(err error) error {
	var conflict *changes.ConflictError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &conflict):
		text := conflict.Text().In(inRequest)
		if len(text) > 4<<10 {
			text = strings.ToValidUTF8(text[:4<<10], "") + " ..."
		}
		return refuse("sandbox", "changes_conflict", "changes",
			"the share is not as the run has seen it: "+k.shares.hide(text),
			"Apply the other paths, or run it again on the share as it is now.")
	}
	return asRefusal(errors.New(k.shares.hide(words.Message(err).In(inRequest))), "sandbox", "changes_failed")
}

// withSet calls do for one of the caller's sets; any other is reported as unknown.
func (k *changeSets) withSet(c Caller, id string, do func(o tenants.Owner, s *changes.Set) error) error {
	if no := k.access.holds(c); no != nil {
		return no
	}
	found := false
	err := k.eachSet(c, func(o tenants.Owner, store *changes.Store) (bool, error) {
		s, err := store.Find(id)
		if err != nil || s == nil {
			return false, nil // it is another owner's, or none
		}
		found = true
		return true, do(o, s)
	})
	if err == nil && !found {
		return refuse("sandbox", "changes_unknown", "id", fmt.Sprintf("there is no change set %.70q", id),
			"List the change sets: it may have been applied, removed or expired.")
	}
	var no *job.Refusal
	if err == nil || errors.As(err, &no) {
		return err
	}
	return k.asChanges(err)
}

// inTurn is withSet for what holds all names of a set in memory. It waits for the caller's turn.
func (k *changeSets) inTurn(ctx context.Context, c Caller, id string,
	do func(o tenants.Owner, s *changes.Set) error,
) error {
	leave, err := k.diffs.Enter(ctx, c.Key())
	if err != nil {
		return err
	}
	defer leave()
	return k.withSet(c, id, do)
}

// DiffChanges returns what a set changes, as git-diff(1) writes it, for the paths that are named or for all.
func (k *changeSets) DiffChanges(ctx context.Context, c Caller, id string, paths []string) (text []byte, err error) {
	err = k.inTurn(ctx, c, id, func(_ tenants.Owner, s *changes.Set) (err error) {
		if _, no := k.shareOf(s); no != nil {
			return no
		}
		text, err = diffs.Of(ctx, s, &changes.DiffOptions{Paths: paths, Escape: true, Words: inRequest})
		return err
	})
	if gone := context.Cause(ctx); err != nil && gone != nil {
		err = gone // it is no fault of the set
	}
	return text, err
}

// shareOf returns the share of a set, if its directory is still the one that the run saw.
func (k *changeSets) shareOf(s *changes.Set) (string, *job.Refusal) {
	share, _ := k.shares.set.Containing(string(s.Dir.Path))
	gone := refuse("sandbox", "share_replaced", "changes", "the directory that the set belongs to is not there any more",
		"Have the operator put it back.")
	if share == "" {
		return "", gone
	}
	if _, err := os.Stat(string(s.Dir.Path)); err != nil {
		return "", gone
	}
	_, _, no := k.shares.set.Root(share)
	return share, no
}

// ApplyChanges changes the share as the run has changed its copy. The operator must allow it (Options.AllowApply), and
// the policies must allow the share in mode rw. When ctx ends it waits no longer for its turn; what has begun goes on.
func (k *changeSets) ApplyChanges(
	ctx context.Context, c Caller, id string, r *ApplyRequest,
) (done *Applied, err error) {
	err = k.inTurn(ctx, c, id, func(o tenants.Owner, s *changes.Set) error {
		share, no := k.shareOf(s)
		if no = cmp.Or(k.mayApply("apply"), no); no != nil {
			return no
		}
		for _, p := range k.access.of(c) {
			if p.Share(share) != policy.ShareModes[len(policy.ShareModes)-1] {
				return refuse("policy", "apply_not_allowed", "shares", "to change the share "+share+" is not allowed",
					"Have somebody apply the set who may.")
			}
		}
		if !r.DryRun {
			no = k.log.record(aboutSet(audit.ChangesApply, c, o, s))
		}
		if no != nil {
			return no
		}
		a, err := s.Apply(&changes.ApplyOptions{Paths: r.Paths, DryRun: r.DryRun})
		if err == nil {
			done = &Applied{Done: a.Done, Removed: a.Removed}
			done.Files, done.Dirs = a.Count()
			for _, s := range a.Stayed {
				for _, name := range s.Names {
					done.LeftBehind = append(done.LeftBehind, words.Printable(path.Join(string(s.Dir), string(name))))
				}
			}
		}
		return err
	})
	return done, err
}

// DiscardChanges removes a set, if the operator allows it (Options.AllowApply).
func (k *changeSets) DiscardChanges(c Caller, id string) error {
	return k.withSet(c, id, func(o tenants.Owner, s *changes.Set) error {
		if no := cmp.Or(k.mayApply("discard"), k.log.record(aboutSet(audit.ChangesDiscard, c, o, s))); no != nil {
			return no
		}
		return s.Discard(false)
	})
}

func (k *changeSets) mayApply(what string) *job.Refusal {
	if k.apply {
		return nil
	}
	return refuse("policy", "apply_not_allowed", "changes", "the operator does not let callers "+what+" change sets",
		"Have the operator look at the set, or start brigd with the setting allow_apply.")
}

func aboutSet(kind string, c Caller, o tenants.Owner, s *changes.Set) audit.Event {
	return audit.Event{Kind: kind, Agent: o.Agent, Token: c.Grant.id(), Digest: s.ID, Bytes: s.Counts.Bytes,
		Count: int64(s.Counts.Files)}
}
