package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"brig/brigd/audit"
	"brig/brigd/job"
	"brig/brigd/workspace"
)

// sandboxes makes, describes and deletes sandboxes for callers.
type sandboxes struct {
	boxes  *boxes
	own    workspace.StoreOptions
	access *access
	shares *shares
	snaps  *snapshots
	files  *files
	shelf  *shelf // nil without a store
	log    *Recorder
	lives  *lives
	live   func(ctx context.Context, c Caller, box *workspace.Sandbox, r *BoxRequest) *job.Refusal
}

// CreateSandbox creates a sandbox.
func (s *sandboxes) CreateSandbox(ctx context.Context, c Caller, r *SandboxRequest) (*SandboxInfo, error) {
	agent, no := agentOf(c, r.Agent)
	if no != nil {
		return nil, no
	}
	if no := cmp.Or(negative(amount{"disk", r.Disk < 0, "64m"}, amount{"inodes", r.Inodes < 0, "1000"},
		amount{"ttl", r.TTL < 0, "1h"}), r.checkLiving(), s.access.mayDo(c, "create"),
		s.access.checkInputs(c, "", r.Files)); no != nil {
		return nil, no
	}
	if r.Living {
		if no := s.access.mayDo(c, "live"); no != nil {
			return nil, no
		}
	}
	if no := s.shares.checkMounts(c, r.Mounts, true); no != nil {
		return nil, no
	}
	var o workspace.CreateOptions
	ask := *r
	if no := s.snaps.fill(Caller{Agent: agent, Grant: c.Grant}, &ask, &o); no != nil {
		return nil, no
	}
	for _, p := range s.access.of(c) {
		ask.Disk, ask.Inodes, ask.TTL = p.NarrowSandbox(ask.Disk, ask.Inodes, ask.TTL)
	}
	if no := c.Rules.bound(&s.own, &ask, &o); no != nil {
		return nil, no
	}
	o.Size, o.Inodes, o.TTL = int64(ask.Disk), ask.Inodes, time.Duration(ask.TTL)
	o.Chain, o.Account = c.Grant.IDs(), Caller{Agent: agent, Grant: c.Grant}.Key()
	kept := &extra{mounts: slices.Clone(r.Mounts)}
	kept.living.Store(r.Living)
	o.Extra = kept
	if c.Grant != nil {
		o.Until = c.Grant.token.Expires()
	}
	box, err := s.boxes.Create(agent, o)
	switch {
	case full(err):
		return nil, machineFull()
	case err != nil:
		return nil, asRefusal(err, "sandbox", "sandbox_refused")
	}
	s.boxes.lease(box)
	if no = s.log.record(about(audit.SandboxCreate, c, box)); no == nil {
		no = s.files.putAll(c, box, "", r.Files)
	}
	if no == nil && r.Living {
		no = s.live(ctx, c, box, &r.BoxRequest)
	}
	if no != nil {
		_ = s.boxes.Delete(agent, box.ID) // the refusal has the reason
		return nil, no
	}
	return s.info(box), nil
}

// Sandboxes lists the caller's sandboxes.
func (s *sandboxes) Sandboxes(c Caller) ([]SandboxInfo, error) {
	list := []SandboxInfo{}
	for _, box := range s.boxes.List(c.agent()) {
		if c.Grant.Covers(box.Chain) {
			list = append(list, *s.info(box))
		}
	}
	return list, nil
}

// SandboxCount returns how many sandboxes exist, including those being created or removed.
func (s *sandboxes) SandboxCount() int {
	return s.boxes.Count()
}

// Sandbox describes one of the caller's sandboxes.
func (s *sandboxes) Sandbox(c Caller, id string) (*SandboxInfo, error) {
	box, no := s.boxes.find(c, id)
	if no != nil {
		return nil, no
	}
	return s.info(box), nil
}

// DeleteSandbox ends the runs in one of the caller's sandboxes, and deletes it.
func (s *sandboxes) DeleteSandbox(c Caller, id string) error {
	if no := s.access.mayDo(c, "delete"); no != nil {
		return no
	}
	box, no := s.boxes.find(c, id)
	if no == nil {
		no = s.log.record(about(audit.SandboxDelete, c, box))
	}
	if no != nil {
		return no
	}
	if err := s.boxes.Delete(box.Agent, id); err != nil {
		return asRefusal(err, "sandbox", "sandbox_unknown")
	}
	return nil
}

func (s *sandboxes) info(box *workspace.Sandbox) *SandboxInfo {
	i := &SandboxInfo{ID: box.ID, Agent: box.Agent, Created: box.Created, Expires: box.Expires(), Disk: box.Size,
		Inodes: box.Inodes, Running: box.Running(), Mounts: mountsOf(box)}
	if bytes, inodes, err := box.Tree.Usage(); err == nil {
		i.Used, i.UsedIno = bytes, inodes
	}
	s.shelf.describe(box, i)
	if l := s.lives.of(box.ID); l != nil && l.made() {
		i.Living = l.describe()
	}
	if end := box.Until; !end.IsZero() && end.Before(i.Expires) {
		i.Expires = end
	}
	return i
}
