package engine

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"brig/brigd/audit"
	"brig/brigd/job"
	"brig/brigd/policy"
	"brig/changes"
	"brig/internal/words"
)

// ChangeSet is what a run has changed in its copy of a share (mode cow). The share itself is unchanged until the set is
// applied.
type ChangeSet struct {
	// ID names the set in requests; "" if it could not be kept, for the reason in Error.
	ID string `json:"id,omitempty"`
	// Share, Path and Target are those of the mount.
	Share  string `json:"share"`
	Path   string `json:"path,omitempty"`
	Target string `json:"target,omitempty"`
	// Created is when the run ended.
	Created time.Time `json:"created,omitzero"`
	// Status is how it ended.
	Status string `json:"status,omitempty"`
	// Files is how many files have changed, and Added and Removed how many lines of text.
	Files   int `json:"files"`
	Added   int `json:"added"`
	Removed int `json:"removed"`
	// Bytes is the size of the files that are new or changed.
	Bytes int64 `json:"bytes"`
	// Dirs is how many directories were made, removed, or have another mode.
	Dirs int `json:"dirs,omitempty"`
	// LeftOut is how many files of the run the set does not hold, such as sockets. A run that has changed nothing else
	// has no ID.
	LeftOut int `json:"left_out,omitempty"`
	// CaptureUS is what the comparison took after the run, in microseconds.
	CaptureUS int64 `json:"capture_us,omitempty"`
	// Error is why the changes are lost, or that not all of them fit into the account's store.
	Error string `json:"error,omitempty"`
}

// ApplyRequest selects the changes to apply.
type ApplyRequest struct {
	// Paths are files and directories of the set; all if it is empty.
	Paths []string `json:"paths,omitempty"`
	// DryRun changes nothing, and only checks.
	DryRun bool `json:"dry_run,omitempty"`
}

// Applied is what was applied to a share.
type Applied struct {
	// Files is how many files were changed, or would be.
	Files int `json:"files"`
	// Dirs is how many directories were made, removed, or have another mode.
	Dirs int `json:"dirs,omitempty"`
	// Done is how many had these changes already.
	Done int `json:"done"`
	// Removed means that the set is gone, since the share has all of its changes.
	Removed bool `json:"removed"`
	// LeftBehind are the first paths in git directories that are no data, such as hooks, settings and links: only the
	// operator can apply these.
	LeftBehind []string `json:"left_behind,omitempty"`
}

// maxDiff is the largest answer of DiffChanges, in bytes.
const maxDiff = 16 << 20

// changeSet describes a set. Its share is the one that contains the set's directory.
func (e *Engine) changeSet(s *changes.Set) *ChangeSet {
	share, path := e.shares.Containing(string(s.Dir.Path))
	return &ChangeSet{ID: s.ID, Share: share, Path: path, Target: string(s.Run.Target), Created: s.Run.Ended,
		Status: s.Run.Status, Files: s.Counts.Files, Added: s.Counts.Added, Removed: s.Counts.Removed, Bytes: s.Counts.Bytes,
		Dirs: s.Counts.Dirs, LeftOut: max(s.Counts.Left, len(s.LeftOut))}
}

// hide replaces paths of shares in a text for callers by the shares' names.
func (e *Engine) hide(text string) string {
	if e.tenants != nil {
		text = words.Hide(text, e.tenants.dir, "the store")
	}
	return e.shares.Hide(text)
}

