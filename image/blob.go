package image

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"brig/internal/store"
	"brig/internal/words"
)

// Writer adds to a store. While it is open, nothing is pruned.
type Writer struct {
	*editor
	lock *os.File
}

// editor changes a store, whose directory it holds.
type editor struct {
	s   *Store
	dir *store.Dir
}

func (s *Store) edit() (*editor, error) {
	d, err := store.Open(s.dir, 0, store.Writing)
	if err != nil {
		return nil, fmt.Errorf("the image store: %w", err)
	}
	return &editor{s, d}, nil
}

// Write makes the store if needed, waits for a prune that is under way, and returns a Writer, which the caller closes.
func (s *Store) Write() (*Writer, error) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, fmt.Errorf("the image store: %w%w", err, words.Error("; name another place ("+words.Set("store", "DIR")+
			", or XDG_DATA_HOME)"))
	}
	if _, err := Open(s.dir); err != nil { // somebody else may have made it since
		return nil, err
	}
	for _, d := range []string{"names", "images", "files", "blobs", "work"} {
		if err := os.MkdirAll(s.path(d), 0o755); err != nil {
			return nil, fmt.Errorf("the image store: %w", err)
		}
	}
	if err := os.Chmod(s.dir, 0o700); err != nil { // images may hold secrets
		return nil, fmt.Errorf("the image store: %w", err)
	}
	e, err := s.edit()
	if err != nil {
		return nil, err
	}
	f, err := e.locked("lock", unix.LOCK_SH)
	if err != nil {
		return nil, errors.Join(err, e.dir.Close())
	}
	return &Writer{e, f}, nil
}

// Close lets others prune again.
func (w *Writer) Close() error { return errors.Join(w.lock.Close(), w.dir.Close()) }

// locked opens a lock file of the store and takes its lock.
func (e *editor) locked(name string, how int) (*os.File, error) {
	f, err := e.dir.Hold(name, os.O_RDWR|os.O_CREATE, how)
	if err != nil {
		return nil, fmt.Errorf("the image store: %s: %w", name, err)
	}
	return f, nil
}

// hexOf returns the digits of a digest.
func hexOf(digest string) (string, error) {
	if len(digest) == len(sha256Prefix)+hexBytes && digest[:len(sha256Prefix)] == sha256Prefix &&
		isHex(digest[len(sha256Prefix):], hexBytes) {
		return digest[len(sha256Prefix):], nil
	}
	return "", fmt.Errorf("the digest %s is not sha256: and 64 of the digits 0-9 and a-f", words.Quote(digest))
}

// DigestOf returns the digest of a text: sha256:HEX.
func DigestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return sha256Prefix + hex.EncodeToString(sum[:])
}

// Fetch opens a blob from an offset on, or from its start. It returns the offset.
type Fetch func(from int64) (r io.ReadCloser, at int64, err error)

// Receive brings a blob of a known digest and size, unless the store has it. It waits for another process that receives
// the same blob, and continues after the bytes that an earlier one has left. It calls seen with the number of bytes so
// far. The blob gets its name only after its digest has been verified.
func (w *Writer) Receive(digest string, size int64, fetch Fetch, seen func(have int64)) error {
	name, err := hexOf(digest)
	if err != nil {
		return err
	}
	done := "blobs/" + name
	part := done + ".part"
	f, err := w.claim(part, done, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return w.s.explain(err)
	}
	if f == nil {
		if st, err := w.dir.Stat(done); err != nil || st.Size != size {
			return errors.Join(err, fmt.Errorf("the blob %s is in the store, and does not have %d bytes", digest, size))
		}
		seen(size)
		return nil
	}
	defer f.Close()
	earlier, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		err = receive(f, digest, size, fetch, seen)
	}
	var wrong *digestError
	if errors.As(err, &wrong) && earlier > 0 { // the bytes that an earlier process has left may be wrong
		if err = f.Truncate(0); err == nil {
			err = receive(f, digest, size, fetch, seen)
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = w.dir.Rename(part, done)
	}
	if errors.As(err, &wrong) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		err = errors.Join(err, w.dir.Unlink(part))
	}
	return w.s.explain(err)
}

// digestError is the error for a blob or layer with another digest than expected.
type digestError struct{ what, is, want string }

func (e *digestError) Error() string {
	return fmt.Sprintf("the %s is not what its digest says: it has %s, and should have %s", e.what, e.is, e.want)
}

// receive completes a blob.
func receive(f *os.File, digest string, size int64, fetch Fetch, seen func(int64)) error {
	_, err := f.Seek(0, io.SeekStart)
	if err != nil {
		return err
	}
	sum := sha256.New()
	have, err := io.Copy(sum, f)
	if err != nil {
		return err
	}
	if have < size || have == 0 {
		r, at, err := fetch(have)
		if err != nil {
			return err
		}
		defer r.Close()
		if at != have {
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return err
			}
			if err := f.Truncate(0); err != nil {
				return err
			}
			sum.Reset()
			have = 0
		}
		to := io.MultiWriter(f, sum, counter(func(n int) { have += int64(n); seen(have) }))
		if _, err = io.Copy(to, io.LimitReader(r, size-have+1)); err != nil {
			return err
		}
	}
	is := sha256Prefix + hex.EncodeToString(sum.Sum(nil))
	switch {
	case have < size:
		return fmt.Errorf("the blob %s ends after %d of %d bytes: %w", digest, have, size, io.ErrUnexpectedEOF)
	case have > size:
		return &digestError{"blob", fmt.Sprintf("more than %d bytes", size), digest}
	case is != digest:
		return &digestError{"blob", is, digest}
	}
	seen(size)
	return nil
}

type counter func(n int)

func (c counter) Write(b []byte) (int, error) {
	c(len(b))
	return len(b), nil
}

// Keep stores what fill writes as a blob, and returns its digest.
func (w *Writer) Keep(fill func(io.Writer) error) (digest string, size int64, err error) {
	draft, f, err := w.dir.Create("work/blob-")
	if err != nil {
		return "", 0, w.s.explain(err)
	}
	defer f.Close()
	sum := sha256.New()
	err = fill(io.MultiWriter(f, sum, counter(func(n int) { size += int64(n) })))
	name := hex.EncodeToString(sum.Sum(nil))
	if err == nil {
		err = w.dir.Publish(f, draft, "blobs/"+name)
	}
	if err != nil {
		return "", 0, w.s.explain(errors.Join(err, w.dir.Drop(draft)))
	}
	return sha256Prefix + name, size, nil
}

// Spool returns a file without a name below the store, for an input that must be read more than once.
func (w *Writer) Spool() (*os.File, error) {
	name, f, err := w.dir.Create("work/spool-")
	if err == nil {
		if err = w.dir.Unlink(name); err != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return f, w.s.explain(err)
}

// Blob opens a blob of the store, compressed as it came.
func (s *Store) Blob(digest string) (*os.File, error) {
	name, err := hexOf(digest)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(s.path("blobs", name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the image store has no blob %s; pull or import the image again", digest)
	}
	return f, err
}

// explain adds to an error of a full disk what to do.
func (s *Store) explain(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fmt.Errorf("the image store %s is full: %w%w", words.Quote(s.dir), err, words.Error("; brigd image prune and "+
			"rm make room, "+words.Set("store", "DIR")+" names another place"))
	}
	return err
}
