package api

import (
	"net/http"

	"brig/agent/engine"
)

// handleCreate answers POST /v1/sandboxes.
func (c *call) handleCreate() error {
	var req engine.SandboxRequest
	if err := c.body(&req); err != nil {
		return err
	}
	if err := c.actFor(req.Agent, "agent_id"); err != nil {
		return err
	}
	req.Agent = ""
	info, err := c.Engine.CreateSandbox(c.r.Context(), c.caller, &req)
	if err != nil {
		return err
	}
	if idPattern.MatchString(info.ID) {
		c.w.Header().Set("Location", "/v1/sandboxes/"+info.ID)
	}
	c.answer(http.StatusCreated, info)
	return nil
}

// handleSandboxes answers GET /v1/sandboxes.
func (c *call) handleSandboxes() error {
	list := c.Engine.Sandboxes(c.caller)
	if list == nil {
		list = []engine.SandboxInfo{}
	}
	c.answer(http.StatusOK, SandboxList{list})
	return nil
}

// handleSandbox answers GET /v1/sandboxes/{id}.
func (c *call) handleSandbox() error {
	info, err := c.Engine.Sandbox(c.caller, c.id)
	if err != nil {
		return err
	}
	c.answer(http.StatusOK, info)
	return nil
}

// handleRuns answers GET /v1/sandboxes/{id}/runs.
func (c *call) handleRuns() error {
	info, err := c.Engine.Sandbox(c.caller, c.id)
	if err != nil {
		return err
	}
	c.answer(http.StatusOK, RunList{c.Live.In(info.ID)})
	return nil
}

// handleDeleteSandbox answers DELETE /v1/sandboxes/{id}.
func (c *call) handleDeleteSandbox() error {
	if err := c.Engine.DeleteSandbox(c.caller, c.id); err != nil {
		return err
	}
	c.head(http.StatusNoContent)
	return nil
}
