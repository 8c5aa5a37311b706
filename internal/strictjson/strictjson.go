// Package strictjson reads JSON strictly, so that a misspelt protection is not silently ignored. An unknown or repeated
// key, null, a value of another type, and data after the value are errors that name the place.
//
// It reads encoding/json's tokens, whose syntax errors are part of our messages and which every binary has already.
// github.com/go-json-experiment/json v1.27 finds repeated keys itself and adds 80 KiB and no cost to a start, but its
// errors read differently, and the keys, bounds and suggestions would still be ours.
//
// A document is described by a struct with json tags, or by a list of Fields.
package strictjson

import (
	"cmp"
	"fmt"
	"math"
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
	MaxDepth  int
	MaxValues int  // bounds all values together, with MaxDepth; 0 is unbounded
	SkipNull  bool // a member that is null counts as absent
	// Text checks each string, also a key. Path is that of the value, or of the object whose key it is.
	Text func(path, s string) error
	// Special reads into a pointer itself, or returns false.
	Special func(r *Reader, path string, to any) (done bool, err error)
	// Render makes the message of an error; nil is Error.Error.
	Render func(*Error) error
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
	unsigned     bool // Want is at least 0
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// where returns the line and column.
func (e *Error) where() string { return fmt.Sprintf("line %d column %d", e.Line, e.Column) }

// Error returns one line: the place, the reason, the remedy.
func (e *Error) Error() string {
	path, reason, fix := e.Parts()
	if path = cmp.Or(path, e.name); path != "" && !e.ofText() {
		reason = path + ": " + reason
	}
	if fix != "" {
		reason += "; " + fix
	}
	return reason
}

// ofText reports whether the error is one of the whole text, whose reason has its place.
func (e *Error) ofText() bool {
	switch e.Code {
	case TooLarge, Syntax, Early, Trailing:
		return true
	}
	return e.Code == Encoding && e.Line == 0
}

// Parts returns the path of the value, the reason, as in "it is null", and what to do, in the imperative. The path is
// "" for the whole text, and the fix is "" if Err has it.
func (e *Error) Parts() (path, reason, fix string) {
	if !e.ofText() {
		path = e.Path
	}
	reason, fix = e.parts()
	return path, reason, fix
}

func (e *Error) parts() (reason, fix string) {
	text := cmp.Or(e.name, "the text")
	switch e.Code {
	case TooLarge:
		return fmt.Sprintf("%s is larger than %d bytes", text, e.Limit), "shorten it"
	case Encoding:
		if e.ofText() {
			return text + " is not UTF-8", "write it in UTF-8"
		}
		return "it has half of a surrogate pair", "write the character itself"
	case Syntax:
		return fmt.Sprintf("%s: %s is not JSON: %v", e.where(), cmp.Or(e.Path, text), e.Err), "correct it"
	case Early:
		return e.where() + ": the JSON ends too early", "close every string, list and object"
	case Trailing:
		return e.where() + ": there is data after the closing brace", "remove it"
	case TooDeep:
		return fmt.Sprintf("it is nested deeper than %d", e.Limit), "nest it less"
	case TooMany:
		return fmt.Sprintf("it has more than %d entries", e.Limit), "shorten it"
	case Duplicate:
		return "the key is there twice", "remove one"
	case Unknown:
		return words.QuoteASCII(e.Key) + " is not a key here", words.DidYouMean(e.Key, e.Names)
	case WrongType:
		return "it is " + Show(e.Got), "write " + e.Want
	case Misfit:
		return "it is " + Show(e.Got), "write " + e.fit()
	}
	return e.Err.Error(), ""
}

// fit returns what to write instead of a number that does not fit.
func (e *Error) fit() string {
	switch {
	case e.Want == aNumber:
		return "a smaller number"
	case e.unsigned:
		return fmt.Sprintf("%s from 0 to %d", e.Want, uint64(math.MaxUint64)>>(64-e.Limit))
	}
	return fmt.Sprintf("%s of at most %d bits", e.Want, e.Limit-1)
}
