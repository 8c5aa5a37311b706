package token

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// Bounds on the number of blocks that a ledger counts: in total, derived from one issued token, and derived from one
// second block. A holder can derive any number of tokens. These fill the holder's share, but not that of others who
// were given the same token.
const (
	maxEntries         = 1 << 20
	maxEntriesOfRoot   = 1 << 18
	maxEntriesOfHolder = 4096
)

// Ledger records, in a directory, how often tokens were used and which are revoked. Only one process can have it open;
// the function Revoke works at the same time. Its methods may be called concurrently.
//
// The directory (mode 0700) contains counts.db, a bbolt database that Spend commits to before it returns, and the
// directory revoked, with a file for each revoked id.
//
// A ledger counts at most 4096 blocks derived from one second block of a token. A holder who narrows a shared token
// more often is refused; its other holders are not.
type Ledger struct {
	dir, revoked *os.File // directories

	open   sync.RWMutex // read-locked while the ledger is in use, so that Close waits
	closed bool

	queue   sync.Mutex
	waiting []*spend // for the next commit

	write  sync.Mutex // held by the goroutine that commits
	db     *bbolt.DB
	file   *os.File       // of db
	size   int64          // of file after the last commit, in bytes
	swept  time.Time      // when entries were last removed
	shares map[string]int // entries by the id of the first or second block of their token; the total by ""
}

// spend is one call of Spend.
type spend struct {
	token *Token
	now   time.Time
	err   error // set with write held
}

// OpenLedger opens the ledger in a directory, and creates it if it does not exist. It is an error if another process
// has the ledger open, if other users may enter the directory, or if the database is damaged. A transaction that was
// interrupted by a SIGKILL or a power failure has no effect: its runs were not allowed yet.
func OpenLedger(path string) (*Ledger, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("the ledger's directory: %w", err)
	}
	dir, err := openDir(path)
	if err != nil {
		return nil, err
	}
	l := &Ledger{dir: dir}
	if l.revoked, err = openRevoked(dir, path); err == nil {
		if err = l.openCounts(path); err == nil {
			err = l.pruneRevoked()
		}
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Close closes the ledger when the calls in progress have ended. Later calls are refused.
func (l *Ledger) Close() (err error) {
	l.open.Lock()
	defer l.open.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.db != nil {
		err = l.db.Close()
	}
	for _, f := range []*os.File{l.revoked, l.dir} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

// Spend uses one run of every block of t that limits runs, or of none of them. It returns nil when the counts are on
// the disk. It also refuses a token that Verify has not accepted, that has expired, or that has a revoked block. For a
// token without limits it writes nothing. The error is a *job.Refusal.
func (l *Ledger) Spend(t *Token, now time.Time) error {
	if t.trusted.Load() == nil {
		return refuse(CodeSignature, "", "the token has not been verified")
	}
	if err := t.checkTime(now); err != nil {
		return err
	}
	if err := l.Revoked(t.IDs()...); err != nil {
		return err
	}
	if !slices.ContainsFunc(t.blocks, func(b block) bool { return b.Runs > 0 }) {
		return nil
	}
	l.open.RLock()
	defer l.open.RUnlock()
	if l.closed {
		return refuse(CodeLedger, "", "the ledger is closed")
	}
	s := &spend{token: t, now: now}
	l.queue.Lock()
	l.waiting = append(l.waiting, s)
	l.queue.Unlock()
	l.write.Lock()
	defer l.write.Unlock()
	l.commit()
	return s.err
}

// commit counts all waiting runs in one transaction. The caller holds write.
func (l *Ledger) commit() {
	l.queue.Lock()
	all := l.waiting
	l.waiting = nil
	l.queue.Unlock()
	if len(all) == 0 {
		return // another goroutine has counted the run
	}
	err := l.untouched()
	if err == nil {
		err = guarded(func() error { return l.db.Update(func(tx *bbolt.Tx) error { return l.countAll(tx, all) }) })
		if errors.Is(err, errNothing) {
			err = nil
		} else if err != nil {
			l.swept = time.Time{} // the shares must be counted again
		}
		err = errors.Join(err, l.measure()) // a failed commit may have extended the file
	}
	for _, s := range all {
		if err != nil && s.err == nil {
			s.err = refuse(CodeLedger, "runs", "the run could not be counted: %v", err)
		}
	}
}

// untouched returns an error if the database was removed or truncated since the last commit. It is mapped into memory,
// and writes to a removed file would be lost.
func (l *Ledger) untouched() error {
	size := l.size
	if err := l.measure(); err != nil {
		return err
	}
	if l.size != size {
		l.size = size
		return fmt.Errorf("%s was altered by another program: stop brigd, and restore the file", l.file.Name())
	}
	return nil
}

// measure stores the size of the database.
func (l *Ledger) measure() error {
	var st unix.Stat_t
	if err := unix.Fstat(int(l.file.Fd()), &st); err != nil { // fstat(2)
		return os.NewSyscallError("fstat", err)
	}
	if st.Nlink == 0 {
		return fmt.Errorf("%s was removed: stop brigd, and restore the file", l.file.Name())
	}
	l.size = st.Size
	return nil
}

// guarded converts a panic to an error: bbolt panics if a page is damaged.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // SIGBUS, if the file is too short
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("its database is damaged: %v", r)
		}
	}()
	return f()
}
