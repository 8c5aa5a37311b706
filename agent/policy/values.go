package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"brig/internal/words"
	egress "brig/netns/egress/policy"
	"brig/nsjail"
)

func object(fields []field) value {
	return value{func(r *reader, path string) error { return r.object(path, fields) }, func() map[string]any { return objectSchema(fields) }}
}

func str(to *string, pattern string) value {
	return value{func(r *reader, path string) error { return text(r, path, to) }, func() map[string]any {
		s := map[string]any{"type": "string"}
		if pattern != "" {
			s["pattern"] = pattern
		}
		return s
	}}
}

func boolean(to *bool) value {
	return value{func(r *reader, path string) error {
		t, err := r.token(path)
		if err != nil {
			return err
		}
		b, ok := t.(bool)
		if !ok {
			return r.wrongType(path, t, "true or false")
		}
		*to = b
		return nil
	}, func() map[string]any { return map[string]any{"type": "boolean"} }}
}

func text[T ~string](r *reader, path string, to *T) error {
	t, err := r.token(path)
	if err != nil {
		return err
	}
	s, ok := t.(string)
	if !ok {
		return r.wrongType(path, t, "a string")
	}
	*to = T(s)
	return nil
}

func strs[T ~string](to *[]T) value {
	return value{func(r *reader, path string) error {
		*to = []T{}
		return r.list(path, func(path string) error {
			var s T
			err := text(r, path, &s)
			*to = append(*to, s)
			return err
		})
	}, func() map[string]any { return list(map[string]any{"type": "string"}) }}
}

func patterns(to *[][]string) value {
	return value{func(r *reader, path string) error {
		*to = [][]string{}
		return r.list(path, func(path string) error {
			var p []string
			err := strs(&p).read(r, path)
			*to = append(*to, p)
			return err
		})
	}, func() map[string]any { return list(strs(new([]string)).schema()) }}
}

func size(to *nsjail.Bytes) value {
	return quantity("a size, as in \"64m\"", `^[0-9]+([kKmMgGtTpP]?([iI]?[bB])?)$`, func(s string) (err error) {
		*to, err = positive(nsjail.ParseBytes(s))
		return err
	})
}

func duration(to *nsjail.Duration) value {
	return quantity("a duration, as in \"30s\"", `^[0-9.]+(ns|us|µs|ms|s|m|h)?([0-9.]+(ns|us|µs|ms|s|m|h))*$`, func(s string) (err error) {
		*to, err = positive(nsjail.ParseDuration(s))
		return err
	})
}

func quantity(want, pattern string, parse func(string) error) value {
	return value{func(r *reader, path string) error { return r.quantity(path, want, parse) },
		func() map[string]any {
			return map[string]any{"anyOf": []any{map[string]any{"type": "string", "pattern": pattern}, map[string]any{"type": "number", "exclusiveMinimum": 0}}}
		}}
}

func count(to *int64) value {
	return value{func(r *reader, path string) error {
		n, err := r.number(path, "a whole number")
		if err != nil {
			return err
		}
		if *to, err = positive(strconv.ParseInt(n, 10, 64)); errors.Is(err, strconv.ErrSyntax) || errors.Is(err, strconv.ErrRange) {
			err = fmt.Errorf("%s is not a whole number of at most 63 bits; write one", words.QuoteASCII(n))
		}
		return wrap(path, err)
	}, func() map[string]any { return map[string]any{"type": "integer", "minimum": 1} }}
}

func processors(to *float64) value {
	return value{func(r *reader, path string) error {
		n, err := r.number(path, "a number")
		if err != nil {
			return err
		}
		if *to, err = strconv.ParseFloat(n, 64); err != nil || !(*to > 0) || *to > 1<<16 {
			err = fmt.Errorf("%s is not between 0 and 65536; write it as in 0.5 or 2", words.QuoteASCII(n))
		}
		return wrap(path, err)
	}, func() map[string]any {
		return map[string]any{"type": "number", "exclusiveMinimum": 0, "maximum": 1 << 16}
	}}
}

// number reads a number's text.
func (r *reader) number(path, want string) (string, error) {
	t, err := r.token(path)
	if err != nil {
		return "", err
	}
	n, ok := t.(json.Number)
	if !ok {
		return "", r.wrongType(path, t, want)
	}
	return n.String(), nil
}

func wrap(path string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}

func commandList(to *[]Command) value {
	return value{func(r *reader, path string) error {
		*to = []Command{}
		return r.list(path, func(path string) error {
			var c Command
			t, err := r.token(path)
			if err != nil {
				return err
			}
			switch v := t.(type) {
			case string:
				c.Command = v
			case json.Delim:
				if v != '{' {
					return r.wrongType(path, t, "a string or an object")
				}
				err = r.keys(path, c.fields())
			default:
				return r.wrongType(path, t, "a string or an object")
			}
			*to = append(*to, c)
			return err
		})
	}, func() map[string]any {
		one := objectSchema((&Command{}).fields())
		one["required"] = []string{"command"}
		return list(map[string]any{"anyOf": []any{map[string]any{"type": "string"}, one}})
	}}
}

// egressPolicy reads what may be reached by the reader that a policy file of `brig run` has, which is as strict.
func egressPolicy(to **egress.Policy) value {
	return value{func(r *reader, path string) error {
		var raw json.RawMessage
		if err := r.json.Decode(&raw); err != nil {
			return fmt.Errorf("%s: %s is not JSON: %w; correct it", r.where(), path, err)
		}
		p, err := egress.ParsePolicy(raw)
		var problem *egress.Problem
		if errors.As(err, &problem) {
			return fmt.Errorf("%s: %s; %s", strings.TrimSuffix(path+"."+problem.Path, "."), problem.Reason, problem.Fix)
		}
		*to = p
		return wrap(path, err)
	}, egressSchema}
}

func portList(to *[]egress.Ports) value {
	return value{func(r *reader, path string) error {
		*to = []egress.Ports{}
		return r.list(path, func(path string) error {
			var p egress.Ports
			var raw json.RawMessage
			if err := r.json.Decode(&raw); err != nil {
				return fmt.Errorf("%s: %s is not JSON: %w; correct it", r.where(), path, err)
			}
			err := p.UnmarshalJSON(raw)
			*to = append(*to, p)
			return wrap(path, err)
		})
	}, func() map[string]any { return list(portsSchema()) }}
}
