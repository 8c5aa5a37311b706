package api

import (
	"io/fs"
	"strings"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
)

// toolHandlers answer requests that change single files of sandboxes where they are.
type toolHandlers struct{ files front.FileTools }

func (h *toolHandlers) stat(c *call) (any, error) {
	return h.files.StatFile(c.Caller, c.id, c.query.Get("path"))
}

func (h *toolHandlers) mkdir(c *call) (any, error) {
	mode, err := c.mode()
	if err != nil {
		return nil, err
	}
	return h.files.MakeDir(c.Caller, c.id, c.query.Get("path"), mode)
}

func (h *toolHandlers) move(c *call) (any, error) {
	return h.files.MoveFile(c.Caller, c.id, c.query.Get("path"), c.query.Get("to"), c.yes("overwrite"))
}

func (h *toolHandlers) chmod(c *call) (any, error) {
	mode, err := c.permissions()
	if err != nil {
		return nil, err
	}
	return h.files.ChmodFile(c.Caller, c.id, c.query.Get("path"), mode)
}

// permissions returns those in the query, which must be there and may be 0.
func (c *call) permissions() (fs.FileMode, error) {
	text := c.query.Get("mode")
	if text == "" {
		return 0, no("request", "invalid_parameter", "mode", "mode: it is missing", "write three octal digits, such as 755")
	}
	if strings.Trim(text, "0") == "" {
		return 0, nil
	}
	return c.mode()
}

func (h *toolHandlers) edit(c *call) (any, error) {
	var edit engine.Edit
	if err := c.body(&edit); err != nil {
		return nil, err
	}
	info, n, err := h.files.EditFile(c.Caller, c.id, c.query.Get("path"), &edit)
	if err != nil {
		return nil, err
	}
	return Edited{*info, n}, nil
}
