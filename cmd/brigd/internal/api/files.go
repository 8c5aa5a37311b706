package api

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"

	"brig/agent/engine"
)

// handleList answers GET /v1/sandboxes/{id}/files.
func (c *call) handleList() error {
	path := "/work"
	if c.query.Has("path") {
		path = c.query.Get("path")
	}
	recursive := c.query.Get("recursive") == "1" || c.query.Get("recursive") == "true"
	list, more, err := c.Engine.ListFiles(c.caller, c.id, path, recursive, c.query.Get("after"))
	if err != nil {
		return err
	}
	if list == nil {
		list = []engine.FileInfo{}
	}
	c.answer(http.StatusOK, FileList{list, more})
	return nil
}

// handleAllowed answers GET /v1/sandboxes/{id}/allowed.
func (c *call) handleAllowed() error {
	write := c.query.Get("write")
	yes, err := c.Engine.Allowed(c.caller, c.id, c.query.Get("path"), write == "1" || write == "true")
	if err != nil {
		return err
	}
	c.answer(http.StatusOK, PathAllowed{yes})
	return nil
}

// upload is the body of a request that writes a file. It records the error that ended the body, since its reader may
// not return it.
type upload struct {
	body   io.Reader
	left   int64
	failed error
	large  bool
	done   bool
}

func (u *upload) Read(p []byte) (int, error) {
	if int64(len(p)) > u.left+1 {
		p = p[:u.left+1]
	}
	n, err := u.body.Read(p)
	if u.left -= int64(n); u.left < 0 {
		u.large, u.failed = true, errors.New("the body is too large")
		return 0, u.failed
	}
	if u.done = err == io.EOF; err != nil && !u.done {
		u.failed = err
	}
	return n, err
}

// handlePut answers PUT of a file. It accepts any content type: a browser asks before it sends a PUT from a foreign
// page, and guard refuses. A compressed body is refused, since its bytes are not those of the file.
func (c *call) handlePut() error {
	if err := c.plain(); err != nil {
		return err
	}
	if c.r.ContentLength > c.MaxFile {
		return c.tooLarge(c.MaxFile)
	}
	mode, err := c.mode()
	if err != nil {
		return err
	}
	c.readTime(8 * c.BodyTime)
	defer c.readTime(0)
	u := &upload{body: c.r.Body, left: c.MaxFile}
	info, err := c.Engine.PutFile(c.caller, c.id, c.path, u, mode)
	c.taken = u.done
	switch {
	case u.large:
		return c.tooLarge(c.MaxFile)
	case u.failed != nil:
		return c.readFailed(u.failed)
	case err != nil:
		return err
	}
	c.answer(http.StatusOK, info)
	return nil
}

// mode returns the permissions in the query, or 0.
func (c *call) mode() (fs.FileMode, error) {
	if !c.query.Has("mode") {
		return 0, nil
	}
	mode, err := strconv.ParseUint(c.query.Get("mode"), 8, 32)
	if err != nil || mode == 0 || mode > 0o777 {
		return 0, no("request", "invalid_parameter", "mode", "mode: this is no file's mode",
			"write three octal digits, such as 755")
	}
	return fs.FileMode(mode), nil
}

// handleGet answers GET of a file. The answer has the size at the time of opening: bytes that a run appends are left
// out, and if a run shortens the file, the connection is closed before the announced end.
func (c *call) handleGet() error {
	f, info, err := c.Engine.GetFile(c.caller, c.id, c.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if info.Size > c.MaxFile {
		return no("request", "too_large", "path", fmt.Sprintf("the file has %d bytes, more than %d", info.Size, c.MaxFile),
			"split it in a run, and get the parts")
	}
	h := c.w.Header()
	h.Set("Content-Type", binary)
	h.Set("Content-Disposition", "attachment")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Length", strconv.FormatInt(info.Size, 10))
	c.head(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return nil
	}
	if err := c.send(f, info.Size); err != nil {
		c.failed = err
		panic(http.ErrAbortHandler)
	}
	return nil
}

// send writes exactly size bytes, with a time limit for each piece.
func (c *call) send(f io.Reader, size int64) error {
	buf := make([]byte, 64<<10)
	for size > 0 {
		n, err := f.Read(buf[:min(int64(len(buf)), size)])
		size -= int64(n)
		if n > 0 {
			c.writeTime()
			if _, err := c.w.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF && size > 0 {
			return io.ErrUnexpectedEOF
		}
		if err != nil && err != io.EOF && !errors.Is(err, os.ErrClosed) {
			return err
		}
		if errors.Is(err, os.ErrClosed) {
			return io.ErrUnexpectedEOF // the sandbox is gone
		}
	}
	return nil
}

// handleDelete answers DELETE of a file.
func (c *call) handleDelete() error {
	if err := c.Engine.DeleteFile(c.caller, c.id, c.path); err != nil {
		return err
	}
	c.head(http.StatusNoContent)
	return nil
}
