package engine

import (
	"fmt"
	"io"
	"io/fs"

	"brig/brigd/audit"
	"brig/brigd/workspace"
)

// Edit is a change of a file's text.
type Edit = workspace.Edit

// fileTools change single files of sandboxes where they are.
type fileTools struct{ files *files }

// in calls do for a sandbox, if the policies allow all operations.
func (s fileTools) in(c Caller, id string, do func(*workspace.Sandbox) error, ops ...string) error {
	for _, op := range ops[1:] {
		if no := s.files.access.mayDo(c, op); no != nil {
			return no
		}
	}
	return s.files.inBox(c, id, ops[0], do)
}

// change calls do after the change of a file has been recorded.
func (s fileTools) change(v audit.Event, do func() (*FileInfo, error)) (*FileInfo, error) {
	if no := s.files.log.record(v); no != nil {
		return nil, no
	}
	return do()
}

// StatFile describes one file of a sandbox, of any type.
func (s fileTools) StatFile(c Caller, id, path string) (info *FileInfo, err error) {
	err = s.in(c, id, func(box *workspace.Sandbox) (err error) {
		info, err = box.Tools.Stat(path)
		return err
	}, "list")
	return info, err
}

// MakeDir makes a directory of a sandbox, and missing ones above it. Only the nine permission bits of mode are used; 0
// means 0755.
func (s fileTools) MakeDir(c Caller, id, path string, mode fs.FileMode) (info *FileInfo, err error) {
	if mode == 0 {
		mode = 0o755
	}
	err = s.in(c, id, func(box *workspace.Sandbox) (err error) {
		if err := workspace.CheckPath(path); err != nil {
			return err
		}
		info, err = s.change(onFile(audit.DirMake, c, box, path), func() (*FileInfo, error) {
			return box.Tools.MakeDir(path, mode)
		})
		return err
	}, "put")
	return info, err
}

// MoveFile renames a file or directory of a sandbox: see workspace.Tools.Move.
func (s fileTools) MoveFile(c Caller, id, from, to string, overwrite bool) (info *FileInfo, err error) {
	err = s.in(c, id, func(box *workspace.Sandbox) (err error) {
		for _, path := range []string{from, to} {
			if err := workspace.CheckPath(path); err != nil {
				return err
			}
		}
		v := onFile(audit.FileMove, c, box, from)
		v.To = onFile("", c, box, to).Path
		info, err = s.change(v, func() (*FileInfo, error) { return box.Tools.Move(from, to, overwrite) })
		return err
	}, "put", "delete")
	return info, err
}

// ChmodFile sets the nine permission bits of a file of a sandbox.
func (s fileTools) ChmodFile(c Caller, id, path string, mode fs.FileMode) (info *FileInfo, err error) {
	err = s.in(c, id, func(box *workspace.Sandbox) (err error) {
		if err := workspace.CheckPath(path); err != nil {
			return err
		}
		v := onFile(audit.FileChmod, c, box, path)
		v.Note = fmt.Sprintf("mode %04o", mode.Perm())
		info, err = s.change(v, func() (*FileInfo, error) { return box.Tools.Chmod(path, mode) })
		return err
	}, "put")
	return info, err
}

// EditFile replaces a text of a file of a sandbox: see workspace.Tools.Edit. It returns how often it has replaced it.
func (s fileTools) EditFile(c Caller, id, path string, edit *Edit) (info *FileInfo, replaced int, err error) {
	err = s.in(c, id, func(box *workspace.Sandbox) (err error) {
		v := onFile(audit.FilePut, c, box, path)
		info, replaced, err = box.Tools.Edit(path, *edit, func(r io.Reader, mode fs.FileMode) (*FileInfo, error) {
			return s.files.log.put(box, v, path, r, mode, s.files.mostPut(c))
		})
		return err
	}, "put", "get")
	return info, replaced, err
}
