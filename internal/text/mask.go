package text

// masker is the stage that replaces each occurrence of a pattern by a mask. Overlapping occurrences share one mask:
// with the secrets abcde and defg, all of "abcdefg" is masked.
//
// In the initial state, a skipper searches for the next place where a pattern may begin. From there, the automaton
// processes every byte once. Neither goes back, so the run time is linear in the text. Positions are byte offsets from
// the beginning of the text.
type masker struct {
	next  stage
	set   *Set  // it has patterns
	steps int64 // of the automaton and the skipper, for tests

	state uint32
	depth int    // length of the current partial match
	held  []byte // ends with the bytes of the partial match
	pos   int64  // position of the end of held
	done  int64  // everything before this position is written, or masked
	found []span // pending masks from index head on; they do not overlap
	head  int
}

type span struct{ from, to int64 }

// minCut is the minimum length in bytes of a pattern's beginning that is masked at the end of a text that was cut off.
const minCut = 4

func (m *masker) write(b []byte) {
	for i := 0; i < len(b); i++ {
		if m.state == 0 {
			at, steps := m.set.skip.from(b, i)
			i, m.steps = at, m.steps+int64(steps)
		}
		if i < len(b) {
			m.step(b, i)
		}
	}
	m.put(b, m.pos+int64(len(b)-m.depth))
	m.hold(b)
	m.pos += int64(len(b))
}

// step processes b[i].
func (m *masker) step(b []byte, i int) {
	a, c := m.set.find, b[i]
	v, failed := m.state, false
	to := a.child(v, c)
	for m.steps++; to == 0 && v != 0; m.steps++ {
		v, failed = a.fail(v), true
		to = a.child(v, c)
	}
	m.state = to
	if failed || to == 0 {
		m.depth = a.depth(to)
	} else {
		m.depth++
	}
	end := m.pos + int64(i) + 1
	if n := a.node[to].out; n > 0 {
		m.add(b, span{end - int64(n), end}, end-int64(m.depth))
	}
}

// add records an occurrence. No later one begins before at, or ends before this one.
func (m *masker) add(b []byte, s span, at int64) {
	for len(m.found) > m.head && m.found[len(m.found)-1].to > s.from {
		s.from = min(s.from, m.found[len(m.found)-1].from)
		m.found = m.found[:len(m.found)-1]
	}
	if s.from < m.done {
		m.done = s.to // extends a mask that is written already
		return
	}
	m.found = append(m.found, s)
	m.masks(b, at)
}

// masks writes the masks that begin at or before a position, and the text before them.
func (m *masker) masks(b []byte, at int64) {
	for ; m.head < len(m.found) && m.found[m.head].from <= at; m.head++ {
		s := m.found[m.head]
		m.text(b, s.from)
		m.next.write(m.set.mask)
		m.done = s.to
	}
	if 2*m.head >= len(m.found) {
		m.found = m.found[:copy(m.found, m.found[m.head:])]
		m.head = 0
	}
}

// put writes everything before a position.
func (m *masker) put(b []byte, to int64) {
	if m.head < len(m.found) {
		m.masks(b, to)
	}
	m.text(b, to)
}

// text writes the text before a position unchanged. It is in held or in b.
func (m *masker) text(b []byte, to int64) {
	if m.done < m.pos && m.done < to {
		n := min(m.pos, to)
		m.next.write(m.held[len(m.held)-int(m.pos-m.done) : len(m.held)-int(m.pos-n)])
		m.done = n
	}
	if m.done < to {
		m.next.write(b[m.done-m.pos : to-m.pos])
		m.done = to
	}
}

// hold keeps the end of held and b that may be the beginning of a pattern. The rest is removed only when it is the
// larger part. Otherwise many small writes would copy a long partial match many times.
func (m *masker) hold(b []byte) {
	if m.depth <= len(b) {
		m.held = append(m.held[:0], b[len(b)-m.depth:]...)
		return
	}
	m.held = append(m.held, b...)
	if waste := len(m.held) - m.depth; waste > m.depth {
		m.held = m.held[:copy(m.held, m.held[waste:])]
	}
}

// close writes what was held back. If the text was cut off, a beginning of a pattern at its end is masked.
func (m *masker) close(cut bool) {
	if cut && m.depth >= minCut {
		m.add(nil, span{m.pos - int64(m.depth), m.pos}, m.pos)
	}
	m.put(nil, m.pos)
	m.state, m.depth, m.held = 0, 0, nil
	m.next.close(cut)
}
