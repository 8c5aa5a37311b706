package text

import (
	"bytes"
	"math/bits"
	"slices"
)

// automaton is that of Aho and Corasick: it finds every pattern in one pass over a text, in at most two moves for a
// byte of it, whatever the patterns are. State 0 is where nothing has begun.
//
// Of the states of a pattern only those that no earlier one has are new; they stand one behind the other, and are a
// chain. So the way on from a state is to the next number, but where another chain branches off, and a state takes nine
// bytes.
type automaton struct {
	label    []byte // by state: the byte that leads to it
	node     []node // by state
	root     [256]uint32
	branches []branch
	kids     []uint32
	chains   []chain
	block    []uint32 // the chain of each blockSize-th state
}

type node struct {
	link uint32 // where to go on when nothing follows (or the branch that knows), and two flags
	out  uint32 // the length of the longest pattern that ends here
}

type chain struct {
	base   uint32 // its first state
	parent uint32 // the state that leads to that
	depth  uint32 // bytes of that one
}

// branch is a state with which other chains begin.
type branch struct {
	link uint32
	kids uint32    // where they stand, in the order of their bytes
	has  [4]uint64 // for which bytes there is one
}

const (
	lastFlag   = 1 << 31 // the next number is of another chain
	branchFlag = 1 << 30 // the rest is the number of a branch
	linkMask   = branchFlag - 1
	blockSize  = 16
)

// newAutomaton takes patterns that are neither empty nor there twice, and sorts them. There may be 1 GiB of them.
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

// common is how many bytes a and b begin with alike.
func common(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// grow makes the chains.
func (a *automaton) grow(patterns [][]byte, shared []int) {
	var path []chain // those of which the last pattern's states are
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

// branch notes where chains begin.
func (a *automaton) branch() {
	begin := slices.Clone(a.chains[:len(a.chains)-1])
	// their bytes ascend
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

// front is a chain whose states get their links.
type front struct {
	next, end uint32 // states
	link      uint32 // of the state before the next one
}

// connect finds each state's link, those of few bytes first.
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

// target is the link of the state that c leads to from one of a depth that has the link v.
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

// fail is the state of the longest end of v that is the beginning of a pattern, too.
func (a *automaton) fail(v uint32) uint32 {
	l := a.node[v].link
	if l&branchFlag != 0 {
		return a.branches[l&linkMask].link
	}
	return l & linkMask
}

// child is the state that c leads to from v; 0, if there is none.
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

// depth is how many bytes lead to v. It looks at no more than blockSize chains.
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
