package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/nsjail/spec"
)

// fileHandlers answer requests about the files of sandboxes.
type fileHandlers struct {
	files    front.Files
	boxes    front.Boxes
	maxFile  int64
	bodyTime time.Duration
}

func (h *fileHandlers) list(c *call) (any, error) {
	path := "/work"
	if c.query.Has("path") {
		path = c.query.Get("path")
	}
	list, more, err := h.files.ListFiles(c.Caller, c.id, path, c.yes("recursive"), c.query.Get("after"))
	return FileList{append([]engine.FileInfo{}, list...), more}, err
}

func (h *fileHandlers) allowed(c *call) (any, error) {
	yes, err := h.files.Allowed(c.Caller, c.id, c.query.Get("path"), c.yes("write"))
	return PathAllowed{yes}, err
}

// roots are directories that a jail's root may have: a path in a URL that begins with one is absolute.
var roots = strings.Fields("bin boot code data dev etc home input lib lib32 lib64 libx32 lost+found media mnt opt " +
	"output proc root run sbin srv sys tmp usr var work")

// file returns the path of the file that a request is about. One that is not absolute is below /work, as relative
// paths are in all requests. Another brigd sends absolute ones only.
func (c *call) file() string {
	first, _, _ := strings.Cut(c.path[1:], "/")
	if c.Caller.Counted || slices.Contains(roots, first) {
		return c.path
	}
	return spec.DefaultWorkdir + c.path
}

// upload is the body of a request that writes a file. It records the error that ended the body, since its reader may
// not return it.
type upload struct {
	body   io.Reader
	failed error
	done   bool
}

func (u *upload) Read(p []byte) (int, error) {
	n, err := u.body.Read(p)
	if u.done = err == io.EOF; !u.done {
		u.failed = err
	}
	return n, err
}

// put answers PUT of a file. It accepts any content type: a browser asks before it sends a PUT from a foreign page,
// and Guard refuses. A compressed body is refused, since its bytes are not those of the file.
func (h *fileHandlers) put(c *call) (any, error) {
	if err := c.plain(); err != nil {
		return nil, err
	}
	if c.R.ContentLength > h.maxFile {
		return nil, c.BodyFailed(front.ErrTooLarge, h.maxFile)
	}
	mode, err := c.mode()
	if err != nil {
		return nil, err
	}
	c.ReadTime(8 * h.bodyTime)
	defer c.ReadTime(0)
	u := &upload{body: http.MaxBytesReader(c, c.R.Body, h.maxFile)}
	info, err := h.files.PutFile(c.Caller, c.id, c.file(), u, mode)
	if c.Taken = u.done; u.failed != nil {
		return nil, c.BodyFailed(u.failed, h.maxFile)
	}
	return info, err
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

// get answers GET of a file. The answer has the size at the time of opening: bytes that a run appends are left out,
// and if a run shortens the file, or the sandbox is removed, the connection is closed before the announced end.
func (h *fileHandlers) get(c *call) (any, error) {
	f, info, err := h.files.GetFile(c.Caller, c.id, c.file())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size > h.maxFile {
		return nil, no("request", "too_large", "path",
			fmt.Sprintf("the file has %d bytes, more than %d", info.Size, h.maxFile), "split it in a run, and get the parts")
	}
	header := c.Header()
	header.Set("Content-Type", binary)
	header.Set("Content-Disposition", "attachment")
	header.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	header.Set("Content-Length", strconv.FormatInt(info.Size, 10))
	if text, err := json.Marshal(info); err == nil { // it is plain data
		header.Set(front.FileHeader, string(text))
	}
	c.WriteHeader(http.StatusOK)
	if c.R.Method == http.MethodHead {
		return nil, nil
	}
	if _, err := io.CopyN(c, f, info.Size); err != nil {
		if err == io.EOF || errors.Is(err, os.ErrClosed) {
			err = io.ErrUnexpectedEOF
		}
		c.Failed = err
		panic(http.ErrAbortHandler)
	}
	return nil, nil
}

func (h *fileHandlers) remove(c *call) (any, error) {
	return nil, h.files.DeleteFile(c.Caller, c.id, c.file())
}
