package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	values := []time.Duration{5, 1, 4, 2, 3}
	for q, want := range []time.Duration{1, 2, 3, 4, 5} {
		if got := quantile(values, q); got != want {
			t.Errorf("quantile(%d) = %d, want %d", q, got, want)
		}
	}
	if !slices.Equal(values, []time.Duration{5, 1, 4, 2, 3}) {
		t.Error("quantile has sorted its argument")
	}
}

// TestTable: the ratio is the median of the rounds' ratios, not the ratio of the medians.
func TestTable(t *testing.T) {
	ms := func(n ...int) (d []time.Duration) {
		for _, v := range n {
			d = append(d, time.Duration(v)*time.Millisecond)
		}
		return d
	}
	var b bytes.Buffer
	err := table(&b, []contender{{name: "bare", took: ms(1, 1, 1)}, {name: "bubblewrap", took: ms(2, 10, 20)}, {name: "brig", took: ms(4, 5, 5)}})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if want := "brig                       5.00 ms   4.00 ms   5.00 ms  0.50"; lines[3] != want {
		t.Errorf("got %q, want %q", lines[3], want)
	}
}
