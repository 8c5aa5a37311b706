package api

import (
	"strconv"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
)

// changeHandlers answer requests about change sets.
type changeHandlers struct{ sets front.ChangeSets }

func (h *changeHandlers) list(c *call) (any, error) {
	list, err := h.sets.Changes(c.Caller)
	return ChangeList{list}, err
}

func (h *changeHandlers) diff(c *call) (any, error) {
	text, err := h.sets.DiffChanges(c.R.Context(), c.Caller, c.id, c.query["path"])
	if err != nil {
		return nil, err
	}
	c.Header().Set("Content-Type", "text/plain; charset=utf-8")
	c.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, c.Failed = c.Write(text)
	return nil, nil
}

func (h *changeHandlers) apply(c *call) (any, error) {
	var req engine.ApplyRequest
	if err := c.body(&req); err != nil {
		return nil, err
	}
	return h.sets.ApplyChanges(c.R.Context(), c.Caller, c.id, &req)
}

func (h *changeHandlers) discard(c *call) (any, error) {
	return nil, h.sets.DiscardChanges(c.Caller, c.id)
}
