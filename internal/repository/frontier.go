package repository

import "math/bits"

// frontier holds the directories that a search has seen and not entered, by level. Each level's come in the order in
// which they were added.
type frontier struct {
	seen        []seen
	first, last [levels]int // in seen, from 1; 0 if the level has none
	at          int         // the lowest level that may have one
}

type seen struct {
	rel  string
	next int // of its level, as in first
}

// levels is how many there are. What is further away is in the last one.
const levels = 256

// below returns the level of a directory of a name in one of a level that has n directories.
//
// It grows with the binary logarithm of n, so there are about 2^L of a level L at most: those that a payload makes in
// one place, however many and deep, are behind the few that are in another.
func below(level int, name string, n int) int {
	level += bits.Len(uint(n))
	if deep(name) {
		level += 8
	}
	return min(level, levels-1)
}

// deep reports whether directories of a name hold many files and seldom repositories. The search looks into them late.
func deep(name string) bool {
	switch name {
	case "node_modules", ".venv", "venv", "target", "__pycache__", ".cache", "site-packages", "build", "dist", ".tox":
		return true
	}
	return false
}

// add adds a directory, whose level is at least that of the last one taken.
func (q *frontier) add(rel string, level int) {
	q.seen = append(q.seen, seen{rel: rel})
	n := len(q.seen)
	if last := q.last[level]; last > 0 {
		q.seen[last-1].next = n
	} else {
		q.first[level] = n
	}
	q.last[level] = n
}

// next takes the nearest directory. It reports whether there is one.
func (q *frontier) next() (rel string, level int, ok bool) {
	for ; q.at < levels; q.at++ {
		if n := q.first[q.at]; n > 0 {
			s := &q.seen[n-1]
			if q.first[q.at] = s.next; s.next == 0 {
				q.last[q.at] = 0
			}
			rel, s.rel = s.rel, ""
			return rel, q.at, true
		}
	}
	return "", 0, false
}
