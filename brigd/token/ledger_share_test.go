package token

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"brig/internal/test/must"
)

// spendAll spends a run of each token, many at a time.
func spendAll(t *testing.T, l *Ledger, list []*Token) {
	t.Helper()
	var wait sync.WaitGroup
	for c := range 256 {
		wait.Go(func() {
			for i := c; i < len(list); i += 256 {
				if err := l.Spend(list[i], noon); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
}

// narrowed returns n tokens that are derived from one, marked as verified.
func narrowed(t *testing.T, public ed25519.PublicKey, from *Token, n int) []*Token {
	t.Helper()
	root := [32]byte(public)
	list := make([]*Token, n)
	for i := range list {
		list[i] = must.Get(Attenuate(from, Block{Runs: 1}))(t)
		list[i].trusted.Store(&root) // Verify has no other effect, and takes longer
	}
	return list
}

// swept spends a run an hour after the last sweep.
func swept(t *testing.T, l *Ledger, now time.Time, by *Token) {
	t.Helper()
	l.write.Lock()
	l.swept = time.Time{}
	l.write.Unlock()
	must.Do(t, l.Spend(by, now))
}

// of returns how many entries are charged to the block with an id.
func (l *Ledger) of(id string) int {
	raw, _ := hex.DecodeString(id)
	return l.shares[string(raw)]
}

// Of two who hold a part of the same token, one cannot lock the other out: not by tokens that she narrows herself,
// after a restart, later or once she is revoked. And what she has used up is given back when she is.
func TestAHolderFillsHerOwnShareOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "l")
	l := open(t, dir)
	public, private := newKey(t)
	shared := must.Get(Mint(private, Block{}))(t)
	alice, bob := must.Get(Attenuate(shared, Block{Agent: "alice"}))(t),
		must.Get(Attenuate(shared, Block{Agent: "bob", Runs: 1000}))(t)
	verified(t, public, bob)
	deeper := must.Get(Attenuate(alice, Block{Note: "to hide behind"}))(t)
	list := append(narrowed(t, public, alice, maxEntriesOfHolder/2), narrowed(t, public, deeper, maxEntriesOfHolder/2)...)
	spendAll(t, l, list)
	check := func(when string) {
		t.Helper()
		for _, from := range []*Token{alice, deeper} {
			wants(t, when+": alice", l.Spend(narrowed(t, public, from, 1)[0], noon), CodeSpent)
		}
		for _, tok := range append(narrowed(t, public, bob, 2), bob) {
			if err := l.Spend(tok, noon); err != nil {
				t.Errorf("%s: bob: %v", when, err)
			}
		}
	}
	check("full")
	_ = l.Close()
	l = open(t, dir)
	check("after a restart")
	if err := l.Spend(bob, noon.AddDate(1, 0, 0)); err != nil {
		t.Errorf("a year later: %v", err)
	}
	must.Do(t, l.Revoke(deeper.ID(), ""))
	swept(t, l, noon, bob)
	if n := l.of(alice.ID()); n != maxEntriesOfHolder/2 {
		t.Errorf("with a half revoked, %d entries are alice's", n)
	}
	if err := l.Spend(narrowed(t, public, alice, 1)[0], noon); err != nil {
		t.Errorf("alice has room again: %v", err)
	}
	must.Do(t, Revoke(dir, alice.ID(), "", time.Time{}))
	swept(t, l, noon, bob)
	wants(t, "revoked", l.Spend(list[0], noon), CodeRevoked)
	for _, when := range []string{"revoked", "revoked and restarted"} {
		if l.of(alice.ID()) != 0 || l.of(bob.ID()) != 5 || l.shares[""] != 5 || l.of(shared.ID()) != 5 {
			t.Errorf("%s: alice's %d, bob's %d, all %d, of the root %d", when, l.of(alice.ID()), l.of(bob.ID()), l.shares[""],
				l.of(shared.ID()))
		}
		if n := l.Used(list[0].ID()); n != 0 {
			t.Errorf("%s: her entries are in the database: %v", when, n)
		}
		_ = l.Close()
		l = open(t, dir)
	}
}

// Where a bound is reached, what is revoked or has expired makes room within a minute.
func TestRoomIsLookedFor(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l"))
	public, private := newKey(t)
	base := must.Get(Mint(private, Block{}))(t)
	used, other := narrowed(t, public, base, 3), narrowed(t, public, base, 4)
	spendAll(t, l, used)
	full := func(ago time.Duration) {
		raw, _ := hex.DecodeString(base.ID())
		l.shares[string(raw)], l.swept = maxEntriesOfRoot, time.Now().Add(-ago)
	}
	full(0)
	wants(t, "the root's bound", l.Spend(other[0], noon), CodeSpent)
	must.Do(t, l.Revoke(used[0].ID(), ""))
	wants(t, "looked for a moment ago", l.Spend(other[0], noon), CodeSpent)
	full(2 * sweepFull)
	if err := l.Spend(other[0], noon); err != nil || l.of(base.ID()) != 3 {
		t.Errorf("one was revoked: %v %v", err, l.shares)
	}
	full(0)
	wants(t, "full again", l.Spend(other[1], noon), CodeSpent)
}

// In a token with runs in each block, all but the first are the holder's, and what could not be written is not charged.
func TestSharesAreGivenBack(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l"))
	public, private := newKey(t)
	long := must.Get(Mint(private, Block{Runs: 9}))(t)
	for len(long.blocks) < MaxBlocks {
		long = must.Get(Attenuate(long, Block{Runs: 9}))(t)
	}
	verified(t, public, long)
	failed := errors.New("no")
	if err := l.db.Update(func(tx *bbolt.Tx) error {
		return errors.Join(l.countAll(tx, []*spend{{token: long, now: noon}}), failed)
	}); !errors.Is(err, failed) || l.shares[""] != MaxBlocks {
		t.Fatal(err, l.shares)
	}
	swept(t, l, noon, long)
	second := long.IDs()[1]
	if l.of(second) != MaxBlocks-1 || l.of(long.IDs()[0]) != MaxBlocks || len(l.shares) != 3 || l.Used(second) != 1 {
		t.Errorf("%v, used %d", l.shares, l.Used(second))
	}
}

// Runs that are counted while another one is written share the next write.
func TestOneWriteForAllThatWait(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l"))
	public, private := newKey(t)
	tok := verified(t, public, must.Get(Mint(private, Block{Runs: 100}))(t))
	last := func() (id int) {
		_ = l.db.View(func(tx *bbolt.Tx) error { id = tx.ID(); return nil })
		return id
	}
	before := last()
	l.write.Lock()
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() {
			if err := l.Spend(tok, noon); err != nil {
				t.Error(err)
			}
		})
	}
	for waiting := 0; waiting < 50; runtime.Gosched() {
		l.queue.Lock()
		waiting = len(l.waiting)
		l.queue.Unlock()
	}
	l.write.Unlock()
	wait.Wait()
	if n := last() - before; n != 1 || l.Used(tok.ID()) != 50 {
		t.Errorf("%d transactions, %d runs", n, l.Used(tok.ID()))
	}
}
