package token

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Bounds of a ledger: how many blocks it counts at a time, how many that come from one issued token, and how many that come
// from one second block. A holder can make as many narrower tokens as he likes: he fills his own share by that, and not the
// one of those to whom the same token was handed on.
const (
	maxEntries         = 1 << 20
	maxEntriesOfRoot   = 1 << 18
	maxEntriesOfHolder = 4096
)

// grace is how long counts and revocations are kept after their token has expired: the clock may be set back.
const grace = 24 * time.Hour

// Ledger keeps, in a directory, how often tokens were used and which are revoked. One process has it open at a time;
// Revoke, the function, works beside it. Its methods may be called by many at a time.
//
// The directory (mode 0700) holds the file counts (lines with a checksum each, appended and synced before Spend returns,
// and now and then replaced by a shorter file), the file lock, and for each revoked id a file in the directory revoked.
//
// It counts at most 4096 blocks that come from one second block of a token, so that whoever narrows his own part of a shared
// token again and again is refused himself, and nobody else is.
type Ledger struct {
	dir, revoked *os.File // directories
	lock         *os.File

	mu      sync.Mutex
	used    map[string]*entry // by the id of the block
	roots   map[string]int    // how many entries have it as their root
	holders map[string]int    // how many are, or come from, the second block of that id
	next    *batch            // who waits for the next write; nil if nobody
	latest  int64             // the latest time seen, in seconds since 1970
	swept   time.Time         // when room was last looked for
	closed  bool

	work chan struct{} // one token: there is a batch
	done chan struct{} // closed when the writer has ended

	file ledgerFile // the writer's alone
}

// entry is how often a block was used.
type entry struct {
	root    string // the id of the token's first block
	between string // the ids of the blocks between that one and this one, 16 bytes each
	used    int64
	expires int64 // seconds since 1970; 0 is never
}

// batch is what one write makes durable.
type batch struct {
	added map[string]int64 // runs by the id of the block
	done  chan struct{}
	err   error // set before done is closed
}

// OpenLedger opens the ledger in a directory, which it makes if it is not there. A directory that another process has
// open, that others may enter, or whose file of counts was altered is an error. Counts that were cut off in the middle of
// a write, by a SIGKILL or a power failure, are of runs that had not been allowed yet; they are dropped.
func OpenLedger(path string) (*Ledger, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("the ledger's directory: %w", err)
	}
	dir, err := openDir(path)
	if err != nil {
		return nil, err
	}
	l := &Ledger{dir: dir, used: map[string]*entry{}, roots: map[string]int{}, holders: map[string]int{},
		work: make(chan struct{}, 1), done: make(chan struct{})}
	if err := l.open(path); err != nil {
		return nil, errors.Join(err, closeAll(l.dir, l.revoked, l.lock, l.file.f))
	}
	go l.writer()
	return l, nil
}

func (l *Ledger) open(path string) (err error) {
	if l.lock, err = lock(l.dir, path); err != nil {
		return err
	}
	if l.revoked, err = openRevoked(l.dir, path); err != nil {
		return err
	}
	if err = l.load(path); err != nil {
		return err
	}
	l.sweep()
	return l.pruneRevoked()
}

// Close ends the ledger. Spends that are under way end first; later ones are refused.
func (l *Ledger) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.mu.Unlock()
	close(l.work)
	<-l.done
	return closeAll(l.file.f, l.revoked, l.lock, l.dir)
}

func closeAll(files ...*os.File) (err error) {
	for _, f := range files {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

// Spend uses one run of every block of t that limits them, or of none: it returns nil when the counts are on the disk.
// It also refuses a token that Verify has not accepted, that has expired, or of which a block is revoked, so that to spend
// a token without limits is to ask whether it may still be used; that writes nothing. The error is a *nsjail.Refusal.
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
	if len(t.Runs()) == 0 {
		return nil
	}
	b, err := l.join(t, now)
	if err != nil {
		return err
	}
	<-b.done
	if b.err != nil {
		return refuse(CodeLedger, "runs", "the run could not be counted: %v", b.err)
	}
	return nil
}

// join counts a run in memory and has it written with the next batch.
func (l *Ledger) join(t *Token, now time.Time) (*batch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, refuse(CodeLedger, "", "the ledger is closed")
	}
	if err := l.mayCount(t); err != nil {
		return nil, err
	}
	if l.next == nil {
		l.next = &batch{added: map[string]int64{}, done: make(chan struct{})}
		l.work <- struct{}{} // room for one: the writer has taken the last one when it has taken its batch
	}
	l.latest = max(l.latest, now.Unix())
	for i := range t.blocks {
		b := &t.blocks[i]
		if b.Runs == 0 {
			continue
		}
		e := l.used[b.id]
		if e == nil {
			e = &entry{root: t.blocks[0].id, between: t.between(i), expires: seconds(t.expiresAt(i))}
			l.remember(b.id, e)
		}
		e.used++
		l.next.added[b.id]++
	}
	return l.next, nil
}

// mayCount says whether every block of t has a run left, and there is room for those that nobody has used yet. Called with
// mu held.
func (l *Ledger) mayCount(t *Token) error {
	fresh, own := 0, 0 // own: those that are charged to the second block
	for i := range t.blocks {
		b := &t.blocks[i]
		if b.Runs == 0 {
			continue
		}
		if e := l.used[b.id]; e == nil {
			if fresh++; i > 0 {
				own++
			}
		} else if e.used >= b.Runs {
			return refuse(CodeSpent, "runs", "all runs of the token are used: %d of %d (block %d)", e.used, b.Runs, i)
		}
	}
	if fresh == 0 {
		return nil
	}
	err := l.hasRoom(t, fresh, own)
	if err != nil && time.Since(l.swept) > sweepEvery {
		l.sweep()
		err = l.hasRoom(t, fresh, own)
	}
	return err
}

func (l *Ledger) hasRoom(t *Token, fresh, own int) error {
	const until = "until some of them have expired or are revoked, use one that was used before, or ask for another token"
	root := t.blocks[0].id
	switch {
	case own > 0 && l.holders[t.blocks[1].id]+own > maxEntriesOfHolder:
		return refuse(CodeSpent, "runs", "too many narrowed tokens with runs of their own were made from the block %s: %d are counted; %s",
			t.blocks[1].id, l.holders[t.blocks[1].id], until)
	case l.roots[root]+fresh > maxEntriesOfRoot:
		return refuse(CodeSpent, "runs", "too many narrowed tokens with runs of their own were made from the block %s: %d are counted; %s",
			root, l.roots[root], until)
	case len(l.used)+fresh > maxEntries:
		return refuse(CodeSpent, "runs", "the ledger counts %d tokens, which is its limit; %s", len(l.used), until)
	}
	return nil
}

// undo takes back what a batch has counted. Called with mu held.
func (l *Ledger) undo(b *batch) {
	for id, n := range b.added {
		if e := l.used[id]; e == nil {
			continue // expired in the meantime
		} else if e.used -= n; e.used <= 0 {
			l.forget(id, e)
		}
	}
}

// Used is how many runs of a block, by its id, have been made; 0 for one that nobody has used or that limits none.
func (l *Ledger) Used(id string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.used[id]; e != nil {
		return e.used
	}
	return 0
}
