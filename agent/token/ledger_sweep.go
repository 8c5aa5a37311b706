package token

import (
	"encoding/hex"
	"time"
)

// sweepEvery bounds how often room is looked for, where a holder asks for more than there is.
const sweepEvery = time.Minute

const rawID = 16 // bytes of an id

// between is what an entry of block i says of the blocks above it, but for the first.
func (t *Token) between(i int) string {
	var out []byte
	for j := 1; j < i; j++ {
		out, _ = hex.AppendDecode(out, []byte(t.blocks[j].id)) // name has encoded it
	}
	return string(out)
}

// holder is the id of the second block that an entry comes from, or is; "" for a first block.
func (e *entry) holder(id string) string {
	switch {
	case id == e.root:
		return ""
	case e.between == "":
		return id
	}
	return hex.EncodeToString([]byte(e.between[:rawID]))
}

// remember adds an entry. Called with mu held.
func (l *Ledger) remember(id string, e *entry) {
	l.used[id] = e
	l.roots[e.root]++
	if h := e.holder(id); h != "" {
		l.holders[h]++
	}
}

// forget removes one. Called with mu held.
func (l *Ledger) forget(id string, e *entry) {
	delete(l.used, id)
	drop(l.roots, e.root)
	if h := e.holder(id); h != "" {
		drop(l.holders, h)
	}
}

func drop(counts map[string]int, key string) {
	if counts[key]--; counts[key] <= 0 {
		delete(counts, key)
	}
}

// sweep forgets what no token needs any more: the entries of those that have expired long ago, and of those of which a block
// is revoked, since that refuses them for good. The file holds them until it is replaced. Called with mu held.
func (l *Ledger) sweep() {
	l.swept = time.Now()
	gone := l.revokedIDs()
	for id, e := range l.used {
		old := e.expires != 0 && e.expires < l.latest-int64(grace.Seconds())
		if (old || e.under(id, gone)) && !l.awaited(id) {
			l.forget(id, e)
		}
	}
}

// under says whether a block, or one above it, is revoked.
func (e *entry) under(id string, gone map[string]bool) bool {
	if len(gone) == 0 {
		return false
	}
	if gone[id] || gone[e.root] {
		return true
	}
	for b := e.between; len(b) >= rawID; b = b[rawID:] {
		if gone[b[:rawID]] {
			return true
		}
	}
	return false
}

// revokedIDs are the ids that are revoked, in hexadecimal and as bytes. Where they cannot be read, nothing is forgotten for
// them.
func (l *Ledger) revokedIDs() map[string]bool {
	names, err := l.revokedNames()
	if err != nil {
		return nil
	}
	gone := make(map[string]bool, 2*len(names))
	for _, id := range names {
		if raw, err := hex.DecodeString(id); err == nil && isID(id) {
			gone[id], gone[string(raw)] = true, true
		}
	}
	return gone
}
