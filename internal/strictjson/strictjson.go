// Package strictjson reads JSON in which a misspelt protection must not pass for a missing one. A key that is unknown
// or there twice, null, a value of another type, and data after the value are errors that name the place.
//
// It reads encoding/json's tokens, whose syntax errors are part of our messages and which every binary has already.
// github.com/go-json-experiment/json v1.27 finds repeated keys itself and adds 80 KiB and no cost to a start, but its
// errors read differently, and the keys, bounds and suggestions would still be ours.
//
// A document is described by a struct with json tags, or by a list of Fields.
package strictjson

import (
	"fmt"
	"reflect"
	"strings"

	"brig/internal/words"
)

// Document is a kind of JSON text: its name in messages, its bounds, and what a struct's tags cannot express.
type Document struct {
	Name     string // "the spec"
	MaxSize  int    // in bytes; 0 is unbounded
	MaxItems int    // of each list; 0 is unbounded
	// MaxDepth bounds objects and lists in each other. Unless it is 0, all syntax errors and repeated keys are found
	// before any value is read.
	MaxDepth int
	SkipNull bool // a member that is null counts as absent
	// Text checks each string, also a key. Path is that of the value, or of the object whose key it is.
	Text func(path, s string) error
	// Special reads into a pointer itself, or returns false.
	Special func(r *Reader, path string, to any) (done bool, err error)
	// Render makes the message of an error; nil is Error.Error.
	Render func(*Error) error

	maxValues int
}

// Field is one key of an object.
type Field struct {
	Name string
	// To is what a value is read into: a pointer to a string, bool, number, slice, map or struct with json tags, or to a
	// type of these kinds; []Field, an object; or func(r *Reader, path string) error, which reads the value itself.
	To any
}

// Fields returns the keys of the struct that to points to, by its json tags, in their order.
func Fields(to any) (fields []Field) {
	v := reflect.ValueOf(to).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || f.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		fields = append(fields, Field{Name: name, To: v.FieldByIndex(f.Index).Addr().Interface()})
	}
	return fields
}

// Code is a kind of error.
type Code string

// The kinds of errors. The values are part of brigd's answers.
const (
	TooLarge  Code = "too_large"       // Limit is the bound in bytes
	Encoding  Code = "encoding"        // not UTF-8, or half of a surrogate pair
	Syntax    Code = "syntax"          // Err is encoding/json's error
	TooDeep   Code = "too_deep"        // Limit is the bound
	TooMany   Code = "too_many_values" // entries of a list, or values; Limit is the bound
	Early     Code = "early"           // the text ends within a value
	Trailing  Code = "trailing"        // there is data after the value
	Duplicate Code = "duplicate_key"   // Path is that of the key
	Unknown   Code = "unknown_field"   // Key is not one of Names
	WrongType Code = "wrong_type"      // Got is not Want
	Misfit    Code = "misfit"          // Got is a number that does not fit into Want; Limit is its size in bits
	Invalid   Code = "invalid_value"   // Err is the reason
)

// Error is what is wrong with a text, and where.
type Error struct {
	Code         Code
	Path         string // of the value, as in limits.io[0]; "" for the whole
	Line, Column int    // of the last token, from 1, as an editor counts
	Key          string
	Names        []string
	Got          any // a json.Token
	Want         string
	Limit        int
	Err          error
	name         string
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// At returns the path, or the document's name for the whole.
func (e *Error) At() string {
	if e.Path == "" {
		return e.name
	}
	return e.Path
}

// Where returns the line and column.
func (e *Error) Where() string { return fmt.Sprintf("line %d column %d", e.Line, e.Column) }

// Error is one line: the place, the reason, the remedy.
func (e *Error) Error() string {
	switch e.Code {
	case TooLarge:
		return fmt.Sprintf("%s is larger than %d bytes; shorten it", e.name, e.Limit)
	case Encoding:
		if e.Path == "" && e.Line == 0 {
			return e.name + " is not UTF-8; write it in UTF-8"
		}
		return e.At() + ": it has half of a surrogate pair; write the character itself"
	case Syntax:
		return fmt.Sprintf("%s: %s is not JSON: %v; correct it", e.Where(), e.At(), e.Err)
	case Early:
		return e.Where() + ": the JSON ends too early; close every string, list and object"
	case Trailing:
		return e.Where() + ": there is data after the closing brace; remove it"
	case TooDeep:
		return fmt.Sprintf("%s: it is nested deeper than %d; nest it less", e.At(), e.Limit)
	case TooMany:
		return fmt.Sprintf("%s: it has more than %d entries; shorten it", e.At(), e.Limit)
	case Duplicate:
		return e.At() + ": the key is there twice; remove one"
	case Unknown:
		return fmt.Sprintf("%s: %s is not a key here; %s", e.At(), words.Quote(e.Key), words.DidYouMean(e.Key, e.Names))
	case WrongType:
		return fmt.Sprintf("%s: it is %s; write %s", e.At(), Show(e.Got), e.Want)
	case Misfit:
		return fmt.Sprintf("%s: it is %s; write %s", e.At(), Show(e.Got), fit(e.Want))
	}
	return e.At() + ": " + e.Err.Error()
}

// fit is what to write instead of a number that does not fit.
func fit(want string) string {
	if want == aNumber {
		return "a smaller number"
	}
	return want + " of at most 63 bits"
}
