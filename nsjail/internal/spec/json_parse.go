package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"brig/internal/strictjson"
	"brig/internal/words"
	egress "brig/netns/egress/policy"
)

// ParseSpec parses the JSON form of a Spec. It is strict, because a misspelt protection would be missing: unknown and
// repeated keys, null, values of the wrong type and data after the object are errors that name the place. Check
// examines what the values mean.
func ParseSpec(data []byte) (*Spec, error) {
	s := &Spec{}
	if err := document.Read(data, s); err != nil {
		return nil, err
	}
	return s, nil
}

// document describes the JSON form of a Spec: the tags of its type, and the types with a special syntax.
var document = strictjson.Document{Name: "the spec", MaxSize: MaxSpecSize, Special: special, Render: render}

func special(r *strictjson.Reader, path string, to any) (bool, error) {
	switch to := to.(type) {
	case *Bytes:
		return true, readBytes(r, path, to)
	case *Duration:
		return true, r.Quantity(path, `a duration, as in "30s"`, func(s string) (err error) {
			*to, err = ParseDuration(s)
			return err
		})
	case *map[string]Rlimit:
		return true, readMap(r, path, to, func(name string) error {
			if slices.Contains(RlimitNames(), name) {
				return nil
			}
			return fmt.Errorf("%s is not a resource of getrlimit(2); %s", words.Quote(name),
				words.DidYouMean(name, RlimitNames()))
		})
	case *map[string]Bytes:
		return true, readMap(r, path, to, func(size string) error {
			if hugePageSize(size) {
				return nil
			}
			return fmt.Errorf("%s is not a size of huge pages; %s", words.Quote(size), hugePageFix)
		})
	}
	return false, nil
}

// readBytes parses a size or, if the limit's row has AnyOf, -1 for no limit.
func readBytes(r *strictjson.Reader, path string, to *Bytes) error {
	want := `a size, as in "64m"`
	name, limit := strings.CutPrefix(path, "limits.")
	unlimited := limit && slices.ContainsFunc(limitRows, func(row Limit) bool { return row.Name == name && row.AnyOf })
	if unlimited {
		want += ", or -1"
	}
	return r.Quantity(path, want, func(s string) (err error) {
		if unlimited && s == "-1" {
			*to = -1
			return nil
		}
		*to, err = ParseBytes(s)
		return err
	})
}

// readMap parses an object whose keys check accepts. Accepted keys are safe to print in a path.
func readMap[T any](r *strictjson.Reader, path string, to *map[string]T, check func(key string) error) error {
	*to = map[string]T{}
	return r.Members(path, func(key string) error {
		if _, twice := (*to)[key]; twice {
			return r.Fail(path, fmt.Errorf("%s is there twice; remove one", words.Quote(key)))
		}
		if err := check(key); err != nil {
			return r.Fail(path, err)
		}
		var v T
		err := r.Value(path+"."+key, &v)
		(*to)[key] = v
		return err
	})
}

// render returns the message for a problem within an egress policy, with its place.
func render(e *strictjson.Error) error {
	var problem *egress.Problem
	if errors.As(e.Err, &problem) {
		return fmt.Errorf("%s: %s; %s", strings.TrimSuffix(e.Path+"."+problem.Path, "."), problem.Reason, problem.Fix)
	}
	return e
}
