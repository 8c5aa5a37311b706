package api

import (
	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/brigd/internal/live"
)

// boxHandlers answer requests about sandboxes.
type boxHandlers struct {
	boxes     front.Boxes
	rate      interface{ Ask(caller string) error } // counts a run
	live      *live.Table
	elsewhere func(c engine.Caller, sandbox string) ([]live.Run, error) // lists runs, or nil for those of live
}

func (h *boxHandlers) create(c *call) (any, error) {
	var req engine.SandboxRequest
	if err := c.body(&req); err != nil {
		return nil, err
	}
	if err := c.actFor(req.Agent, "agent_id"); err != nil {
		return nil, err
	}
	req.Agent = ""
	if req.Living { // a jail is started for it
		if err := h.rate.Ask(c.Caller.Key()); err != nil {
			return nil, err
		}
	}
	info, err := h.boxes.CreateSandbox(c.R.Context(), c.Caller, &req)
	if err == nil && front.ID.MatchString(info.ID) {
		c.Header().Set("Location", "/v1/sandboxes/"+info.ID)
	}
	return info, err
}

func (h *boxHandlers) list(c *call) (any, error) {
	list, err := h.boxes.Sandboxes(c.Caller)
	return SandboxList{append([]engine.SandboxInfo{}, list...)}, err
}

func (h *boxHandlers) get(c *call) (any, error) { return h.boxes.Sandbox(c.Caller, c.id) }

func (h *boxHandlers) runs(c *call) (any, error) {
	if h.elsewhere != nil {
		list, err := h.elsewhere(c.Caller, c.id)
		return RunList{append([]live.Run{}, list...)}, err
	}
	info, err := h.boxes.Sandbox(c.Caller, c.id)
	if err != nil {
		return nil, err
	}
	return RunList{h.live.In(info.ID)}, nil
}

func (h *boxHandlers) remove(c *call) (any, error) { return nil, h.boxes.DeleteSandbox(c.Caller, c.id) }

// snapshotHandlers answer requests about snapshots.
type snapshotHandlers struct{ snapshots front.Snapshotter }

func (h *snapshotHandlers) create(c *call) (any, error) {
	info, err := h.snapshots.Snapshot(c.Caller, c.id)
	if err == nil {
		c.Header().Set("Location", "/v1/snapshots/"+info.ID)
	}
	return info, err
}

func (h *snapshotHandlers) list(c *call) (any, error) {
	list, err := h.snapshots.Snapshots(c.Caller)
	return SnapshotList{append([]engine.SnapshotInfo{}, list...)}, err
}

func (h *snapshotHandlers) remove(c *call) (any, error) {
	return nil, h.snapshots.DeleteSnapshot(c.Caller, c.id)
}
