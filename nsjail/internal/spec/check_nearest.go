package spec

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Nearest is the member of list that a misspelt word most likely meant, or "" when none is close enough to be
// worth saying. Case and the difference between '-' and '_' cost nothing.
func Nearest(word string, list []string) string {
	if len(word) > maxShown { // nobody mistypes that much, and the distance is quadratic
		return ""
	}
	w := foldName(word)
	best, bestCost := "", 1+max(1, len(w)/3)
	for _, candidate := range list {
		c := foldName(candidate)
		cost := editDistance(w, c)
		if len(w) >= 3 && cost > 1 && strings.HasPrefix(c, w) { // "mem" for "memory": cut short, not misspelt
			cost = 1
		}
		if cost < bestCost {
			best, bestCost = candidate, cost
		}
	}
	return best
}

func foldName(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "-") }

// editDistance is the Levenshtein distance in bytes, with a swap of two neighbours counted once.
func editDistance(a, b string) int {
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

// maxShown bounds how much of an untrusted string an error message repeats.
const maxShown = 64

// Quote makes an untrusted string safe to print and short enough for one line.
func Quote(s string) string {
	if len(s) <= maxShown {
		return strconv.Quote(s)
	}
	cut := maxShown
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strconv.Quote(s[:cut]) + "... (" + strconv.Itoa(len(s)) + " bytes)"
}

// DidYouMean is the remedy for an unknown word: the nearest right one, or all of them.
func DidYouMean(word string, list []string) string {
	if n := Nearest(word, list); n != "" {
		return "did you mean " + n + "?"
	}
	return "write one of " + strings.Join(list, ", ")
}
