package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Reader reads the tokens of one text.
type Reader struct {
	json  *json.Decoder
	data  []byte
	start int64 // of the last token, or of the white space before it
	doc   *Document
}

// Read reads one value, and nothing after it, into what to points to, or into an object of []Field. Errors are *Error,
// or what Render makes of it.
func (d *Document) Read(data []byte, to any) error {
	err := d.read(data, to)
	var e *Error
	if d.Render != nil && errors.As(err, &e) {
		return d.Render(e)
	}
	return err
}

func (d *Document) read(data []byte, to any) error {
	if d.MaxSize > 0 && len(data) > d.MaxSize {
		return &Error{Code: TooLarge, Limit: d.MaxSize, name: d.Name}
	}
	if !utf8.Valid(data) {
		return &Error{Code: Encoding, name: d.Name}
	}
	r := newReader(data, d)
	if d.MaxDepth > 0 {
		if err := r.end(r.scan("", 0, new(int))); err != nil {
			return err
		}
		r = newReader(data, d)
	}
	return r.end(r.Value("", to))
}

// end checks that nothing follows the value, after which err was found.
func (r *Reader) end(err error) error {
	if err != nil {
		return err
	}
	if _, err := r.json.Token(); err != io.EOF {
		return r.fail("", Error{Code: Trailing, Err: err})
	}
	return nil
}

func newReader(data []byte, d *Document) *Reader {
	r := &Reader{json: json.NewDecoder(bytes.NewReader(data)), data: data, doc: d}
	r.json.UseNumber()
	return r
}

// place returns the line and column behind some text, from 1.
func place(before []byte) (line, column int) {
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

// fail completes an error with its place.
func (r *Reader) fail(path string, e Error) error {
	e.Line, e.Column = place(r.data[:min(int(r.json.InputOffset()), len(r.data))])
	e.Path, e.name = path, r.doc.Name
	return &e
}

// Fail returns an error of the value at path: err is the reason and the remedy. A nil err stays nil.
func (r *Reader) Fail(path string, err error) error {
	if err == nil {
		return nil
	}
	return r.fail(path, Error{Code: Invalid, Err: err})
}

// WrongType returns the error of a value that is not what is wanted, as in "a list".
func (r *Reader) WrongType(path string, got json.Token, want string) error {
	return r.fail(path, Error{Code: WrongType, Got: got, Want: want})
}

// Token reads the next token of the value at path.
func (r *Reader) Token(path string) (json.Token, error) {
	r.start = r.json.InputOffset()
	t, err := r.json.Token()
	if err != nil {
		return nil, r.syntax(path, err)
	}
	s, ok := t.(string)
	if !ok {
		return t, nil
	}
	if r.doc.Text != nil {
		if err := r.doc.Text(path, s); err != nil {
			return nil, r.Fail(path, err)
		}
	}
	if strings.ContainsRune(s, utf8.RuneError) && halfPair(r.data[r.start:r.json.InputOffset()]) {
		return nil, r.fail(path, Error{Code: Encoding})
	}
	return t, nil
}

func (r *Reader) syntax(path string, err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return r.fail(path, Error{Code: Early})
	}
	return r.fail(path, Error{Code: Syntax, Err: err})
}

// halfPair reports whether a string, as it is written, has an escape of half a surrogate pair. The decoder reads it as
// U+FFFD, so that the value would not be its text (RFC 8259, section 8.2).
func halfPair(raw []byte) bool {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return false
		}
		if raw = raw[i+1:]; raw[0] != 'u' {
			raw = raw[1:]
			continue
		}
		unit := utf16(raw[1:])
		raw = raw[5:]
		switch {
		case unit < 0xD800 || unit > 0xDFFF:
		case unit < 0xDC00 && bytes.HasPrefix(raw, []byte(`\u`)) && utf16(raw[2:])&^0x3FF == 0xDC00:
			raw = raw[6:]
		default:
			return true
		}
	}
}

func utf16(hex []byte) uint64 {
	unit, err := strconv.ParseUint(string(hex[:min(4, len(hex))]), 16, 16)
	if err != nil {
		return 0 // the decoder has checked the digits
	}
	return unit
}

// Raw reads a value as it is written.
func (r *Reader) Raw(path string) (raw json.RawMessage, err error) {
	if err := r.json.Decode(&raw); err != nil {
		return nil, r.fail(path, Error{Code: Syntax, Err: err})
	}
	return raw, nil
}

// Kind returns the kind of the next value, if the text is JSON: "object", "array", "string", "number", "bool" or
// "null".
func (r *Reader) Kind() string {
	rest := bytes.TrimLeft(r.data[r.json.InputOffset():], ":, \t\r\n")
	switch {
	case bytes.HasPrefix(rest, []byte("{")):
		return "object"
	case bytes.HasPrefix(rest, []byte("[")):
		return "array"
	case bytes.HasPrefix(rest, []byte(`"`)):
		return "string"
	case bytes.HasPrefix(rest, []byte("t")), bytes.HasPrefix(rest, []byte("f")):
		return "bool"
	case bytes.HasPrefix(rest, []byte("n")):
		return "null"
	}
	return "number"
}

// Object reads an object that has no other keys than fields.
func (r *Reader) Object(path string, fields []Field) error {
	seen := make([]bool, len(fields))
	return r.Members(path, func(key string) error {
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == key })
		if i < 0 {
			names := make([]string, len(fields))
			for i, f := range fields {
				names[i] = f.Name
			}
			return r.fail(path, Error{Code: Unknown, Key: key, Names: names})
		}
		here := strings.TrimPrefix(path+"."+key, ".")
		if seen[i] {
			return r.fail(here, Error{Code: Duplicate})
		}
		seen[i] = true
		if r.doc.SkipNull && r.Kind() == "null" {
			_, err := r.Token(here)
			return err
		}
		return r.Value(here, fields[i].To)
	})
}

// Members reads an object and calls value for each key, to read what follows.
func (r *Reader) Members(path string, value func(key string) error) error {
	t, err := r.Token(path)
	if err == nil && t != json.Delim('{') {
		err = r.WrongType(path, t, "an object")
	}
	for err == nil {
		if t, err = r.Token(path); err != nil {
			break
		}
		key, ok := t.(string)
		if !ok { // the closing brace: the decoder lets nothing else follow
			return nil
		}
		err = value(key)
	}
	return err
}

// List reads a list and calls item for each value, to read it.
func (r *Reader) List(path, want string, item func(path string) error) error {
	t, err := r.Token(path)
	if err == nil && t != json.Delim('[') {
		err = r.WrongType(path, t, want)
	}
	for i := 0; err == nil && r.json.More(); i++ {
		if r.doc.MaxItems > 0 && i >= r.doc.MaxItems {
			return r.fail(path, Error{Code: TooMany, Limit: r.doc.MaxItems})
		}
		err = item(Index(path, i))
	}
	if err == nil {
		_, err = r.Token(path)
	}
	return err
}

// Quantity reads a number or a string, and has its text parsed.
func (r *Reader) Quantity(path, want string, parse func(string) error) error {
	t, err := r.Token(path)
	if err != nil {
		return err
	}
	switch v := t.(type) {
	case string:
		return r.Fail(path, parse(v))
	case json.Number:
		return r.Fail(path, parse(v.String()))
	}
	return r.WrongType(path, t, want)
}
