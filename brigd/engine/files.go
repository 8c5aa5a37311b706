package engine

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"slices"

	"brig/brigd/audit"
	"brig/brigd/job"
	"brig/brigd/workspace"
)

// MaxPutSize is the maximum size in bytes of a file that is put into a sandbox. The sandbox's quota applies too.
const MaxPutSize = 1 << 30

// files are those of sandboxes.
type files struct {
	boxes  *boxes
	access *access
	log    *Recorder
}

// inBox calls do for a sandbox, if the policies allow the operation.
func (s *files) inBox(c Caller, id, op string, do func(*workspace.Sandbox) error) error {
	if no := s.access.mayDo(c, op); no != nil {
		return no
	}
	box, no := s.boxes.find(c, id)
	if no != nil {
		return no
	}
	if err := do(box); err != nil {
		return asRefusal(err, "sandbox", "file_refused")
	}
	return nil
}

// PutFile writes a file of a sandbox. path is an absolute path in the jail, or relative to /work. Only the nine
// permission bits of mode are used; 0 means 0644.
func (s *files) PutFile(c Caller, id, path string, r io.Reader, mode fs.FileMode) (info *FileInfo, err error) {
	if mode == 0 {
		mode = 0o644
	}
	err = s.inBox(c, id, "put", func(box *workspace.Sandbox) (err error) {
		most := int64(MaxPutSize)
		for _, p := range s.access.of(c) {
			if n := int64(p.Inputs.FileBytes); n > 0 {
				most = min(most, n)
			}
		}
		info, err = s.log.put(box, onFile(audit.FilePut, c, box, path), path, r, mode, most)
		return err
	})
	return info, err
}

// GetFile opens a file of a sandbox. It is always a regular file, even if its name is replaced concurrently.
func (s *files) GetFile(c Caller, id, path string) (f io.ReadCloser, info *FileInfo, err error) {
	err = s.inBox(c, id, "get", func(box *workspace.Sandbox) (err error) {
		f, info, err = box.Tree.Open(path)
		return err
	})
	return f, info, err
}

// ListFiles lists a directory of a sandbox, and its subdirectories if recursive is set. more reports whether there are
// further entries. Those of a single directory are returned by another call with the last path as after.
func (s *files) ListFiles(c Caller, id, path string, recursive bool, after string) (
	list []FileInfo, more bool, err error) {
	err = s.inBox(c, id, "list", func(box *workspace.Sandbox) (err error) {
		list, more, err = box.Tree.List(path, recursive, after, workspace.MaxList)
		return err
	})
	return list, more, err
}

// DeleteFile deletes a file, or a directory with everything in it, from a sandbox.
func (s *files) DeleteFile(c Caller, id, path string) error {
	return s.inBox(c, id, "delete", func(box *workspace.Sandbox) error {
		if err := workspace.CheckPath(path); err != nil {
			return err
		}
		if no := s.log.record(onFile(audit.FileDelete, c, box, path)); no != nil {
			return no
		}
		return box.Tree.Remove(path)
	})
}

// Allowed reports whether a payload in the sandbox may read, or with write set may write, a path.
func (s *files) Allowed(c Caller, id, path string, write bool) (yes bool, err error) {
	err = s.inBox(c, id, "list", func(box *workspace.Sandbox) (err error) {
		yes, err = box.Tree.Allowed(path, write)
		return err
	})
	return yes, err
}

// putAll writes a request's files below /input. run is the id of the run that the request starts.
func (s *files) putAll(c Caller, box *workspace.Sandbox, run string, files map[string]File) *job.Refusal {
	if len(files) > 0 {
		if no := s.access.mayDo(c, "put"); no != nil {
			return no
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		below, no := fileName(name)
		if no != nil {
			return no
		}
		f := files[name]
		mode := fs.FileMode(0o644)
		if f.Executable {
			mode = 0o755
		}
		v := onFile(audit.FilePut, c, box, "/input/"+below)
		v.Run = run
		if _, err := s.log.put(box, v, v.Path, bytes.NewReader(f.Data), mode, int64(len(f.Data))); err != nil {
			return asRefusal(err, "sandbox", "file_refused")
		}
	}
	return nil
}
