package audit

import (
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"brig/internal/sys"
	"brig/internal/words"
)

// Values of Options.Sync: when written events are forced to the disk.
const (
	// once a second: a power failure loses newer events, a SIGKILL loses none
	SyncInterval = "interval"
	SyncAlways   = "always" // before Append returns; concurrent calls share one fsync(2)
	SyncNever    = "never"  // when the kernel decides
)

// Options configures a Log. All fields except Path have a default.
type Options struct {
	// Path is the current file. Older files have the names Path.000001 and so on. There is also Path.lock, and Path.torn
	// after an incomplete line was found.
	Path string
	// MaxBytes is the size at which a new file is started: 64 MiB by default, at least 1 MiB.
	MaxBytes int64
	// Keep is the number of older files to keep; 0 keeps all.
	Keep int
	// Sync is SyncInterval by default.
	Sync string
	// Argv includes the arguments in events, not only their digest. They may contain secrets.
	Argv bool
	// Broken, if set, is called with the reason when events can no longer be written, and with nil when they can again. It
	// must not call the Log.
	Broken func(why error)
	// Key signs a checkpoint every CheckpointEvery events (1000 by default), before each new file, and in Close.
	Key             ed25519.PrivateKey
	CheckpointEvery int
}

func (o *Options) complete() error {
	o.MaxBytes = cmp.Or(o.MaxBytes, 64<<20)
	o.Sync = cmp.Or(o.Sync, SyncInterval)
	o.CheckpointEvery = cmp.Or(o.CheckpointEvery, 1000)
	if o.Broken == nil {
		o.Broken = func(error) {}
	}
	switch {
	case o.Path == "":
		return errors.New("audit: Path: name the file to write")
	case o.MaxBytes < 1<<20:
		return fmt.Errorf("audit: MaxBytes: %d is less than a MiB", o.MaxBytes)
	case o.Keep < 0 || o.CheckpointEvery < 0:
		return errors.New("audit: Keep and CheckpointEvery must not be negative")
	case o.Sync != SyncInterval && o.Sync != SyncAlways && o.Sync != SyncNever:
		return fmt.Errorf("audit: Sync: %q is none of %s, %s and %s", o.Sync, SyncInterval, SyncAlways, SyncNever)
	case len(o.Key) != 0 && len(o.Key) != ed25519.PrivateKeySize:
		return errors.New("audit: Key: not an ed25519 private key")
	}
	return nil
}

// Log is an open log, and its only writer. Its methods may be called concurrently.
type Log struct {
	o    Options
	dir  *os.File
	base string // name of the current file in dir
	lock *os.File

	mu     sync.Mutex
	f      *os.File
	id     fileID // of f
	size   int64  // valid bytes in f
	number int    // number of the newest older file
	seq    uint64
	hash   string // of the last line
	since  int    // events since the last checkpoint
	closed bool

	half   bool  // f ends with an incomplete line
	broken error // why events cannot be written; nil if they can
	missed int64 // number of events that could not be written
	runs   []string

	next    func() error // syncs f once for all callers; nil if no event waits for that
	syncing sync.Mutex   // held by the caller that syncs

	unsynced int // how often fsync(2) has failed
}

// Open opens a log for writing, and creates it if it does not exist. It is an error if there is another writer, if
// other users may write to the file, or if the last lines do not form a chain. An incomplete last line is moved away
// and recorded.
func Open(o Options) (*Log, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	path, err := sys.Abs(o.Path)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	l := &Log{o: o, base: filepath.Base(path), hash: origin}
	if err := l.open(filepath.Dir(path)); err != nil {
		for _, f := range []*os.File{l.f, l.lock, l.dir} {
			_ = f.Close() // nil is an error, too
		}
		return nil, fmt.Errorf("the audit log %s: %w", path, err)
	}
	return l, nil
}

