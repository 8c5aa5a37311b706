package text

import (
	"bytes"
	"math/bits"
	"slices"
)

// automaton is an Aho-Corasick automaton: it finds all patterns in one pass over a text, with at most two transitions
// for each byte, independent of the patterns. State 0 is the initial state.
//
// A pattern adds only those states that earlier patterns do not share. They have consecutive numbers and form a chain.
// So the next state is usually the next number, unless another chain branches off, and a state takes nine bytes.
type automaton struct {
	label    []byte // for each state, the byte that leads to it
	node     []node // for each state
	root     [256]uint32
	branches []branch
	kids     []uint32
	chains   []chain
	block    []uint32 // the chain that contains state i*blockSize
}

type node struct {
	link uint32 // the failure link (or a branch, which contains the link), and two flags
	out  uint32 // the length of the longest pattern that ends here
}

type chain struct {
	base   uint32 // first state of the chain
	parent uint32 // state that leads to base
	depth  uint32 // number of bytes that lead to parent
}

// branch is a state from which other chains branch off.
type branch struct {
	link uint32
	kids uint32    // index in automaton.kids of their first states, ordered by byte
	has  [4]uint64 // set of the bytes that lead to another chain
}

const (
	lastFlag   = 1 << 31 // the state is the last of its chain
	branchFlag = 1 << 30 // the low bits are the index of a branch
	linkMask   = branchFlag - 1
	blockSize  = 16
)

// newAutomaton returns the automaton of patterns, which it sorts. They must be non-empty and distinct, and at most 1
// GiB together.
func newAutomaton(patterns [][]byte) *automaton {
	slices.SortFunc(patterns, bytes.Compare)
	shared, states := make([]int, len(patterns)), 1
	for k, p := range patterns {
		if k > 0 {
			shared[k] = common(patterns[k-1], p)
		}
		states += len(p) - shared[k]
	}
	a := &automaton{label: make([]byte, 1, states), node: make([]node, states)}
	a.node[0].link = lastFlag
	a.grow(patterns, shared)
	a.branch()
	a.connect()
	return a
}

// common returns the length of the common prefix of a and b.
func common(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// grow creates the chains.
func (a *automaton) grow(patterns [][]byte, shared []int) {
	var path []chain // chains with the states of the last pattern
	for k, p := range patterns {
		n := uint32(shared[k])
		for len(path) > 0 && path[len(path)-1].depth >= n {
			path = path[:len(path)-1]
		}
		c := chain{base: uint32(len(a.label)), depth: n}
		if n > 0 {
			of := path[len(path)-1]
			c.parent = of.base + n - 1 - of.depth
		}
		a.chains, path = append(a.chains, c), append(path, c)
		a.label = append(a.label, p[n:]...)
		a.node[len(a.label)-1] = node{link: lastFlag, out: uint32(len(p))}
	}
	a.chains = append(a.chains, chain{base: uint32(len(a.label))})
	a.block = make([]uint32, len(a.label)/blockSize+1)
	k := uint32(0)
	for i := range a.block {
		for a.chains[k+1].base <= uint32(i)*blockSize && int(k) < len(a.chains)-2 {
			k++
		}
		a.block[i] = k
	}
}

// branch records which chains branch off from each state.
func (a *automaton) branch() {
	begin := slices.Clone(a.chains[:len(a.chains)-1])
	// a stable sort by parent keeps the chains of one parent in the order of their first bytes
	slices.SortStableFunc(begin, func(x, y chain) int { return int(int64(x.parent) - int64(y.parent)) })
	for i, c := range begin {
		to := a.label[c.base]
		if c.parent == 0 {
			a.root[to] = c.base
			continue
		}
		if i == 0 || begin[i-1].parent != c.parent {
			a.node[c.parent].link |= branchFlag | uint32(len(a.branches))
			a.branches = append(a.branches, branch{kids: uint32(len(a.kids))})
		}
		a.branches[len(a.branches)-1].has[to/64] |= 1 << (to % 64)
		a.kids = append(a.kids, c.base)
	}
}

// front is a chain whose failure links are being computed.
type front struct {
	next, end uint32 // states
	link      uint32 // failure link of the state before next
}

// connect computes each state's failure link, in the order of depth.
func (a *automaton) connect() {
	begin := make([]uint32, len(a.chains)-1)
	for i := range begin {
		begin[i] = uint32(i)
	}
	slices.SortStableFunc(begin, func(x, y uint32) int { return int(a.chains[x].depth) - int(a.chains[y].depth) })
	var active []front
	for depth := uint32(0); len(begin)+len(active) > 0; depth++ {
		for len(begin) > 0 && a.chains[begin[0]].depth == depth {
			c := a.chains[begin[0]]
			active = append(active, front{c.base, a.chains[begin[0]+1].base, a.fail(c.parent)})
			begin = begin[1:]
		}
		for i := 0; i < len(active); {
			f := &active[i]
			f.link = a.target(f.link, depth, a.label[f.next])
			a.setLink(f.next, f.link)
			if f.next++; f.next < f.end {
				i++
				continue
			}
			active[i] = active[len(active)-1]
			active = active[:len(active)-1]
		}
	}
}

// target returns the failure link of the state that c leads to from a state with the given depth and failure link v.
func (a *automaton) target(v, depth uint32, c byte) uint32 {
	if depth == 0 {
		return 0
	}
	for {
		if to := a.child(v, c); to != 0 || v == 0 {
			return to
		}
		v = a.fail(v)
	}
}

func (a *automaton) setLink(v, to uint32) {
	n := &a.node[v]
	if n.link&branchFlag != 0 {
		a.branches[n.link&linkMask].link = to
	} else {
		n.link |= to
	}
	if n.out == 0 {
		n.out = a.node[to].out
	}
}

// fail returns the failure link of v: the state for the longest proper suffix of v's text that is a prefix of a
// pattern.
func (a *automaton) fail(v uint32) uint32 {
	l := a.node[v].link
	if l&branchFlag != 0 {
		return a.branches[l&linkMask].link
	}
	return l & linkMask
}

// child returns the state that c leads to from v, or 0 if there is none.
func (a *automaton) child(v uint32, c byte) uint32 {
	if v == 0 {
		return a.root[c]
	}
	l := a.node[v].link
	if l&lastFlag == 0 && a.label[v+1] == c {
		return v + 1
	}
	if l&branchFlag == 0 {
		return 0
	}
	return a.kid(l&linkMask, c)
}

func (a *automaton) kid(n uint32, c byte) uint32 {
	b := &a.branches[n]
	word, bit := c/64, uint64(1)<<(c%64)
	if b.has[word]&bit == 0 {
		return 0
	}
	rank := bits.OnesCount64(b.has[word] & (bit - 1))
	for _, w := range b.has[:word] {
		rank += bits.OnesCount64(w)
	}
	return a.kids[b.kids+uint32(rank)]
}

// depth returns the number of bytes that lead to v. It searches at most blockSize chains.
func (a *automaton) depth(v uint32) int {
	if v == 0 {
		return 0
	}
	k := a.block[v/blockSize]
	for a.chains[k+1].base <= v {
		k++
	}
	return int(a.chains[k].depth + v - a.chains[k].base + 1)
}
