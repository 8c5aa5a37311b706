package api

import (
	"strconv"

	"brig/brigd/engine"
)

func (c *call) changes() (any, error) {
	list, err := c.Engine.Changes(c.Caller)
	return ChangeList{list}, err
}

func (c *call) diffChanges() (any, error) {
	text, err := c.Engine.DiffChanges(c.Caller, c.id, c.query["path"])
	if err != nil {
		return nil, err
	}
	c.Header().Set("Content-Type", "text/plain; charset=utf-8")
	c.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, c.Failed = c.Write(text)
	return nil, nil
}

func (c *call) applyChanges() (any, error) {
	var req engine.ApplyRequest
	if err := c.body(&req); err != nil {
		return nil, err
	}
	return c.Engine.ApplyChanges(c.Caller, c.id, &req)
}

func (c *call) discardChanges() (any, error) { return nil, c.Engine.DiscardChanges(c.Caller, c.id) }
