package report

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.712: "0.712", 0.9999: "1.00", 5.7: "5.70", 9.996: "10.0", 23.44: "23.4", 99.97: "100", 114.4: "114",
		1340: "1,340", 1234567: "1,234,567", -5.7: "−5.70", -1340: "−1,340", 0.00012: "0.00012", 1e20: "1e+20", math.Inf(1): "–"} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %q, want %q", v, got, want)
		}
	}
	if got := number(math.NaN()); got != "–" {
		t.Errorf("number(NaN) = %q", got)
	}
	for v, want := range map[float64]string{0: "0", 0.5: "0.5", 1000: "1,000", 100: "100", -20: "−20", 1e20: "1e+20", 12345.5: "12,345.5"} {
		if got := round(v); got != want {
			t.Errorf("round(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	style := pen(12, letter, false)
	for _, s := range []string{"", "short", strings.Repeat("words and words ", 30), strings.Repeat("unbroken", 50), strings.Repeat("日本語", 90),
		"a \x00\x1b[31m b\u202e\nc\uE002", "\xff\xfe broken", strings.Repeat("é", longest)} {
		for lines := 1; lines < 4; lines++ {
			got := fit(style, s, 100, lines)
			if len(got) > lines {
				t.Errorf("%.20q: %d lines, not %d", s, len(got), lines)
			}
			for _, l := range got {
				if width(style, l) > 100 || !utf8.ValidString(l) || strings.ContainsAny(l, "\x00\x1b\n\u202e\uE002") {
					t.Errorf("%.20q has the line %q, %v wide", s, l, width(style, l))
				}
			}
		}
	}
	if got := fit(style, "one two", 1000, 2); !slices.Equal(got, []string{"one two"}) {
		t.Errorf("%q", got)
	}
	if got := strings.Join(fit(style, strings.Repeat("word ", 30), 100, 2), ""); !strings.HasSuffix(got, "…") {
		t.Errorf("%q has no ellipsis", got)
	}
}

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		s    scale
		want string
	}{
		{scale{high: 11.2}, "0 2 4 6 8 10"},
		{scale{high: 1}, "0 0.2 0.4 0.6 0.8 1"},
		{scale{floor: -20, high: 90}, "−20 0 20 40 60 80"},
		{scale{log: true, floor: 0.5, high: 80}, "0.5 1 2 5 10 20 50"},
		{scale{log: true, floor: 0.001, high: 60000}, "0.01 1 100 10,000"},
		{scale{log: true, floor: 1, high: 1000}, "1 10 100 1,000"},
	} {
		var got []string
		for _, tick := range test.s.Ticks(test.s.floor, test.s.high) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%+v: %q, want %q", test.s, got, test.want)
		}
	}
}