func (l *Log) open(dir string) (err error) {
	if l.dir, err = openDir(dir); err != nil {
		return err
	}
	if l.lock, err = lockFile(l.dir, l.base+".lock"); err != nil {
		return err
	}
	torn, err := l.resume()
	if err != nil {
		return err
	}
	if torn != nil {
		if err := l.own(*torn, l.put); err != nil {
			return err
		}
	}
	if err := l.own(Event{Kind: LogOpen, Note: fmt.Sprintf("pid %d, sync %s", os.Getpid(), l.o.Sync)}, l.put); err != nil {
		return err
	}
	return l.f.Sync()
}

// Append writes an event. If it returns nil, the kernel has the event, and with SyncAlways it is on the disk. After an
// error, the event was not written or may be lost, so the operation that it is about must not happen.
func (l *Log) Append(e Event) error {
	if strings.HasPrefix(e.Kind, "log.") || e.Kind == "" || strings.Trim(e.Kind, "abcdefghijklmnopqrstuvwxyz._") != "" {
		return fmt.Errorf("audit: an event may not be called %q: small letters, dots and underscores, and not log",
			words.UTF8(e.Kind, maxName))
	}
	return l.add(&e)
}

// add is Append for any kind of event.
func (l *Log) add(e *Event) error {
	fields, err := e.encode()
	l.mu.Lock()
	synced, err := l.append(fields, err)
	if err != nil {
		l.missed++
		if e.Run != "" && len(l.runs) < maxList {
			l.runs = append(l.runs, e.Run)
		}
	}
	l.mu.Unlock()
	if err != nil || l.o.Sync != SyncAlways {
		return err
	}
	return synced()
}

// append writes an event's fields, and returns the function that syncs them. The caller holds mu.
func (l *Log) append(fields []byte, failed error) (synced func() error, err error) {
	switch {
	case l.closed:
		return nil, errors.New("audit: the log is closed")
	case failed != nil:
		l.breakOff(failed)
		return nil, failed
	case l.broken != nil:
		if err := l.mend(); err != nil {
			return nil, err
		}
	}
	if err := l.put(fields); err != nil {
		l.breakOff(err)
		return nil, err
	}
	if l.since++; l.since >= l.o.CheckpointEvery {
		if err := l.checkpoint(); err != nil {
			l.breakOff(err) // affects the next event: this one is written
		}
	}
	if l.next == nil && l.o.Sync != SyncNever {
		failed := l.unsynced
		next := sync.OnceValue(func() error { return l.sync(failed) })
		l.next = next
		if l.o.Sync == SyncInterval {
			time.AfterFunc(time.Second, func() { _ = next() }) // the next event is refused if it fails
		}
	}
	return l.next, nil
}

// sync forces the file to the disk. Callers whose events are written meanwhile share the next call. failed is
// Log.unsynced before the first of the events was written.
func (l *Log) sync(failed int) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	f := l.f
	l.next = nil
	l.mu.Unlock()
	err := f.Sync()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil && !errors.Is(err, os.ErrClosed): // else rotate has synced the file, or Close has
		l.unsynced++
		l.breakOff(fmt.Errorf("%w: %w", errUnsynced, err))
		return err
	case l.unsynced != failed:
		return errUnsynced
	}
	return nil
}

var errUnsynced = errors.New("what was written last may be lost after a power failure")

// fsync is fsync(2) of the current file. The kernel reports a failed write once, so the count tells those who have
// written before. The caller holds mu.
func (l *Log) fsync() error {
	err := l.f.Sync()
	if err != nil {
		l.unsynced++
	}
	return err
}

// Broken returns why events cannot be written at present, or nil if no error is known.
func (l *Log) Broken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

// Close writes log.close, syncs and closes the log. Later calls of Append fail.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	var err error
	if l.broken != nil {
		err = l.mend()
	}
	if err == nil {
		err = l.own(Event{Kind: LogClose}, l.put)
	}
	if err == nil {
		err = l.checkpoint()
	}
	return errors.Join(err, l.fsync(), l.f.Close(), l.lock.Close(), l.dir.Close())
}
