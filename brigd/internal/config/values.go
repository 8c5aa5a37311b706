package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"brig/internal/cli"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

const (
	maxCount = 1 << 20
	maxBytes = 1 << 50
	maxTime  = 366 * 24 * 3600 // seconds
)

// complete adds what follows from the type of f.To, and the default to the help.
func (g given) complete(f *cli.Flag) {
	switch to := f.To.(type) {
	case *int64:
		f.To = (*nsjail.Bytes)(to)
	case *time.Duration:
		f.To = (*nsjail.Duration)(to)
	case *[]string:
		f.Many = true
	}
	f.Files = strings.Contains(f.Args, "FILE") || f.Args == "DIR"
	f.Help += standard(f.To)
	row := *f
	f.Set = func(v []string) error { return g.set(&row, "--"+row.Name, v[0]) }
	if f.Args == "" {
		f.Bare = func([]string) error { return g.set(&row, "--"+row.Name, "true") }
	}
}

// standard returns the default of a setting, for the help.
func standard(to any) string {
	text := ""
	switch v := to.(type) {
	case *string:
		text = *v
	case *int:
		text = strconv.Itoa(*v)
	case *nsjail.Bytes:
		text = v.String()
	case *nsjail.Duration:
		text = v.String()
	}
	if text == "" || text == "0" {
		return ""
	}
	return " (" + text + ")"
}

// kindOf returns what a value in the file must be, and whether a text or a number can be it.
func kindOf(to any) (kind string, texts, numbers bool) {
	switch to.(type) {
	case *bool:
		return "true or false", false, false
	case *int:
		return "a whole number", false, true
	case *float64:
		return "a number", false, true
	case *nsjail.Bytes:
		return `a size, as in "512m"`, true, true
	case *nsjail.Duration:
		return `a time, as in "30s"`, true, true
	}
	return "a text", true, false
}

// set parses a value and stores it. The first value of a list replaces those from elsewhere.
func (g given) set(f *cli.Flag, from, text string) (err error) {
	switch to := f.To.(type) {
	case *string:
		if *to, err = text, word(f, text); err == nil && f.Args == "DIR" && strings.Contains(text, "..") {
			*to, err = sys.Abs(text) // names are joined to it, as text
		}
	case *[]string:
		if g[f.Path] != from {
			*to = nil
		}
		*to, err = append(*to, text), word(f, text)
	case *bool:
		*to, err = boolean(f, text)
	case *int:
		*to, err = strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%s is not a whole number; write one from %g to %g", words.Quote(text), f.Min, f.Max)
		}
		err = within(f, float64(*to), strconv.Itoa(int(f.Min)), strconv.Itoa(int(f.Max)))
	case *float64:
		*to, err = strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(*to) {
			return fmt.Errorf("%s is not a number; write one from %g to %g", words.Quote(text), f.Min, f.Max)
		}
		err = within(f, *to, fmt.Sprint(f.Min), fmt.Sprint(f.Max))
	case *nsjail.Bytes:
		if *to, err = spec.ParseBytes(text); err == nil {
			err = within(f, float64(*to), nsjail.Bytes(f.Min).String(), nsjail.Bytes(f.Max).String())
		}
	case *nsjail.Duration:
		if *to, err = spec.ParseDuration(text); err == nil {
			err = within(f, float64(*to)/1e9, nsjail.Duration(f.Min*1e9).String(), nsjail.Duration(f.Max*1e9).String())
		}
	}
	g[f.Path] = from
	return err
}

// maxText bounds a text setting, in bytes: a path has at most 4096.
const maxText = 4096

// word checks a text setting.
func word(f *cli.Flag, s string) error {
	switch {
	case s == "":
		return errors.New("it is empty; write " + f.Args + ", or leave it out")
	case len(s) > maxText || strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s):
		return fmt.Errorf("it is longer than %d bytes, not UTF-8, or has a NUL byte; correct it", maxText)
	case len(f.Words) > 0 && !slices.Contains(f.Words, s):
		return fmt.Errorf("%s is not a word here; write %s", words.Quote(s), words.Or(f.Words))
	}
	return nil
}

func boolean(f *cli.Flag, s string) (bool, error) {
	switch s {
	case "true", "false":
		return s == "true", nil
	case "":
		return false, fmt.Errorf("the value is missing after =; write --%s alone", f.Name)
	}
	return false, fmt.Errorf("%s is not true or false", words.Quote(s))
}

func within(f *cli.Flag, v float64, low, high string) error {
	if v < f.Min || v > f.Max {
		return fmt.Errorf("it is out of bounds; write %s to %s", low, high)
	}
	return nil
}
