package spec

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

func TestParseBytes(t *testing.T) {
	for in, want := range map[string]Bytes{"0": 0, "512": 512, "512b": 512, "64k": 64 << 10, "64K": 64 << 10, "8mb": 8 << 20, "8MiB": 8 << 20,
		"1g": 1 << 30, "2t": 2 << 40, "1p": 1 << 50, "9223372036854775807": math.MaxInt64, "8191p": 8191 << 50} {
		if got, err := ParseBytes(in); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "k", "b", "-1", "+1", "1.5g", "64q", "64i", "64ib", "64kk", "64bk", "1 k", " 1", "1_000", "\u212a", "6\u212a",
		"9223372036854775808", "8192p", "0x10", "1e3", "null", "99999999999999999999k"} {
		if got, err := ParseBytes(in); err == nil {
			t.Errorf("ParseBytes(%q) = %d, want an error", in, got)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{"0": 0, "30": 30 * time.Second, "0.1": 100 * time.Millisecond, "1.001": 1001 * time.Millisecond,
		"1m30s": 90 * time.Second, "500ms": 500 * time.Millisecond, "-1": -time.Second, "1e3": 1000 * time.Second, "1h": time.Hour} {
		if got, err := ParseDuration(in); err != nil || time.Duration(got) != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "s", "1x", "nan", "inf", "Infinity", "0x1p3", "1_0", "1d", " 1", "9223372036.854775807", "-9223372036.9", "1e400", "9999999999h"} {
		if got, err := ParseDuration(in); err == nil {
			t.Errorf("ParseDuration(%q) = %v, want an error", in, got)
		}
	}
}

func TestUnitsSurviveJSON(t *testing.T) {
	for _, b := range []Bytes{0, 1, 1023, 1024, 1 << 20, 3 << 30, 5 << 40, 8191 << 50, math.MaxInt64} {
		var back Bytes
		j, err := json.Marshal(b)
		if err == nil {
			err = json.Unmarshal(j, &back)
		}
		if err != nil || back != b {
			t.Errorf("%d is %s, then %d, %v", int64(b), j, int64(back), err)
		}
	}
	for _, d := range []Duration{0, 1, -1, Duration(time.Hour), Duration(90 * time.Millisecond), math.MaxInt64, math.MinInt64 + 1} {
		var back Duration
		j, err := json.Marshal(d)
		if err == nil {
			err = json.Unmarshal(j, &back)
		}
		if err != nil || back != d {
			t.Errorf("%d is %s, then %d, %v", int64(d), j, int64(back), err)
		}
	}
	var b Bytes
	if json.Unmarshal([]byte("4096"), &b) != nil || b != 4096 {
		t.Error("a bare number of bytes is refused")
	}
	var d Duration
	if json.Unmarshal([]byte("1.5"), &d) != nil || d != Duration(1500*time.Millisecond) {
		t.Error("a bare number of seconds is refused")
	}
}
