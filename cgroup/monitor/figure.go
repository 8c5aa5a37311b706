package monitor

import (
	"encoding/json"
	"math"
	"strconv"
)

// Unlimited is the value of a limit that is not set ("max" in the kernel's files).
const Unlimited = math.MaxUint64

// Figure is a number that the kernel may not give. The zero Figure is not known.
type Figure struct {
	Value uint64
	Known bool
}

func known(v uint64) Figure { return Figure{v, true} }

// limit1 is a version 1 memory limit, where "none" is the largest number of whole pages.
func limit1(v uint64) Figure {
	const largestPage = 64 << 10
	if v > math.MaxInt64-largestPage {
		v = Unlimited
	}
	return known(v)
}

// String is the number, "max" or "unknown".
func (f Figure) String() string {
	switch {
	case !f.Known:
		return "unknown"
	case f.Value == Unlimited:
		return "max"
	}
	return strconv.FormatUint(f.Value, 10)
}

// MarshalJSON gives the number, "max" or null.
func (f Figure) MarshalJSON() ([]byte, error) {
	switch {
	case !f.Known:
		return []byte("null"), nil
	case f.Value == Unlimited:
		return []byte(`"max"`), nil
	}
	return json.Marshal(f.Value)
}

// Stall is one line of a pressure file (PSI): for how much of the time tasks waited for a resource.
type Stall struct {
	Known bool
	// Avg10, Avg60 and Avg300 are percentages of the last 10, 60 and 300 seconds.
	Avg10, Avg60, Avg300 float64
	// Total is the time since the group was made, in microseconds.
	Total uint64
}

// Pressure is a pressure file: the time that some task waited, and that all of them did.
type Pressure struct {
	Some, Full Stall
}
