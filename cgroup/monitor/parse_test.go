package monitor

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
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
	r := reader{dir: t.TempDir()}
	for in, known := range map[string]bool{"0\n": true, "1073741824\n": true, "max\n": false, "18446744073709551615\n": false,
		"9223372036854775807\n": false, "9223372036854771712\n": false, "9223372036854710272\n": false} {
		if err := os.WriteFile(filepath.Join(r.dir, "limit"), []byte(in), 0o600); err != nil {
			t.Fatal(err)
		}
		got := new(uint64)
		r.limit(&got, "limit")
		if (got != nil) != known || got != nil && strconv.FormatUint(*got, 10)+"\n" != in {
			t.Errorf("%s: %v", in, got)
		}
		if r.limit(&got, "none"); got != nil {
			t.Errorf("%s without a file: %v", in, *got)
		}
	}
	if r.err != nil {
		t.Error(r.err)
	}
}

func TestSum(t *testing.T) {
	v1 := "8:0 Read 4096\n8:0 Write 10\n8:0 Sync 4106\n8:0 Total 4106\n254:0 Read 1\nTotal 4107\n"
	v2 := "8:0 rbytes=4096 wbytes=0 rios=3\n8:16 rbytes=1 wbytes=10\n"
	for _, c := range []struct {
		text, word string
		want       uint64
	}{{v1, "Read", 4097}, {v1, "Write", 10}, {v2, "rbytes", 4097}, {v2, "wbytes", 10}} {
		if got := sum(c.text, c.word); got == nil || *got != c.want {
			t.Errorf("%s: %v", c.word, got)
		}
	}
	if got := sum("8:0 Read x\n", "Read"); got != nil {
		t.Error(*got)
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
