package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"brig/internal/words"
)

// maxText bounds a text setting, in bytes: a path has at most 4096.
const maxText = 4096

// word checks a text setting.
func (r *row) word(s string) error {
	switch {
	case s == "":
		return errors.New("it is empty; write " + r.arg + ", or leave it out")
	case len(s) > maxText || strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s):
		return fmt.Errorf("it is longer than %d bytes, not UTF-8, or has a NUL byte; correct it", maxText)
	case len(r.words) > 0 && !slices.Contains(r.words, s):
		return fmt.Errorf("%s is not a word here; write %s", words.Quote(s), words.Or(r.words))
	}
	return nil
}

func boolean(s string) (bool, error) {
	switch s {
	case "true", "":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%s is not true or false", words.Quote(s))
}

func (r *row) integer(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("%s is not a whole number; write one from %g to %g", words.Quote(s), r.min, r.max)
	}
	return n, r.within(float64(n), strconv.Itoa(int(r.min)), strconv.Itoa(int(r.max)))
}

func (r *row) number(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) {
		return 0, fmt.Errorf("%s is not a number; write one from %g to %g", words.Quote(s), r.min, r.max)
	}
	return f, r.within(f, fmt.Sprint(r.min), fmt.Sprint(r.max))
}

func (r *row) within(f float64, low, high string) error {
	if f < r.min || f > r.max {
		return fmt.Errorf("it is out of bounds; write %s to %s", low, high)
	}
	return nil
}
