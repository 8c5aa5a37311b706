package api

import (
	"bufio"
	"io"
	"net/http"

	"brig/brigd/internal/front"
)

// treePath returns the directory that the query names.
func (c *call) treePath() string {
	if c.query.Has("path") {
		return c.query.Get("path")
	}
	return "/work"
}

// putTree answers PUT of an archive. It accepts any content type, as put does.
func (h *fileHandlers) putTree(c *call) (any, error) {
	if err := c.plain(); err != nil {
		return nil, err
	}
	if c.R.ContentLength > h.maxFile {
		return nil, c.BodyFailed(front.ErrTooLarge, h.maxFile)
	}
	c.ReadTime(8 * h.bodyTime)
	defer c.ReadTime(0)
	u := &upload{body: http.MaxBytesReader(c, c.R.Body, h.maxFile)}
	stats, err := h.files.PutTree(c.Caller, c.id, c.treePath(), u)
	if err == nil { // what follows the archive's end
		_, _ = io.Copy(io.Discard, u) // an error is in u.failed
	}
	if c.Taken = u.done; u.failed != nil {
		return nil, c.BodyFailed(u.failed, h.maxFile)
	}
	return stats, err
}

// getTree answers GET of an archive. If it cannot be completed, the connection is closed before the end.
func (h *fileHandlers) getTree(c *call) (any, error) {
	header := c.Header()
	header.Set("Content-Type", tarType)
	header.Set("Content-Disposition", "attachment")
	if c.R.Method == http.MethodHead {
		_, err := h.boxes.Sandbox(c.Caller, c.id)
		return nil, err
	}
	out := bufio.NewWriterSize(c, 64<<10) // what is refused at once is refused with its reason
	_, err := h.files.GetTree(c.Caller, c.id, c.treePath(), out, h.maxFile)
	if err == nil {
		err = out.Flush()
	}
	if err != nil && c.Wrote() {
		c.Failed = err
		panic(http.ErrAbortHandler)
	}
	return nil, err
}
