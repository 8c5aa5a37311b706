package monitor

import (
	"math"
	"os"
	"strings"
	"testing"
)

func TestParseValues(t *testing.T) {
	got, err := parseValues("low 0\nhigh 3\noom_kill 18446744073709551615\n")
	if err != nil || len(got) != 3 || *got["low"] != 0 || *got["high"] != 3 || *got["oom_kill"] != math.MaxUint64 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := parseValues(""); err != nil || len(got) != 0 {
		t.Errorf("nothing: %v, %v", got, err)
	}
	for _, in := range []string{"low", "low\n", " 1\n", "low 1 2\n", "low x\n", "low 1\n\n", "\x1b[m 1x\n"} {
		if got, err := parseValues(in); err == nil || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
}

func TestLimit(t *testing.T) {
	d := dir(t.TempDir())
	if err := os.WriteFile(d.path("limit"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for in, known := range map[uint64]bool{0: true, 1 << 30: true, math.MaxUint64: false, math.MaxInt64: false,
		9223372036854771712: false, math.MaxInt64 &^ (64<<10 - 1): false} {
		if got := d.limit("limit", in); (got != nil) != known || got != nil && *got != in {
			t.Errorf("%d: %v", in, got)
		}
		if got := d.limit("none", in); got != nil {
			t.Errorf("%d without a file: %v", in, *got)
		}
	}
}

func FuzzParseValues(f *testing.F) {
	for _, name := range []string{"/proc/vmstat", "/proc/self/cgroup"} {
		if b, err := os.ReadFile(name); err == nil {
			f.Add(string(b))
		}
	}
	f.Add("max 3\n")
	f.Add("nr_periods max")
	f.Fuzz(func(t *testing.T, s string) {
		values, err := parseValues(s)
		if err != nil && (values != nil || strings.ContainsAny(err.Error(), "\n\x1b\x00")) {
			t.Errorf("%q: %v, %q", s, values, err)
		}
		if err == nil && len(values) > strings.Count(s, "\n")+1 {
			t.Errorf("%q: %d values", s, len(values))
		}
	})
}
