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

	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/nsjail/spec"
)

// yes reports whether a parameter of the query is 1 or true.
func (c *call) yes(name string) bool { return c.query.Get(name) == "1" || c.query.Get(name) == "true" }

func (c *call) listFiles() (any, error) {
	path := "/work"
	if c.query.Has("path") {
		path = c.query.Get("path")
	}
	list, more, err := c.Engine.ListFiles(c.Caller, c.id, path, c.yes("recursive"), c.query.Get("after"))
	return FileList{append([]engine.FileInfo{}, list...), more}, err
}

func (c *call) pathAllowed() (any, error) {
	yes, err := c.Engine.Allowed(c.Caller, c.id, c.query.Get("path"), c.yes("write"))
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

// putFile answers PUT of a file. It accepts any content type: a browser asks before it sends a PUT from a foreign page,
// and Guard refuses. A compressed body is refused, since its bytes are not those of the file.
func (c *call) putFile() (any, error) {
	if err := c.plain(); err != nil {
		return nil, err
	}
	if c.R.ContentLength > c.MaxFile {
		return nil, c.BodyFailed(front.ErrTooLarge, c.MaxFile)
	}
	mode, err := c.mode()
	if err != nil {
		return nil, err
	}
	c.ReadTime(8 * c.BodyTime)
	defer c.ReadTime(0)
	u := &upload{body: http.MaxBytesReader(c, c.R.Body, c.MaxFile)}
	info, err := c.Engine.PutFile(c.Caller, c.id, c.file(), u, mode)
	if c.Taken = u.done; u.failed != nil {
		return nil, c.BodyFailed(u.failed, c.MaxFile)
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

// getFile answers GET of a file. The answer has the size at the time of opening: bytes that a run appends are left out,
// and if a run shortens the file, or the sandbox is removed, the connection is closed before the announced end.
func (c *call) getFile() (any, error) {
	f, info, err := c.Engine.GetFile(c.Caller, c.id, c.file())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size > c.MaxFile {
		return nil, no("request", "too_large", "path",
			fmt.Sprintf("the file has %d bytes, more than %d", info.Size, c.MaxFile), "split it in a run, and get the parts")
	}
	h := c.Header()
	h.Set("Content-Type", binary)
	h.Set("Content-Disposition", "attachment")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Length", strconv.FormatInt(info.Size, 10))
	if text, err := json.Marshal(info); err == nil { // it is plain data
		h.Set(front.FileHeader, string(text))
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

func (c *call) deleteFile() (any, error) { return nil, c.Engine.DeleteFile(c.Caller, c.id, c.file()) }
