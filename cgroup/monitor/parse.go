package monitor

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// bad names the file that an error is about, not its path: that is a descriptor's.
func bad(file string, err error) error {
	var path interface{ Unwrap() error }
	if errors.As(err, &path) {
		if inner := path.Unwrap(); inner != nil {
			err = inner
		}
	}
	return fmt.Errorf("monitor: %s: %w", file, err)
}

// parseNumber reads a number or "max".
func parseNumber(s string) (uint64, error) {
	s = strings.TrimSuffix(s, "\n")
	if s == "max" {
		return Unlimited, nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is neither a number nor max", strconv.Quote(s))
	}
	return n, nil
}

// parseValues reads lines "key number".
func parseValues(s string) (map[string]uint64, error) {
	values := map[string]uint64{}
	for line := range strings.Lines(s) {
		key, number, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || key == "" {
			return nil, fmt.Errorf("line %s is not a key and a number", strconv.Quote(line))
		}
		n, err := parseNumber(number)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strconv.Quote(key), err)
		}
		values[key] = n
	}
	return values, nil
}

// parsePressure reads a pressure file: lines "some" and "full", the latter absent from cpu.pressure of older kernels.
func parsePressure(s string) (p Pressure, err error) {
	for line := range strings.Lines(s) {
		kind, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		into := map[string]*Stall{"some": &p.Some, "full": &p.Full}[kind]
		if into == nil {
			return Pressure{}, fmt.Errorf("line %s is neither some nor full", strconv.Quote(line))
		}
		if *into, err = parseStall(rest); err != nil {
			return Pressure{}, fmt.Errorf("%s: %w", kind, err)
		}
	}
	return p, nil
}

// parseStall reads "avg10=0.00 avg60=0.00 avg300=0.00 total=0". Fields that a later kernel may add are passed over.
func parseStall(s string) (Stall, error) {
	st := Stall{Known: true}
	averages := map[string]*float64{"avg10": &st.Avg10, "avg60": &st.Avg60, "avg300": &st.Avg300}
	seen := 0
	for _, field := range strings.Fields(s) {
		key, value, _ := strings.Cut(field, "=")
		var err error
		if into := averages[key]; into != nil {
			*into, err = parsePercent(value)
		} else if key == "total" {
			st.Total, err = strconv.ParseUint(value, 10, 64)
		} else {
			continue
		}
		if err != nil {
			return Stall{}, fmt.Errorf("field %s is not a number", strconv.Quote(field))
		}
		seen++
	}
	if seen != len(averages)+1 {
		return Stall{}, fmt.Errorf("%s is not avg10, avg60, avg300 and total", strconv.Quote(s))
	}
	return st, nil
}

// parsePercent reads a decimal fraction as the kernel writes it: no sign, exponent, Inf or NaN.
func parsePercent(s string) (float64, error) {
	if strings.Trim(s, "0123456789.") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(s, 64)
}
