package spec

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"brig/internal/words"
)

// Bytes is a size. Its text form is a number with an optional binary suffix, as in docker: 512, 64k, 8m, 1g, 1t.
type Bytes int64

// Duration is a time span. Its text form is that of Go ("1m30s"); JSON may also hold a number of seconds.
type Duration time.Duration

// ParseBytes parses "64m", "64mb" or "64MiB". Negative, fractional, empty and overflowing sizes are errors.
func ParseBytes(s string) (Bytes, error) {
	digits := strings.TrimRight(s, "bBiIkKmMgGtTpP")
	shift, ok := sizeShift(strings.ToLower(s[len(digits):]))
	if !ok || digits == "" || strings.TrimLeft(digits, "0123456789") != "" {
		return 0, fmt.Errorf("%s is not a size; write a whole number with k, m, g or t, as in 64m", words.Quote(s))
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || v > math.MaxInt64>>shift {
		return 0, fmt.Errorf("size %s is too large; write at most 8191p", words.Quote(s))
	}
	return Bytes(v << shift), nil
}

// sizeShift returns the power of two that a suffix means.
func sizeShift(suffix string) (shift int, ok bool) {
	if suffix == "" || suffix == "b" {
		return 0, true
	}
	i := strings.IndexByte("kmgtp", suffix[0])
	rest := suffix[1:]
	return 10 * (i + 1), i >= 0 && (rest == "" || rest == "b" || rest == "i" || rest == "ib")
}

// String returns the size with the largest suffix that divides it.
func (b Bytes) String() string {
	v, suffix := int64(b), ""
	for _, s := range []string{"k", "m", "g", "t"} {
		if v == 0 || v%1024 != 0 {
			break
		}
		v, suffix = v/1024, s
	}
	return strconv.FormatInt(v, 10) + suffix
}

// MarshalJSON returns the size in its text form.
func (b Bytes) MarshalJSON() ([]byte, error) { return json.Marshal(b.String()) }

// UnmarshalJSON parses a number of bytes or the text form.
func (b *Bytes) UnmarshalJSON(j []byte) error { return unmarshalText(j, b, ParseBytes) }

// unmarshalText parses a JSON number or string by its text form.
func unmarshalText[T any](j []byte, to *T, parse func(string) (T, error)) error {
	s := string(j)
	if len(j) > 0 && j[0] == '"' {
		if err := json.Unmarshal(j, &s); err != nil {
			return err
		}
	}
	v, err := parse(s)
	*to = v
	return err
}

// ParseDuration parses "1m30s", or whole or fractional seconds as a bare number.
func ParseDuration(s string) (Duration, error) {
	d, err := time.ParseDuration(s)
	if err == nil {
		return Duration(d), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.Trim(s, "0123456789.+-eE") != "" { // ParseFloat also reads hexadecimal, Inf and NaN
		return 0, fmt.Errorf("%s is not a duration of at most 292 years; write it as in 500ms, 30s or 1h", words.Quote(s))
	}
	if math.Abs(f) >= float64(math.MaxInt64)/1e9 { // the limit as a float is 2^63 ns, which is one too many
		return 0, fmt.Errorf("duration %s is too large; write at most 292 years", words.Quote(s))
	}
	return Duration(math.Round(f * float64(time.Second))), nil
}

// String returns the duration in Go's form.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON returns the duration in its text form.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON parses a number of seconds or the text form.
func (d *Duration) UnmarshalJSON(j []byte) error { return unmarshalText(j, d, ParseDuration) }
