package policy

import (
	"errors"
	"io"
	"slices"
	"strconv"
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

func key(name string, read reader) strictjson.Field { return strictjson.Field{Name: name, To: read} }

// expect checks that the next value is of one of the kinds.
func expect(r *strictjson.Reader, path, example string, kinds ...string) error {
	if kind := r.Kind(); !slices.Contains(kinds, kind) {
		return r.Fail(path, &Problem{Reason: "it is " + article(kind) + ", not " + article(kinds[0]),
			Fix: "write " + example})
	}
	return nil
}

// scalar reads a string, a number or one of both kinds, and has its text parsed.
func scalar(r *strictjson.Reader, path, example string, parse func(string) *Problem, kinds ...string) error {
	if err := expect(r, path, example, kinds...); err != nil {
		return err
	}
	return r.Quantity(path, example, func(text string) error {
		if problem := parse(text); problem != nil {
			return problem
		}
		return nil
	})
}

func article(kind string) string {
	switch kind {
	case "object", "array":
		return "an " + kind
	case "null":
		return kind
	}
	return "a " + kind
}

func readObject(r *strictjson.Reader, path, example string, fields []strictjson.Field) error {
	if err := expect(r, path, example, "object"); err != nil {
		return err
	}
	return r.Object(path, fields)
}

// list returns a reader of an array into out, which stays nil when it is empty.
func list[T any](out *[]T, example string, read func(*T, *strictjson.Reader, string) error) reader {
	return func(r *strictjson.Reader, path string) error {
		if err := expect(r, path, example, "array"); err != nil {
			return err
		}
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
	var problem *Problem
	switch {
	case errors.As(e.Err, &problem):
		return problem.at(e.Path)
	case e.Code == strictjson.Unknown:
		return noField(e.Key, e.Names).at(e.Path)
	case e.Code == strictjson.TooLarge:
		return &Problem{Reason: "the policy is longer than 4 MiB", Fix: "replace names below one suffix by *.suffix"}
	case e.Code == strictjson.Encoding && e.Line == 0:
		return &Problem{Reason: "the policy is not UTF-8", Fix: "save it as UTF-8"}
	case e.Code == strictjson.Encoding:
		return &Problem{Path: e.Path, Reason: "it has half of a surrogate pair", Fix: "write the character itself"}
	case e.Code == strictjson.TooDeep:
		return &Problem{Path: e.Path, Reason: "it is nested deeper than " + strconv.Itoa(e.Limit),
			Fix: "a policy needs four levels"}
	case e.Code == strictjson.Duplicate:
		return &Problem{e.Path, "the key stands there twice", "leave one of them out"}
	case e.Code == strictjson.Trailing && e.Err == nil:
		return &Problem{Reason: "something follows the policy", Fix: "write one JSON object"}
	case e.Code == strictjson.Early || errors.Is(e.Err, io.ErrUnexpectedEOF):
		e.Err = errors.New("it ends too early")
	}
	return &Problem{Reason: "the policy is not JSON: line " + strconv.Itoa(e.Line) + ": " + e.Err.Error(),
		Fix: `write an object, as {"allow": ["example.com"]}`}
}

func noField(key string, names []string) *Problem {
	return &Problem{shown(key), "there is no such field", words.DidYouMean(key, names)}
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
