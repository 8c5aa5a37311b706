package token

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"go.etcd.io/bbolt"
)

const (
	idSize = 16 // bytes of an id
	// grace is how long counts and revocations are kept after their token has expired, since the clock may be set back.
	grace = 24 * time.Hour
	// sweepEvery is the interval of sweeps while a ledger is in use, and sweepFull the interval while a bound is reached.
	sweepEvery = time.Hour
	sweepFull  = time.Minute
)

var (
	// countsBucket is the only bucket of the database. It maps the id of a block to its entry.
	countsBucket = []byte("counts")
	castagnoli   = crc32.MakeTable(crc32.Castagnoli)
	// errNothing rolls back a transaction without changes.
	errNothing = errors.New("nothing to commit")
)

// entry records how often a block was used. In the database it is checksum[4] used[8] expires[8] above, big endian.
type entry struct {
	used    int64
	expires int64  // seconds since 1970; 0 means never
	above   []byte // ids of the preceding blocks of the token, the issuer's first
}

// entryOf returns the entry of a block, or a new one with used 0.
func entryOf(tx *bbolt.Tx, id []byte) (entry, error) {
	if v := tx.Bucket(countsBucket).Get(id); v != nil {
		return decodeEntry(id, v)
	}
	return entry{}, nil
}

// checksum returns the checksum of an entry. bbolt has no checksums of pages.
func checksum(id, rest []byte) uint32 {
	return crc32.Update(crc32.Checksum(id, castagnoli), castagnoli, rest)
}

func decodeEntry(id, v []byte) (e entry, err error) {
	if len(v) < 20 || binary.BigEndian.Uint32(v) != checksum(id, v[4:]) {
		return entry{}, fmt.Errorf("the count of %x was altered: its checksum does not fit", id)
	}
	e.used, e.expires = int64(binary.BigEndian.Uint64(v[4:])), int64(binary.BigEndian.Uint64(v[12:]))
	e.above = v[20:]
	if len(id) != idSize || e.used < 1 || e.used > MaxRuns || e.expires < 0 ||
		len(e.above)%idSize != 0 || len(e.above) >= MaxBlocks*idSize {
		return entry{}, fmt.Errorf("the count of %x is impossible", id)
	}
	return e, nil
}

func (e entry) encode(id []byte) []byte {
	v := binary.BigEndian.AppendUint64(make([]byte, 4), uint64(e.used))
	v = append(binary.BigEndian.AppendUint64(v, uint64(e.expires)), e.above...)
	binary.BigEndian.PutUint32(v, checksum(id, v[4:]))
	return v
}

// chain returns the ids of the token's blocks up to this one, 16 bytes each.
func (e entry) chain(id []byte) string { return string(e.above) + string(id) }

// share counts an entry for the first and second block of its token, and for the ledger.
func (l *Ledger) share(chain string) {
	l.shares[""]++
	l.shares[chain[:idSize]]++
	if len(chain) > idSize {
		l.shares[chain[idSize:2*idSize]]++
	}
}

// countAll counts the waiting runs that are allowed, and sets err for the others.
func (l *Ledger) countAll(tx *bbolt.Tx, all []*spend) error {
	before, counted := l.swept, false
	for _, s := range all {
		if time.Since(l.swept) > sweepEvery {
			if err := l.sweep(tx, s.now); err != nil {
				return err
			}
		}
		if err := l.count(tx, s); err != nil {
			return err
		}
		counted = counted || s.err == nil
	}
	if !counted && l.swept.Equal(before) {
		return errNothing
	}
	return nil
}

// count uses one run of each block that limits runs, if all of them have one left and there is room for new entries.
// Otherwise it sets s.err.
func (l *Ledger) count(tx *bbolt.Tx, s *spend) error {
	t, above := s.token, []byte(nil)
	entries := map[string]entry{}
	var fresh []string // chains of the blocks without an entry
	for i := range t.blocks {
		b := &t.blocks[i]
		id, _ := hex.DecodeString(b.id) // cannot fail: name encoded it
		if b.Runs > 0 {
			e, err := entryOf(tx, id)
			if err != nil {
				return err
			}
			if e.used >= b.Runs {
				s.err = refuse(CodeSpent, "runs", "all runs of the token are used: %d of %d (block %d)", e.used, b.Runs, i)
				return nil
			}
			if e.used == 0 {
				e = entry{expires: seconds(t.expiresAt(i)), above: above[:len(above):len(above)]}
				fresh = append(fresh, e.chain(id))
			}
			e.used++
			entries[string(id)] = e
		}
		above = append(above, id...)
	}
	if err := l.makeRoom(tx, s, fresh); err != nil || s.err != nil {
		return err
	}
	for id, e := range entries {
		if err := tx.Bucket(countsBucket).Put([]byte(id), e.encode([]byte(id))); err != nil {
			return err
		}
	}
	for _, chain := range fresh {
		l.share(chain)
	}
	return nil
}

// makeRoom sets s.err if a bound leaves no room for the new entries, even after a sweep.
func (l *Ledger) makeRoom(tx *bbolt.Tx, s *spend, fresh []string) error {
	s.err = l.hasRoom(s.token, fresh)
	if s.err == nil || time.Since(l.swept) <= sweepFull {
		return nil
	}
	if err := l.sweep(tx, s.now); err != nil {
		return err
	}
	s.err = l.hasRoom(s.token, fresh)
	return nil
}

func (l *Ledger) hasRoom(t *Token, fresh []string) error {
	const until = "until some of them have expired or are revoked, use one that was used before, or ask for another token"
	const many = "too many narrowed tokens with runs of their own were made from the block %s: %d are counted; %s"
	own := 0 // entries derived from the second block
	for _, chain := range fresh {
		if len(chain) > idSize {
			own++
		}
	}
	for i, b := range []struct{ fresh, most int }{{len(fresh), maxEntriesOfRoot}, {own, maxEntriesOfHolder}} {
		if b.fresh == 0 {
			break
		}
		id := t.blocks[i].id
		raw, _ := hex.DecodeString(id)
		if n := l.shares[string(raw)]; n+b.fresh > b.most {
			return refuse(CodeSpent, "runs", many, id, n, until)
		}
	}
	if n := l.shares[""]; n+len(fresh) > maxEntries {
		return refuse(CodeSpent, "runs", "the ledger counts %d tokens, which is its limit; %s", n, until)
	}
	return nil
}

// sweep removes the entries of tokens that expired before the grace period, and of revoked blocks, which are refused
// anyway. It checks every entry and counts the shares again. In a read-only transaction it removes nothing.
func (l *Ledger) sweep(tx *bbolt.Tx, now time.Time) error {
	l.swept, l.shares = time.Now(), map[string]int{}
	gone, long := l.revokedIDs(), now.Add(-grace).Unix()
	var drop [][]byte
	err := tx.Bucket(countsBucket).ForEach(func(id, v []byte) error {
		e, err := decodeEntry(id, v)
		if err != nil {
			return err
		}
		chain := e.chain(id)
		if e.expires != 0 && e.expires < long || revokedIn(chain, gone) {
			drop = append(drop, id)
		} else {
			l.share(chain)
		}
		return nil
	})
	if tx.Writable() {
		for _, id := range drop {
			err = errors.Join(err, tx.Bucket(countsBucket).Delete(id))
		}
	}
	return err
}

// revokedIn reports whether an id of a chain is revoked.
func revokedIn(chain string, gone map[string]bool) bool {
	for ; len(chain) >= idSize; chain = chain[idSize:] {
		if gone[chain[:idSize]] {
			return true
		}
	}
	return false
}
