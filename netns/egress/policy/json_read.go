package policy

import (
	"errors"
	"slices"
	"unicode/utf8"

	"brig/internal/strictjson"
	"brig/internal/words"
)

// Bounds of a policy's text.
const (
	maxPolicy = 4 << 20 // bytes
	maxDepth  = 32      // objects and arrays within each other
)

// document is the JSON form of a policy and of its parts.
var document = strictjson.Document{MaxSize: maxPolicy, MaxDepth: maxDepth, Render: render}

// reader reads the value at a path.
type reader = func(r *strictjson.Reader, path string) error

func key(name string, to any) strictjson.Field { return strictjson.Field{Name: name, To: to} }

// scalar reads a value of one of the kinds, which are string and number, and has its text parsed.
func scalar(r *strictjson.Reader, path, example string, parse func(string) *Problem, kinds ...string) error {
	if !slices.Contains(kinds, r.Kind()) {
		t, err := r.Token(path)
		if err == nil {
			err = r.WrongType(path, t, example)
		}
		return err
	}
	return r.Quantity(path, example, func(text string) error {
		if problem := parse(text); problem != nil {
			return problem
		}
		return nil
	})
}

// list returns a reader of an array into out, which stays nil when it is empty.
func list[T any](out *[]T, example string, read func(*T, *strictjson.Reader, string) error) reader {
	return func(r *strictjson.Reader, path string) error {
		*out = nil
		return r.List(path, example, func(path string) error {
			var v T
			err := read(&v, r, path)
			*out = append(*out, v)
			return err
		})
	}
}

// full is list that refuses an empty array: its author would expect it to allow nothing, but it means no restriction.
func full[T any](out *[]T, example string, read func(*T, *strictjson.Reader, string) error) reader {
	return func(r *strictjson.Reader, path string) error {
		err := list(out, example, read)(r, path)
		if err == nil && len(*out) == 0 {
			err = r.Fail(path, &Problem{Reason: "it is empty", Fix: "leave it out for no restriction, or name what is allowed"})
		}
		return err
	}
}

// render converts an error of the JSON text to a Problem.
func render(e *strictjson.Error) error {
	if problem, ok := errors.AsType[*Problem](e.Err); ok {
		return problem.at(e.Path)
	}
	path, reason, fix := e.Parts()
	return &Problem{path, reason, fix}
}

// shown returns a key as a path repeats it: plain if it is a plain word, else quoted.
func shown(key string) string {
	for _, r := range key {
		if r >= utf8.RuneSelf || !plainRune(r) || r == '"' || r == '.' || r == '[' {
			return words.QuoteASCII(key)
		}
	}
	if key == "" || len(key) > words.MaxShown {
		return words.QuoteASCII(key)
	}
	return key
}

func readText(to *string, r *strictjson.Reader, path string) error { return r.Value(path, to) }
