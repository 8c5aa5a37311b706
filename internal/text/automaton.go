package text

import (
	"bytes"
	"cmp"
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
	branches map[edge]uint32 // the first states of the chains that do not begin at the root
	chains   []chain         // ordered by base
}

type node struct {
	link uint32 // the failure link, and two flags
	out  uint32 // the length of the longest pattern that ends here
}

// edge is a state and a byte that leads from it to another chain.
type edge struct {
	from uint32
	c    byte
}

type chain struct {
	base   uint32 // first state of the chain
	parent uint32 // state that leads to base
	depth  uint32 // number of bytes that lead to parent
}

const (
	lastFlag   = 1 << 31 // the state is the last of its chain
	branchFlag = 1 << 30 // other chains branch off from the state
	linkMask   = branchFlag - 1
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
	a := &automaton{label: make([]byte, 1, states), node: make([]node, states), branches: map[edge]uint32{}}
	path := []uint32{0} // the states of the last pattern
	for k, p := range patterns {
		n := shared[k]
		path = path[:n+1]
		a.begin(chain{uint32(len(a.label)), path[n], uint32(n)}, p[n])
		for _, c := range p[n:] {
			path = append(path, uint32(len(a.label)))
			a.label = append(a.label, c)
		}
		a.node[len(a.label)-1] = node{link: lastFlag, out: uint32(len(p))}
	}
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

// begin records a chain and its first byte.
func (a *automaton) begin(of chain, c byte) {
	a.chains = append(a.chains, of)
	if of.parent == 0 {
		a.root[c] = of.base
		return
	}
	a.branches[edge{of.parent, c}] = of.base
	a.node[of.parent].link |= branchFlag
}

// front is a state whose failure link is being computed, and the failure link of the state before it.
type front struct{ state, link uint32 }

// connect computes each state's failure link, in the order of depth.
func (a *automaton) connect() {
	begin := slices.Clone(a.chains)
	slices.SortStableFunc(begin, func(x, y chain) int { return cmp.Compare(x.depth, y.depth) })
	var active []front // one for each chain
	for depth := uint32(0); len(begin)+len(active) > 0; depth++ {
		for len(begin) > 0 && begin[0].depth == depth {
			active = append(active, front{begin[0].base, a.fail(begin[0].parent)})
			begin = begin[1:]
		}
		next := active[:0]
		for _, f := range active {
			n := &a.node[f.state]
			link := a.target(f.link, depth, a.label[f.state])
			if n.out == 0 {
				n.out = a.node[link].out
			}
			if n.link&lastFlag == 0 {
				next = append(next, front{f.state + 1, link})
			}
			n.link |= link
		}
		active = next
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

// fail returns the failure link of v: the state for the longest proper suffix of v's text that is a prefix of a
// pattern.
func (a *automaton) fail(v uint32) uint32 { return a.node[v].link & linkMask }

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
	return a.branches[edge{v, c}]
}

// depth returns the number of bytes that lead to v.
func (a *automaton) depth(v uint32) int {
	if v == 0 {
		return 0
	}
	low, high := 0, len(a.chains)
	for high-low > 1 {
		if k := (low + high) / 2; a.chains[k].base <= v {
			low = k
		} else {
			high = k
		}
	}
	c := a.chains[low]
	return int(c.depth + v - c.base + 1)
}
