package changes

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"brig/internal/store"
	"brig/internal/sys"
	"brig/internal/words"
)

// The files of a set.
const (
	headerFile  = "set.json"
	filesFile   = "files.json"
	layerFile   = "layer.tar"
	journalFile = "journal.json"
	notesFile   = "journal.log"
)

// Limits bound a store. What exceeds them is removed when the next set comes in, the oldest first; the newest stays.
type Limits struct {
	Age   time.Duration
	Count int
	Bytes int64 // of layers and lists of files
}

// DefaultLimits returns the limits of a store that Open returns.
func DefaultLimits() Limits { return Limits{Age: 30 * 24 * time.Hour, Count: 100, Bytes: 8 << 30} }

// DefaultDir returns the directory of the caller's store: /var/lib/brig/changes for root, and
// $XDG_STATE_HOME/brig/changes or ~/.local/state/brig/changes for others (store.StateDir).
func DefaultDir() (string, error) {
	if dir := store.StateDir(); dir != "" {
		return filepath.Join(dir, "changes"), nil
	}
	return "", errors.New("neither XDG_STATE_HOME nor HOME is an absolute path")
}

// Store is a directory of sets.
type Store struct {
	Limits Limits
	dir    *store.Dir
}

// Open opens the store in a directory, DefaultDir for "", and makes it if it is missing. It must belong to the caller,
// and must not be writable for others.
func Open(dir string) (*Store, error) {
	if dir == "" {
		var err error
		if dir, err = DefaultDir(); err != nil {
			return nil, err
		}
	}
	dir, err := sys.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := store.Make(dir, 0o700); err != nil {
		return nil, err
	}
	d, err := store.Open(dir, 0, store.Writing)
	var foreign *store.NotOwn
	if errors.As(err, &foreign) {
		err = fmt.Errorf("%s belongs to uid %d and has mode %#o; it must be yours, and writable for nobody else",
			words.Quote(dir), foreign.UID, foreign.Mode&permissions)
	}
	if err != nil {
		return nil, err
	}
	return &Store{DefaultLimits(), d}, nil
}

// Close closes the store's directory. Sets of it cannot be used afterwards.
func (s *Store) Close() error { return s.dir.Close() }

// DamagedError is the error for a set whose content does not match its id.
type DamagedError struct {
	ID  string
	Err error
}

// Error names the remedy.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("the change set %s was changed on disk: %v; brig discard %[1]s removes it", e.ID[:12], e.Err)
}

// Unwrap returns the reason.
func (e *DamagedError) Unwrap() error { return e.Err }

// create writes a new file to the disk, and returns its digest.
func (s *Store) create(name, media string, write func(io.Writer) error) (b Blob, err error) {
	f, err := s.dir.Open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return b, err
	}
	buffered, written := bufio.NewWriterSize(f, bufferSize), newSum()
	if err = write(io.MultiWriter(buffered, written)); err == nil {
		err = errors.Join(buffered.Flush(), f.Sync())
	}
	return Blob{media, digestPrefix + written.digest(), written.size}, errors.Join(err, f.Close())
}

// put is create of a text.
func (s *Store) put(name string, text []byte) error {
	_, err := s.create(name, "", func(w io.Writer) error { _, err := w.Write(text); return err })
	return err
}
