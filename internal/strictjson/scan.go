package strictjson

import (
	"errors"
	"unicode/utf8"
)

// Bounds of Scan.
const (
	MaxDepth  = 32      // objects and lists in each other
	MaxValues = 100_000 // objects, lists, strings, numbers and so on together
)

// Scan checks that data is one JSON value in UTF-8 within MaxDepth and MaxValues, without a key that is there twice
// (RFC 8259, section 4) and without half of a surrogate pair. It returns nil if so.
func Scan(data []byte) *Error {
	if !utf8.Valid(data) {
		return &Error{Code: Encoding}
	}
	r := newReader(data, &Document{MaxDepth: MaxDepth, MaxValues: MaxValues})
	var e *Error
	errors.As(r.end(r.scan("", 0, new(int))), &e)
	return e
}

func (r *Reader) scan(path string, depth int, values *int) error {
	if *values++; r.doc.MaxValues > 0 && *values > r.doc.MaxValues {
		return r.fail(path, Error{Code: TooMany, Limit: r.doc.MaxValues})
	}
	kind := r.Kind()
	if kind != "object" && kind != "array" {
		_, err := r.Token(path)
		return err
	}
	if depth++; depth > r.doc.MaxDepth {
		if _, err := r.Token(path); err != nil {
			return err
		}
		return r.fail(path, Error{Code: TooDeep, Limit: r.doc.MaxDepth})
	}
	if kind == "array" {
		return r.List(path, "", func(path string) error { return r.scan(path, depth, values) })
	}
	seen := map[string]bool{}
	return r.Members(path, func(key string) error {
		path := join(path, key)
		if seen[key] {
			return r.fail(path, Error{Code: Duplicate})
		}
		seen[key] = true
		return r.scan(path, depth, values)
	})
}