// eachSet calls visit for each store of the caller, until visit returns true.
func (e *Engine) eachSet(c Caller, visit func(o owner, store *changes.Store) (bool, error)) error {
	if e.tenants == nil {
		return nil
	}
	for _, o := range e.tenants.list(func(o owner) bool {
		return (c.Agent == "" || c.Agent == o.Agent) && c.Grant.Covers(o.Chain)
	}) {
		store, done, err := e.tenants.use(o, false)
		if err != nil {
			return e.asChanges(err)
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
func (e *Engine) Changes(c Caller) ([]ChangeSet, error) {
	if no := e.holds(c); no != nil {
		return nil, no
	}
	list := []ChangeSet{}
	err := e.eachSet(c, func(_ owner, store *changes.Store) (bool, error) {
		sets, err := store.List()
		for _, s := range sets {
			list = append(list, *e.changeSet(s))
		}
		if damaged, ok := errors.AsType[*changes.DamagedError](err); ok { // only the operator can remove it
			e.storeFailed(damaged.ID, "is not listed", err)
			return false, nil
		}
		return false, e.asChanges(err)
	})
	slices.SortStableFunc(list, func(a, b ChangeSet) int { return b.Created.Compare(a.Created) })
	return list, err
}

// asChanges converts an error of a store to a Refusal without a path of the host.
func (e *Engine) asChanges(err error) error {
	var conflict *changes.ConflictError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &conflict):
		text := conflict.Text().In(inRequest)
		if len(text) > 4<<10 {
			text = strings.ToValidUTF8(text[:4<<10], "") + " ..."
		}
		return refuse("sandbox", "changes_conflict", "changes", "the share is not as the run has seen it: "+e.hide(text),
			"Apply the other paths, or run it again on the share as it is now.")
	}
	return asRefusal(errors.New(e.hide(words.Message(err).In(inRequest))), "sandbox", "changes_failed")
}

// withSet calls do for one of the caller's sets; any other is reported as unknown.
func (e *Engine) withSet(c Caller, id string, do func(o owner, s *changes.Set) error) error {
	if no := e.holds(c); no != nil {
		return no
	}
	found := false
	err := e.eachSet(c, func(o owner, store *changes.Store) (bool, error) {
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
	return e.asChanges(err)
}

// DiffChanges returns what a set changes, as git-diff(1) writes it, for the paths that are named or for all.
func (e *Engine) DiffChanges(c Caller, id string, paths []string) (text []byte, err error) {
	err = e.withSet(c, id, func(_ owner, s *changes.Set) error {
		if _, no := e.shareOf(s); no != nil {
			return no
		}
		out := &limited{most: maxDiff}
		err := s.Diff(out, &changes.DiffOptions{Paths: paths, Escape: true, Words: inRequest})
		if out.Len() > maxDiff {
			return refuse("request", "too_large", "path", fmt.Sprintf("the diff has more than %d bytes", maxDiff),
				"Name files or directories in path.")
		}
		text = out.Bytes()
		return err
	})
	return text, err
}

// shareOf returns the share of a set, if its directory is still the one that the run saw.
func (e *Engine) shareOf(s *changes.Set) (string, *job.Refusal) {
	share, _ := e.shares.Containing(string(s.Dir.Path))
	gone := refuse("sandbox", "share_replaced", "changes", "the directory that the set belongs to is not there any more",
		"Have the operator put it back.")
	if share == "" {
		return "", gone
	}
	if _, err := os.Stat(string(s.Dir.Path)); err != nil {
		return "", gone
	}
	_, _, no := e.shares.Root(share)
	return share, no
}

// ApplyChanges changes the share as the run has changed its copy. The operator must allow it (Options.AllowApply), and
// the policies must allow the share in mode rw.
func (e *Engine) ApplyChanges(c Caller, id string, r *ApplyRequest) (done *Applied, err error) {
	err = e.withSet(c, id, func(o owner, s *changes.Set) error {
		share, no := e.shareOf(s)
		if no = cmp.Or(e.mayApply("apply"), no); no != nil {
			return no
		}
		for _, p := range e.policiesOf(c) {
			if p.Share(share) != policy.ShareModes[len(policy.ShareModes)-1] {
				return refuse("policy", "apply_not_allowed", "shares", "to change the share "+share+" is not allowed",
					"Have somebody apply the set who may.")
			}
		}
		if !r.DryRun {
			no = e.record(aboutSet(audit.ChangesApply, c, o, s))
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
func (e *Engine) DiscardChanges(c Caller, id string) error {
	return e.withSet(c, id, func(o owner, s *changes.Set) error {
		if no := cmp.Or(e.mayApply("discard"), e.record(aboutSet(audit.ChangesDiscard, c, o, s))); no != nil {
			return no
		}
		return s.Discard(false)
	})
}

func (e *Engine) mayApply(what string) *job.Refusal {
	if e.opts.AllowApply {
		return nil
	}
	return refuse("policy", "apply_not_allowed", "changes", "the operator does not let callers "+what+" change sets",
		"Have the operator look at the set, or start brigd with the setting allow_apply.")
}

func aboutSet(kind string, c Caller, o owner, s *changes.Set) audit.Event {
	return audit.Event{Kind: kind, Agent: o.Agent, Token: c.Grant.id(), Digest: s.ID, Bytes: s.Counts.Bytes,
		Count: int64(s.Counts.Files)}
}
