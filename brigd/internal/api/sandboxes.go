package api

import (
	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/brigd/internal/live"
)

func (c *call) createSandbox() (any, error) {
	var req engine.SandboxRequest
	if err := c.body(&req); err != nil {
		return nil, err
	}
	if err := c.actFor(req.Agent, "agent_id"); err != nil {
		return nil, err
	}
	req.Agent = ""
	info, err := c.Engine.CreateSandbox(c.R.Context(), c.Caller, &req)
	if err == nil && front.ID.MatchString(info.ID) {
		c.Header().Set("Location", "/v1/sandboxes/"+info.ID)
	}
	return info, err
}

func (c *call) listSandboxes() (any, error) {
	list, err := c.Engine.Sandboxes(c.Caller)
	return SandboxList{append([]engine.SandboxInfo{}, list...)}, err
}

func (c *call) getSandbox() (any, error) { return c.Engine.Sandbox(c.Caller, c.id) }

func (c *call) listRuns() (any, error) {
	if c.Runs != nil {
		list, err := c.Runs(c.Caller, c.id)
		return RunList{append([]live.Run{}, list...)}, err
	}
	info, err := c.Engine.Sandbox(c.Caller, c.id)
	if err != nil {
		return nil, err
	}
	return RunList{c.Live.In(info.ID)}, nil
}

func (c *call) deleteSandbox() (any, error) { return nil, c.Engine.DeleteSandbox(c.Caller, c.id) }

func (c *call) createSnapshot() (any, error) {
	info, err := c.Engine.Snapshot(c.Caller, c.id)
	if err == nil {
		c.Header().Set("Location", "/v1/snapshots/"+info.ID)
	}
	return info, err
}

func (c *call) listSnapshots() (any, error) {
	list, err := c.Engine.Snapshots(c.Caller)
	return SnapshotList{append([]engine.SnapshotInfo{}, list...)}, err
}

func (c *call) deleteSnapshot() (any, error) { return nil, c.Engine.DeleteSnapshot(c.Caller, c.id) }
