package lane

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Board is what a worker knows of the lanes: which are worth a look, which were served, and what each tenant has. Its
// methods may be called from several goroutines.
type Board struct {
	woken chan struct{} // has room for one

	mu     sync.Mutex
	hot    map[Lane]bool // worth a look
	served map[Lane]int  // the turn of its last run
	turn   int           // counts runs that were taken
	shares shares
}

// NewBoard returns the board of a worker with so many slots, of which one tenant may have share; 0 is no bound. All
// lanes are worth a look.
func NewBoard(slots, share int) *Board {
	b := &Board{woken: make(chan struct{}, 1), hot: map[Lane]bool{}, served: map[Lane]int{},
		shares: shares{most: slotsOfOne(slots, share), held: map[string]int{}, probes: map[Lane]*probe{}}}
	b.Heat()
	return b
}

// Woken has a value when a lane was stirred.
func (b *Board) Woken() <-chan struct{} { return b.woken }

// Heat marks all lanes as worth a look.
func (b *Board) Heat() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range All() {
		b.hot[l] = true
	}
}

// Mark notes whether a lane is worth a look.
func (b *Board) Mark(l Lane, hot bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hot[l] = hot
}

// Stir marks a lane that a run has come to, or may have. It reports whether a look was due anyway.
func (b *Board) Stir(l Lane) (due bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	due = b.hot[l]
	b.stir(l)
	return due
}

// stir wakes who waits for Woken. The caller holds mu.
func (b *Board) stir(l Lane) {
	b.hot[l] = true
	select {
	case b.woken <- struct{}{}:
	default:
	}
}

// firsts are the classes that are first in turn: most often the highest, and each of the others often enough to go on
// while those before it never end. No two of the others follow each other closely.
var firsts = [16]int{2: 1, 5: 2, 8: 1, 11: 1, 14: 2}

// Order returns the lanes that are worth a look: those of the class whose turn it is, then the others, the highest
// first, and in a class first those that were served the longest ago.
func (b *Board) Order() []Lane {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := slices.DeleteFunc(All(), func(l Lane) bool { return !b.hot[l] || b.shares.shut(l) })
	first := firsts[b.turn%len(firsts)]
	place := func(l Lane) int {
		if r := l.rank(); r != first {
			return r + 1
		}
		return 0
	}
	slices.SortStableFunc(list, func(x, y Lane) int {
		return cmp.Or(cmp.Compare(place(x), place(y)), cmp.Compare(b.served[x], b.served[y]))
	})
	return list
}

// Taken notes that a run of a tenant's was taken from a lane. It has a slot until Release.
func (b *Board) Taken(l Lane, tenant string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn++
	b.served[l] = b.turn
	b.shares.held[tenant]++
}

// Release ends what Taken began, and lets the loop look at the lanes that were closed.
func (b *Board) Release(tenant string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.shares.full(tenant)
	b.shares.release(tenant)
	for _, l := range All() {
		if was && l.has(tenant) {
			b.stir(l)
		}
	}
}

// Full reports whether a tenant has all that he may have.
func (b *Board) Full(tenant string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shares.full(tenant)
}

// Came notes that a run has come to a lane, and reports whether its tenant may have it here.
func (b *Board) Came(l Lane, tenant string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shares.full(tenant) {
		return false
	}
	if p := b.shares.probes[l]; p != nil && b.shares.elsewhose(l, tenant) {
		p.next = time.Time{}
	}
	return true
}

// Closed returns the closed lanes that are worth a look, and may be looked at again: whether they have runs of others.
func (b *Board) Closed(now time.Time) (list []Lane) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range All() {
		if b.hot[l] && b.shares.shut(l) {
			if p := b.shares.probes[l]; p == nil || now.After(p.next) {
				list = append(list, l)
			}
		}
	}
	return list
}

// Probed notes what a closed lane has, as a look at it has shown: how many runs of each tenant. It opens one with runs
// of a tenant who has more there than here, and may have one here.
func (b *Board) Probed(l Lane, runs map[string]uint64, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.shares.closed(l) {
		return
	}
	p := b.shares.probes[l]
	if p == nil {
		p = &probe{pause: minProbe}
		b.shares.probes[l] = p
	}
	p.open, p.next = b.shares.others(runs), now.Add(p.pause)
}

// Found notes the end of a look at a lane that was opened: whether there was a run of somebody else. After a look in
// vain, since such a run goes on elsewhere, the next one is later.
func (b *Board) Found(l Lane, run bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.shares.probes[l]
	if p == nil {
		return
	}
	p.open = false
	if p.pause = min(2*p.pause, maxProbe); run {
		p.pause = minProbe
		p.next = time.Time{} // there may be more
		b.stir(l)
	}
}
