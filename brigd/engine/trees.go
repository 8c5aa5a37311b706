package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"io"

	"brig/brigd/audit"
	"brig/brigd/workspace"
)

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
