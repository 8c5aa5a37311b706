// Package report writes the results of a benchmark run: as text for a terminal, and as one HTML page with bars that
// needs no other file and no script.
package report

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"brig/cmd/brig-bench/internal/result"
)

// number formats a figure with three significant digits, and with commas from a thousand up. A figure that does not
// exist (NaN, infinite) is a dash.
func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case a != 0 && a < 0.001 || a >= 1e15:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case a < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// percentile formats a percentile of a row; a row without a distribution has none.
func percentile(v float64) string {
	if v == 0 {
		return ""
	}
	return number(v)
}

// clean makes one line of printable text: a tool's version and its errors are what the tool has printed.
func clean(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
}

// interval formats a ratio with the tool that it compares with and its 95 % interval.
func interval(q *result.Ratio) string {
	return number(q.Median) + " of " + clean(q.To) + " (" + number(q.Low) + " to " + number(q.High) + ")"
}
