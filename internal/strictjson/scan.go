package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
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
	r := newReader(data, &Document{MaxDepth: MaxDepth, maxValues: MaxValues})
	var e *Error
	if !errors.As(r.end(r.scan("", 0, new(int))), &e) {
		return nil
	}
	switch e.Code {
	case Syntax, Early, Trailing:
		return syntax(data)
	}
	return e
}

func (r *Reader) scan(path string, depth int, values *int) error {
	if *values++; r.doc.maxValues > 0 && *values > r.doc.maxValues {
		return r.fail(path, Error{Code: TooMany, Limit: r.doc.maxValues})
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
		path := Join(path, key)
		if seen[key] {
			return r.fail(path, Error{Code: Duplicate})
		}
		seen[key] = true
		return r.scan(path, depth, values)
	})
}

// whole is any value.
type whole struct{}

func (*whole) UnmarshalJSON([]byte) error { return nil }

// reasons are what encoding/json's errors mean to who wrote the text, by what the message contains; the first fits.
var reasons = []struct{ contains, reason string }{
	{"looking for beginning of object key string", "an object needs a key in double quotes here"},
	{"after object key:value pair", "an object needs a comma or its closing brace here"},
	{"after object key", "a key needs a colon after it"},
	{"after array element", "a list needs a comma or its closing bracket here"},
	{"in string literal", "a string has a control character; write it as an escape"},
	{"in string escape code", "this is no escape of JSON"},
	{`in \u hexadecimal character escape`, "an escape needs four hexadecimal digits"},
	{"after top-level value", "there is data after the value"},
	{`'\x00' looking for beginning of value`, "the text ends too early"},
	{"", "this is no JSON value"},
}

// syntax names the first place where data is not JSON.
func syntax(data []byte) *Error {
	var se *json.SyntaxError // a character behind the end tells what is missing there
	if !errors.As(json.Unmarshal(append(bytes.Clone(data), 0), &whole{}), &se) {
		return &Error{Code: Syntax, Err: errors.New("this is no JSON value")}
	}
	at := min(max(int(se.Offset)-1, 0), len(data))
	reason := ""
	for _, r := range reasons {
		if strings.Contains(se.Error(), r.contains) {
			reason = r.reason
			break
		}
	}
	switch {
	case strings.Contains(se.Error(), "in literal"): // its beginning
		for at > 0 && data[at-1] >= 'a' && data[at-1] <= 'z' {
			at--
		}
	case strings.Contains(se.Error(), "hexadecimal"):
		at = bytes.LastIndexByte(data[:at], 'u')
	case at == len(data) && strings.Contains(se.Error(), "in string"):
		reason = "a string has no end"
	}
	e := &Error{Code: Syntax, Err: errors.New(reason)}
	e.Line, e.Column = place(data[:at])
	return e
}
