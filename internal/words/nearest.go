package words

import "strings"

// DidYouMean returns the remedy for an unknown word: the nearest member of list or, where none is near, all of them.
func DidYouMean(word string, list []string) string {
	if near := Nearest(word, list); near != "" {
		return "did you mean " + near + "?"
	}
	return "write one of " + strings.Join(list, ", ")
}

// Nearest returns the member of list that a misspelt word most likely meant: the one with the fewest edits, at most a
// third of the word's length. It returns "" if there is none. Case and the difference between '-' and '_' cost nothing.
func Nearest(word string, list []string) string {
	if len(word) > MaxShown { // a longer word is no misspelling, and the distance takes quadratic time
		return ""
	}
	w := fold(word)
	best, bestCost := "", 1+max(1, len(w)/3)
	for _, candidate := range list {
		c := fold(candidate)
		cost := distance(w, c)
		if len(w) >= 3 && cost > 1 && strings.HasPrefix(c, w) { // "mem" for "memory"
			cost = 1
		}
		if cost < bestCost {
			best, bestCost = candidate, cost
		}
	}
	return best
}

func fold(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "-") }

// distance returns the Levenshtein distance in bytes, with a swap of two neighbours counted once.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
