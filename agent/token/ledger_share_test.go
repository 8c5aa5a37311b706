package token

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
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

// narrowed are tokens that a holder makes of his own; the service has accepted them.
func narrowed(t *testing.T, public ed25519.PublicKey, from *Token, n int) []*Token {
	t.Helper()
	root := [32]byte(public)
	list := make([]*Token, n)
	for i := range list {
		list[i] = must(t)(Attenuate(from, Block{Runs: 1}))
		list[i].trusted.Store(&root) // Verify has no other effect, and takes longer
	}
	return list
}

// rewritten has the file of counts replaced, as happens when it has grown.
func rewritten(t *testing.T, l *Ledger, dir string, by *Token) {
	t.Helper()
	if err := os.Remove(dir + "/" + countsFile); err != nil {
		t.Fatal(err)
	}
	if err := l.Spend(by, noon); err != nil {
		t.Fatal(err)
	}
}

// Of two who hold a part of the same token, one cannot lock the other out: not by tokens that she narrows herself, after a
// restart, later or once she is revoked. And what she has used up is given back when she is.
func TestAHolderFillsHerOwnShareOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "l")
	l := open(t, dir)
	public, private := newKey(t)
	shared := must(t)(Mint(private, Block{}))
	alice, bob := must(t)(Attenuate(shared, Block{Agent: "alice"})), must(t)(Attenuate(shared, Block{Agent: "bob", Runs: 1000}))
	verified(t, public, bob)
	deeper := must(t)(Attenuate(alice, Block{Note: "to hide behind"}))
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
	if err := l.Revoke(deeper.ID(), ""); err != nil {
		t.Fatal(err)
	}
	rewritten(t, l, dir, bob)
	if n := l.holders[alice.ID()]; n != maxEntriesOfHolder/2 {
		t.Errorf("with a half revoked, %d entries are alice's", n)
	}
	if err := l.Spend(narrowed(t, public, alice, 1)[0], noon); err != nil {
		t.Errorf("alice has room again: %v", err)
	}
	if err := Revoke(dir, alice.ID(), "", time.Time{}); err != nil {
		t.Fatal(err)
	}
	rewritten(t, l, dir, bob)
	wants(t, "revoked", l.Spend(list[0], noon), CodeRevoked)
	for _, when := range []string{"revoked", "revoked and restarted"} {
		if l.holders[alice.ID()] != 0 || l.holders[bob.ID()] != 5 || len(l.used) != 5 || l.roots[shared.ID()] != 5 {
			t.Errorf("%s: alice's %d, bob's %d, all %d, of the root %d", when, l.holders[alice.ID()], l.holders[bob.ID()], len(l.used), l.roots[shared.ID()])
		}
		data, err := os.ReadFile(dir + "/" + countsFile)
		if err != nil || strings.Contains(string(data), list[0].ID()) {
			t.Errorf("%s: her entries are in the file: %v", when, err)
		}
		_ = l.Close()
		l = open(t, dir)
	}
}

// Where a bound is reached, what is revoked or has expired makes room at once, without a file that grows.
func TestRoomIsLookedFor(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l"))
	public, private := newKey(t)
	base := must(t)(Mint(private, Block{}))
	used, other := narrowed(t, public, base, 3), narrowed(t, public, base, 4)
	spendAll(t, l, used)
	full := func(n int) {
		l.mu.Lock()
		l.roots[base.ID()], l.swept = n, time.Time{}
		l.mu.Unlock()
	}
	full(maxEntriesOfRoot)
	wants(t, "the root's bound", l.Spend(other[0], noon), CodeSpent)
	if err := l.Revoke(used[0].ID(), ""); err != nil {
		t.Fatal(err)
	}
	wants(t, "looked for a moment ago", l.Spend(other[0], noon), CodeSpent)
	full(maxEntriesOfRoot)
	if err := l.Spend(other[0], noon); err != nil {
		t.Errorf("one was revoked: %v", err)
	}
	wants(t, "full again", l.Spend(other[1], noon), CodeSpent)
}

// In a token with runs in each block, all but the first are the holder's, and an undone batch takes back what it has added.
func TestSharesAreGivenBack(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l"))
	public, private := newKey(t)
	long := must(t)(Mint(private, Block{Runs: 9}))
	for len(long.blocks) < MaxBlocks {
		long = must(t)(Attenuate(long, Block{Runs: 9}))
	}
	if err := l.Spend(verified(t, public, long), noon); err != nil {
		t.Fatal(err)
	}
	second := long.IDs()[1]
	if l.holders[second] != MaxBlocks-1 || len(l.holders) != 1 || l.roots[long.IDs()[0]] != MaxBlocks {
		t.Errorf("%v %v", l.holders, l.roots)
	}
	b := &batch{added: map[string]int64{}}
	for id := range long.Runs() {
		b.added[id] = 1
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.undo(b)
	if len(l.used)+len(l.holders)+len(l.roots) != 0 {
		t.Errorf("%v %v %v", l.used, l.holders, l.roots)
	}
}
