package cgroup

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// count parses one of the kernel's numbers, which are never negative. It returns -1 for other text.
func count(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// keyed parses lines of "key value", such as memory.events and cpu.stat.
func keyed(text string) map[string]int64 {
	m := map[string]int64{}
	for line := range strings.SplitSeq(text, "\n") {
		key, value, _ := strings.Cut(line, " ")
		if n := count(value); n >= 0 {
			m[key] = n
		}
	}
	return m
}

// put sets a field that is still unknown. A value too large for its unit leaves it unknown.
func put[T ~int64](to *T, table map[string]int64, key string, unit T) {
	if n, ok := table[key]; ok && *to < 0 && n <= math.MaxInt64/int64(unit) {
		*to = T(n) * unit
	}
}

// traffic sums "8:0 rbytes=4096 wbytes=0 ..." of version 2, or "8:0 Read 4096" of version 1, over the devices.
func traffic(text, reads, writes string) (read, written int64) {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '=' })
	for i := 1; i < len(words); i++ {
		switch words[i-1] {
		case reads:
			add(&read, words[i])
		case writes:
			add(&written, words[i])
		}
	}
	return read, written
}

// add adds a number, up to the largest int64.
func add(to *int64, text string) {
	if n := count(text); n > math.MaxInt64-*to {
		*to = math.MaxInt64
	} else if n > 0 {
		*to += n
	}
}

// stalled reads the total of "some avg10=0.00 avg60=0.00 avg300=0.00 total=12", in microseconds: PSI. It is negative if
// there is no such line.
func stalled(text, who string) time.Duration {
	for line := range strings.SplitSeq(text, "\n") {
		_, total, ok := strings.Cut(line, " total=")
		if !ok || !strings.HasPrefix(line, who+" ") {
			continue
		}
		if n := count(total); n >= 0 && n <= math.MaxInt64/int64(time.Microsecond) {
			return time.Duration(n) * time.Microsecond
		}
	}
	return -1
}
