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

// putTree answers PUT of an archive. It accepts any content type, as putFile does.
func (c *call) putTree() (any, error) {
	if err := c.plain(); err != nil {
		return nil, err
	}
	if c.R.ContentLength > c.MaxFile {
		return nil, c.BodyFailed(front.ErrTooLarge, c.MaxFile)
	}
	c.ReadTime(8 * c.BodyTime)
	defer c.ReadTime(0)
	u := &upload{body: http.MaxBytesReader(c, c.R.Body, c.MaxFile)}
	stats, err := c.Engine.PutTree(c.Caller, c.id, c.treePath(), u)
	if err == nil { // what follows the archive's end
		_, _ = io.Copy(io.Discard, u) // an error is in u.failed
	}
	if c.Taken = u.done; u.failed != nil {
		return nil, c.BodyFailed(u.failed, c.MaxFile)
	}
	return stats, err
}

// getTree answers GET of an archive. If it cannot be completed, the connection is closed before the end.
func (c *call) getTree() (any, error) {
	h := c.Header()
	h.Set("Content-Type", tarType)
	h.Set("Content-Disposition", "attachment")
	if c.R.Method == http.MethodHead {
		_, err := c.Engine.Sandbox(c.Caller, c.id)
		return nil, err
	}
	out := bufio.NewWriterSize(c, 64<<10) // what is refused at once is refused with its reason
	_, err := c.Engine.GetTree(c.Caller, c.id, c.treePath(), out, c.MaxFile)
	if err == nil {
		err = out.Flush()
	}
	if err != nil && c.Wrote() {
		c.Failed = err
		panic(http.ErrAbortHandler)
	}
	return nil, err
}
