package policy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"brig/internal/strictjson"
	"brig/internal/words"
	egress "brig/netns/egress/policy"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// Bounds of a policy document.
const (
	MaxSize  = 1 << 20 // bytes of JSON
	MaxItems = 4096    // entries of each list
	MaxText  = 4096    // bytes of each string
)

// document configures the JSON parser for policies.
var document = strictjson.Document{Name: "the policy", MaxSize: MaxSize, MaxItems: MaxItems,
	Text: checkText, Special: special, Render: render}

func checkText(_, s string) error {
	switch {
	case len(s) > MaxText:
		return fmt.Errorf("it is longer than %d bytes; shorten it", MaxText)
	case strings.ContainsRune(s, 0):
		return errors.New("it has a NUL, which no path and no argument can have; remove it")
	case strings.ContainsRune(s, utf8.RuneError): // the decoder also replaces an unpaired surrogate by this
		return errors.New("it has U+FFFD or half of a surrogate pair; write the character itself")
	}
	return nil
}

// special parses values with extra rules: a bound must be positive, and a command may be a string.
func special(r *strictjson.Reader, path string, to any) (bool, error) {
	switch to := to.(type) {
	case *nsjail.Bytes:
		return true, r.Quantity(path, `a size, as in "64m"`, func(s string) (err error) {
			*to, err = positive(spec.ParseBytes(s))
			return err
		})
	case *nsjail.Duration:
		return true, r.Quantity(path, `a duration, as in "30s"`, func(s string) (err error) {
			*to, err = positive(spec.ParseDuration(s))
			return err
		})
	case *int64:
		return true, numberText(r, path, "a whole number", func(n string) (err error) {
			if *to, err = strconv.ParseInt(n, 10, 64); err != nil {
				return fmt.Errorf("%s is not a whole number of at most 63 bits; write one", words.QuoteASCII(n))
			}
			_, err = positive(*to, nil)
			return err
		})
	case *float64:
		return true, numberText(r, path, "a number", func(n string) (err error) {
			if *to, err = strconv.ParseFloat(n, 64); err != nil || !(*to > 0) || *to > 1<<16 {
				return fmt.Errorf("%s is not between 0 and 65536; write it as in 0.5 or 2", words.QuoteASCII(n))
			}
			return nil
		})
	case *Command:
		return true, readCommand(r, path, to)
	case *egress.Ports:
		raw, err := r.Raw(path)
		if err != nil {
			return true, err
		}
		return true, wrap(path, to.UnmarshalJSON(raw))
	}
	return false, nil
}

// positive rejects zero and negative values: zero would mean no ceiling.
func positive[T nsjail.Bytes | nsjail.Duration | int64](v T, err error) (T, error) {
	if err == nil && v <= 0 {
		err = errors.New("it is not above 0; write a bound, or leave it out for none")
	}
	return v, err
}

// numberText reads a JSON number and passes its text to parse.
func numberText(r *strictjson.Reader, path, want string, parse func(string) error) error {
	t, err := r.Token(path)
	if n, ok := t.(json.Number); ok {
		return r.Fail(path, parse(n.String()))
	}
	return cmp.Or(err, r.WrongType(path, t, want))
}

func readCommand(r *strictjson.Reader, path string, to *Command) error {
	if r.Kind() == "object" {
		return r.Object(path, strictjson.Fields(to))
	}
	t, err := r.Token(path)
	command, ok := t.(string)
	if err == nil && !ok {
		err = r.WrongType(path, t, "a string or an object")
	}
	to.Command = command
	return err
}

// render names the path of a problem within the egress rules.
func render(e *strictjson.Error) error {
	if problem, ok := errors.AsType[*egress.Problem](e.Err); ok {
		return fmt.Errorf("%s: %s; %s", strings.TrimSuffix(e.Path+"."+problem.Path, "."), problem.Reason, problem.Fix)
	}
	return e
}

func wrap(path string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}
