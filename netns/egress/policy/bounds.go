package policy

import (
	"math"
	"strconv"
	"strings"
	"time"

	"brig/internal/strictjson"
	"brig/internal/words"
)

// Bound is one of a policy's numbers, by its key in JSON. To is an *int, a *Bytes or a *Duration.
type Bound struct {
	Name    string
	To      any
	Default int64 // what 0 means; if this is 0, no bound
	max     int64
}

// Bounds returns all bounds of a policy.
func (p *Policy) Bounds() []Bound {
	return []Bound{
		{"max_connections", &p.MaxConnections, DefaultMaxConnections, 65536},
		{"connections_per_second", &p.ConnectionsPerSecond, 0, 1 << 20},
		{"names_per_second", &p.NamesPerSecond, DefaultNamesPerSecond, 1 << 20},
		{"max_connection_bytes", &p.MaxConnectionBytes, 0, math.MaxInt64},
		{"max_bytes", &p.MaxBytes, 0, math.MaxInt64},
		{"bandwidth", &p.Bandwidth, 0, 1 << 50},
		{"connect_timeout", &p.ConnectTimeout, int64(DefaultConnectTimeout), int64(30 * 24 * time.Hour)},
		{"idle_timeout", &p.IdleTimeout, int64(DefaultIdleTimeout), int64(30 * 24 * time.Hour)},
	}
}

// SetLimit sets one of the policy's bounds by its key in JSON, from the text of a command line: "max_connections" "20",
// "bandwidth" "1m", "idle_timeout" "30s". The error is a *Problem.
func (p *Policy) SetLimit(key, value string) error {
	var names []string
	for _, b := range p.Bounds() {
		if names = append(names, b.Name); b.Name != key {
			continue
		}
		if problem := b.parse(value); problem != nil {
			return problem.at(key)
		}
		return nil
	}
	return &Problem{Reason: words.QuoteASCII(key) + " is not a bound of a policy", Fix: words.DidYouMean(key, names)}
}

// read reads the bound's value in JSON.
func (b Bound) read(r *strictjson.Reader, path string) error {
	example, kinds := "a whole number", []string{"number"}
	switch b.To.(type) {
	case *Bytes:
		example, kinds = `a number of bytes, or "10m"`, []string{"number", "string"}
	case *Duration:
		example, kinds = `a time with its unit, as "30s"`, []string{"string"}
	}
	return scalar(r, path, example, b.parse, kinds...)
}

func (b Bound) parse(text string) *Problem {
	switch to := b.To.(type) {
	case *Bytes:
		return to.parse(text)
	case *Duration:
		v, err := time.ParseDuration(text)
		if err != nil || v < 0 {
			return &Problem{Reason: words.QuoteASCII(text) + " is no time", Fix: `write one with its unit, as "30s" or "5m"`}
		}
		*to = Duration(v)
	case *int:
		v, err := strconv.ParseInt(text, 10, 32)
		if err != nil || v < 0 {
			return &Problem{Reason: words.QuoteASCII(text) + " is no whole number from 0 to " + strconv.Itoa(math.MaxInt32),
				Fix: "write one, or leave it out"}
		}
		*to = int(v)
	}
	return nil
}

func (b *Bytes) parse(text string) *Problem {
	digits, shift := text, 0
	if len(digits) > 1 {
		if unit := strings.IndexByte("kmgt", digits[len(digits)-1]|0x20); unit >= 0 {
			digits, shift = digits[:len(digits)-1], 10*(unit+1)
		}
	}
	v, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || v > math.MaxInt64>>shift {
		return &Problem{Reason: words.QuoteASCII(text) + " is no size",
			Fix: `write a whole number of bytes, or one with a unit k, m, g or t, as "10m"`}
	}
	*b = Bytes(v << shift)
	return nil
}

// check returns what is wrong with the bound's value, or nil.
func (b Bound) check() *Problem {
	var value int64
	switch to := b.To.(type) {
	case *int:
		value = int64(*to)
	case *Bytes:
		value = int64(*to)
	case *Duration:
		if d := time.Duration(*to); d != 0 && (d < time.Millisecond || int64(d) > b.max) {
			return &Problem{b.Name, d.String() + " is not between 1ms and 720h", `write a time as "30s", or leave it out`}
		}
		return nil
	}
	switch {
	case value < 0:
		return &Problem{b.Name, "it is negative", "write a positive number, or leave it out"}
	case value > b.max:
		return &Problem{b.Name, "it is above " + strconv.FormatInt(b.max, 10), "write a smaller number, or leave it out"}
	}
	return nil
}

// UnmarshalJSON reads a number or a string with a unit.
func (b *Bytes) UnmarshalJSON(data []byte) error { return document.Read(data, Bound{To: b}.read) }

// MarshalJSON writes the form that time.ParseDuration reads.
func (d Duration) MarshalJSON() ([]byte, error) {
	return []byte(strconv.Quote(time.Duration(d).String())), nil
}

// UnmarshalJSON reads a string for time.ParseDuration.
func (d *Duration) UnmarshalJSON(data []byte) error { return document.Read(data, Bound{To: d}.read) }
