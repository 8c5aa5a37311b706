package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"path"

	"brig/brigd/audit"
	"brig/brigd/job"
	"brig/brigd/workspace"
	"brig/nsjail/spec"
)

// onFile returns an event for a file of a sandbox.
func onFile(kind string, c Caller, box *workspace.Sandbox, name string) audit.Event {
	v := about(kind, c, box)
	if v.Path = path.Clean(name); !path.IsAbs(name) {
		v.Path = path.Join(spec.DefaultWorkdir, name)
	}
	return v
}

// put writes a file of a sandbox. Its digest is logged before the file gets its final name.
func (l *Recorder) put(box *workspace.Sandbox, v audit.Event, name string, r io.Reader,
	perm fs.FileMode, most int64) (*FileInfo, error) {
	if l == nil {
		return box.Tree.Put(name, r, perm, most)
	}
	w := &recorded{r: r, sum: sha256.New()}
	w.note = func() *job.Refusal {
		v.Bytes, v.Digest = w.bytes, hex.EncodeToString(w.sum.Sum(nil))
		return l.record(v)
	}
	info, err := box.Tree.Put(name, w, perm, most)
	if w.no != nil {
		return nil, w.no
	}
	return info, err
}

// recorded is an io.Reader for a file's content. It returns io.EOF only after note has logged the content.
type recorded struct {
	r     io.Reader
	sum   hash.Hash
	bytes int64
	note  func() *job.Refusal
	ended bool // note was called
	no    *job.Refusal
}

// Read implements io.Reader. It never returns data together with io.EOF, so that a file that is too large is not
// logged.
func (w *recorded) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	_, _ = w.sum.Write(p[:n]) // a hash.Hash never fails
	w.bytes += int64(n)
	if err != io.EOF {
		return n, err
	}
	if n > 0 {
		return n, nil // the next call returns 0 and io.EOF: see io.Reader
	}
	if !w.ended {
		w.ended, w.no = true, w.note()
	}
	if w.no != nil {
		return 0, errors.New("it could not be written to the audit log")
	}
	return 0, io.EOF
}

// about returns an event for a sandbox.
func about(kind string, c Caller, box *workspace.Sandbox) audit.Event {
	return audit.Event{Kind: kind, Agent: box.Agent, Token: c.Grant.id(), Sandbox: box.ID}
}
