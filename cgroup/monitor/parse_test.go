package monitor

import (
	"maps"
	"math"
	"os"
	"strings"
	"testing"
)

func TestParseNumber(t *testing.T) {
	for in, want := range map[string]uint64{"0\n": 0, "17\n": 17, "18446744073709551615": math.MaxUint64, "max\n": Unlimited} {
		if got, err := parseNumber(in); got != want || err != nil {
			t.Errorf("%q: %d, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "\n", "-1", "+1", " 1", "1 ", "0x1", "1_0", "18446744073709551616", "maximum", "1\n\n", "\x1b[m"} {
		if got, err := parseNumber(in); err == nil || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%q: %d, %v", in, got, err)
		}
	}
}

func TestParseValues(t *testing.T) {
	got, err := parseValues("low 0\nhigh 3\noom_kill 18446744073709551615\n")
	if want := map[string]uint64{"low": 0, "high": 3, "oom_kill": math.MaxUint64}; err != nil || !maps.Equal(got, want) {
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

const pressureFile = "some avg10=1.50 avg60=0.25 avg300=0.00 total=123456\nfull avg10=100.00 avg60=0.00 avg300=0.00 total=7\n"

func TestParsePressure(t *testing.T) {
	some := Stall{Known: true, Avg10: 1.5, Avg60: 0.25, Total: 123456}
	full := Stall{Known: true, Avg10: 100, Total: 7}
	first, _, _ := strings.Cut(pressureFile, "\n")
	for in, want := range map[string]Pressure{
		"":                              {},
		pressureFile:                    {some, full},
		first:                           {Some: some},
		first + " later=1\n":            {Some: some},
		strings.TrimSpace(pressureFile): {some, full},
	} {
		if got, err := parsePressure(in); got != want || err != nil {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{
		"\n", "none avg10=0 avg60=0 avg300=0 total=0", "some", "some avg10=0 avg60=0 avg300=0",
		"some avg10=NaN avg60=0 avg300=0 total=0", "some avg10=1e9 avg60=0 avg300=0 total=0", "some avg10=-1 avg60=0 avg300=0 total=0",
		"some avg10= avg60=0 avg300=0 total=0", "some avg10=0 avg60=0 avg300=0 total=-1", "some avg10=\x1b avg60=0 avg300=0 total=0",
	} {
		if got, err := parsePressure(in); err == nil || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
}

func TestLimit1(t *testing.T) {
	for in, want := range map[uint64]uint64{0: 0, 1 << 30: 1 << 30, 9223372036854771712: Unlimited, math.MaxInt64: Unlimited, math.MaxInt64 &^ (64<<10 - 1): Unlimited} {
		if got := limit1(in); got != known(want) {
			t.Errorf("%d: %v", in, got)
		}
	}
}

func TestQueue(t *testing.T) {
	var q queue
	for _, k := range []Kind{Populated, OOM, Empty, OOM, Populated, PidsMax} {
		q.add(k, 1)
	}
	want := queue{{OOM, 2}, {Empty, 1}, {Populated, 2}, {PidsMax, 1}}
	if len(q) != len(want) {
		t.Fatalf("%v, expected %v", q, want)
	}
	for i := range want {
		if q[i] != want[i] {
			t.Errorf("%v, expected %v", q, want)
		}
	}
}

func TestKindNames(t *testing.T) {
	for k, want := range map[Kind]string{OOM: "oom", OOMKill: "oom_kill", Empty: "empty", -1: "kind -1", Empty + 1: "kind 7"} {
		if got := k.String(); got != want {
			t.Errorf("%d is %s, expected %s", k, got, want)
		}
	}
}

// Inotify's records are the kernel's, but a short read must not bring the daemon down.
func FuzzTakeInotify(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00cgroup.events\x00\x00\x00"))
	f.Add([]byte(strings.Repeat("\xff", 33)))
	f.Fuzz(func(t *testing.T, b []byte) {
		w := &watch{stateWatch: 1}
		w.takeInotify(b)
		w.takeEventfd(b)
	})
}

func FuzzParsePressure(f *testing.F) {
	f.Add(pressureFile)
	f.Add("some avg10=0.00\nfull")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parsePressure(s)
		for _, st := range []Stall{p.Some, p.Full} {
			if err != nil && st != (Stall{}) || !st.Known && st != (Stall{}) {
				t.Errorf("%q: %+v with %v", s, p, err)
			}
			for _, avg := range []float64{st.Avg10, st.Avg60, st.Avg300} {
				if math.IsNaN(avg) || avg < 0 {
					t.Errorf("%q: %v", s, avg)
				}
			}
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\x1b\x00") {
			t.Errorf("%q: the error %q is not one safe line", s, err)
		}
	})
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
