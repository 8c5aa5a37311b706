package audit

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// When what was written is forced to the disk: Options.Sync.
const (
	// once in Options.Interval: a power failure may take what is younger; a SIGKILL takes nothing
	SyncInterval = "interval"
	SyncAlways   = "always" // before Append returns; those that wait share one fsync(2)
	SyncNever    = "never"  // whenever the kernel likes
)

// Options are where and how to write. The zero value of each but Path is a default.
type Options struct {
	// Path is the current file. Older ones lie beside it, as Path.000001 and so on; Path.lock, and Path.torn if a line was
	// ever torn.
	Path string
	// MaxBytes is the size from which on a new file is begun: 64 MiB by default, 1 MiB at least.
	MaxBytes int64
	// Keep is how many older files are kept; 0 is all.
	Keep int
	// Sync is SyncInterval by default.
	Sync string
	// Interval is for SyncInterval: a second by default.
	Interval time.Duration
	// Argv has the arguments written down and not only their digest. They may hold secrets.
	Argv bool
	// Broken, if set, is called with the reason when nothing can be written any more, and with nil when writing works
	// again. It must not call the Log.
	Broken func(why error)
	// Key signs a checkpoint every CheckpointEvery events (1000 by default), before each new file and at Close.
	Key             ed25519.PrivateKey
	CheckpointEvery int
}

func (o *Options) complete() error {
	if o.MaxBytes == 0 {
		o.MaxBytes = 64 << 20
	}
	if o.Sync == "" {
		o.Sync = SyncInterval
	}
	if o.Interval == 0 {
		o.Interval = time.Second
	}
	if o.CheckpointEvery == 0 {
		o.CheckpointEvery = 1000
	}
	switch {
	case o.Path == "":
		return errors.New("audit: Path: name the file to write")
	case o.MaxBytes < 1<<20:
		return fmt.Errorf("audit: MaxBytes: %d is less than a MiB", o.MaxBytes)
	case o.Keep < 0 || o.Interval < 0 || o.CheckpointEvery < 0:
		return errors.New("audit: Keep, Interval and CheckpointEvery must not be negative")
	case o.Sync != SyncInterval && o.Sync != SyncAlways && o.Sync != SyncNever:
		return fmt.Errorf("audit: Sync: %q is none of %s, %s and %s", o.Sync, SyncInterval, SyncAlways, SyncNever)
	case len(o.Key) != 0 && len(o.Key) != ed25519.PrivateKeySize:
		return errors.New("audit: Key: not an ed25519 private key")
	}
	return nil
}

// Log is an open log, and its only writer. Its methods may be called by many at a time.
type Log struct {
	o    Options
	dir  *os.File
	base string // the file's name in dir
	lock *os.File

	mu     sync.Mutex
	f      *os.File
	id     fileID // of f
	size   int64  // of the good lines in f, in bytes
	number int    // of the newest older file
	seq    uint64
	hash   string // of the last line
	since  int    // events since the last checkpoint
	unsure bool   // something was written that was not synced
	closed bool

	half   bool  // f ends with a part of a line that could not be written
	broken error // why nothing can be written; nil if it can
	missed int64 // events that were not written since
	runs   []string

	next *batch        // who waits for the next sync; nil for none
	work chan struct{} // one token: there is a batch, or the interval's tick
	done chan struct{} // closed when the syncer has ended
}

// batch is who waits for a sync.
type batch struct {
	done chan struct{}
	err  error // set before done is closed
}

// Open opens a log, or begins one, for writing. Another writer, a file that others may write, and an end that does not
// fit together are errors; a last line that was cut off in the middle is set aside and recorded.
func Open(o Options) (*Log, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	l := &Log{o: o, base: filepath.Base(path), hash: origin, work: make(chan struct{}, 1), done: make(chan struct{})}
	if err := l.open(filepath.Dir(path)); err != nil {
		for _, f := range []*os.File{l.f, l.lock, l.dir} {
			if f != nil {
				err = errors.Join(err, f.Close())
			}
		}
		return nil, fmt.Errorf("the audit log %s: %w", path, err)
	}
	go l.syncer()
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
	first := Event{Kind: LogOpen, Note: fmt.Sprintf("pid %d, sync %s", os.Getpid(), l.o.Sync)}
	for _, e := range []*Event{torn, &first} {
		if e == nil {
			continue
		}
		fields, err := e.encode()
		if err == nil {
			err = l.put(fields)
		}
		if err != nil {
			return err
		}
	}
	return l.f.Sync()
}

// Append writes an event. When it returns nil, the event has been given to the kernel, and with SyncAlways it is on the
// disk. With an error, it was not written, or that is not certain: what it is about must not happen.
func (l *Log) Append(e Event) error {
	if strings.HasPrefix(e.Kind, "log.") || e.Kind == "" || strings.Trim(e.Kind, "abcdefghijklmnopqrstuvwxyz._") != "" {
		return fmt.Errorf("audit: an event may not be called %q: small letters, dots and underscores, and not log",
			clean(e.Kind, maxName))
	}
	return l.add(&e)
}

// add is Append, of any kind.
func (l *Log) add(e *Event) error {
	fields, err := e.encode()
	l.mu.Lock()
	b, err := l.append(fields, err)
	if err != nil {
		l.miss(e)
	}
	l.mu.Unlock()
	if b == nil || err != nil {
		return err
	}
	<-b.done
	return b.err
}

// append writes an event's fields, and returns the batch to wait for, if any. Called with mu held.
func (l *Log) append(fields []byte, failed error) (*batch, error) {
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
	if l.since++; len(l.o.Key) > 0 && l.since >= l.o.CheckpointEvery {
		if err := l.checkpoint(); err != nil {
			l.breakOff(err) // for the next: this one is written
		}
	}
	if l.o.Sync != SyncAlways {
		return nil, nil
	}
	if l.next == nil {
		l.next = &batch{done: make(chan struct{})}
		l.work <- struct{}{} // room for one: the syncer takes the batch after the token
	}
	return l.next, nil
}

// miss counts an event that could not be written. Called with mu held.
func (l *Log) miss(e *Event) {
	l.missed++
	if e.Run != "" && len(l.runs) < maxList {
		l.runs = append(l.runs, e.Run)
	}
}

// Broken returns the reason why nothing can be written at present; nil if it can, as far as is known.
func (l *Log) Broken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

// Last is the number and the hash of the last line: kept elsewhere, they prove later that nothing was cut off or
// replaced up to here (VerifyOptions.Anchor).
func (l *Log) Last() (seq uint64, hash string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seq, l.hash
}

// Close writes that the log ends in good order, syncs and closes it. Later Appends fail.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	e := Event{Kind: LogClose}
	fields, err := e.encode()
	if err == nil && l.broken != nil {
		err = l.mend()
	}
	if err == nil {
		err = l.put(fields)
	}
	if err == nil && len(l.o.Key) > 0 {
		err = l.checkpoint()
	}
	l.closed = true
	l.mu.Unlock()
	close(l.work)
	<-l.done
	return errors.Join(err, l.f.Sync(), l.f.Close(), l.lock.Close(), l.dir.Close())
}
