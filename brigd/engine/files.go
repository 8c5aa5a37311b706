package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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
		info, err = s.log.put(box, onFile(audit.FilePut, c, box, path), path, r, mode, s.mostPut(c))
		return err
	})
	return info, err
}

// mostPut returns how many bytes a file may have that a caller writes.
func (s *files) mostPut(c Caller) int64 {
	most := int64(MaxPutSize)
	for _, p := range s.access.of(c) {
		if n := int64(p.Inputs.FileBytes); n > 0 {
			most = min(most, n)
		}
	}
	return most
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

// PutTree writes the files of a tar archive below a directory of a sandbox: see workspace.Tree.PutTree. What was
// written before an error stays.
func (s *files) PutTree(c Caller, id, path string, r io.Reader) (stats *TreeStats, err error) {
	err = s.inBox(c, id, "put", func(box *workspace.Sandbox) error {
		b := workspace.TreeBounds{Bytes: MaxPutSize, FileSize: MaxPutSize}
		for _, p := range s.access.of(c) {
			b.Files = least(b.Files, p.Inputs.Files)
			b.Bytes, b.FileSize = least(b.Bytes, int64(p.Inputs.TotalBytes)), least(b.FileSize, int64(p.Inputs.FileBytes))
		}
		v := onFile(audit.TreePut, c, box, path)
		if no := s.log.record(v); no != nil {
			return no
		}
		sum := sha256.New()
		var err error
		stats, err = box.Tree.PutTree(path, io.TeeReader(r, sum), b)
		v.Kind = audit.TreePutEnd
		if err == nil {
			v.Bytes, v.Count, v.Digest = stats.Bytes, stats.Files, hex.EncodeToString(sum.Sum(nil))
		} else {
			v.Note = "not all of the archive was written"
		}
		if no := s.log.record(v); no != nil && err == nil {
			return no
		}
		return err
	})
	return stats, err
}

// GetTree writes the files below a directory of a sandbox as a tar archive of at most max bytes of content: see
// workspace.Tree.GetTree.
func (s *files) GetTree(c Caller, id, path string, w io.Writer, max int64) (stats *TreeStats, err error) {
	err = s.inBox(c, id, "get", func(box *workspace.Sandbox) (err error) {
		stats, err = box.Tree.GetTree(path, w, max)
		return err
	})
	return stats, err
}
