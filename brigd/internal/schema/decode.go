package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"brig/internal/strictjson"
	"brig/internal/words"
)

// Error is an error in a JSON text, with its place.
type Error struct {
	Code    string // a strictjson.Code, or the caller's
	Path    string // of the value, as in files["a b"].base64; "" for the whole
	Message string // what is wrong
	Fix     string // what to do, in the imperative
}

// Error returns one sentence.
func (e *Error) Error() string {
	return strings.TrimPrefix(e.Path+": ", ": ") + e.Message + "; " + e.Fix
}

// document has the rules for JSON from clients.
var document = strictjson.Document{MaxDepth: strictjson.MaxDepth, MaxValues: strictjson.MaxValues,
	Special: unmarshaler, Render: render}

// Decode strictly reads a JSON text into the value that v points to. It returns an *Error with the place for what Scan
// refuses, an unknown field, null, and a value of the wrong type. Field names are case-sensitive.
func Decode(data []byte, v any) error { return document.Read(data, v) }

// Scan checks that data is one JSON value in UTF-8 within the default bounds and without repeated keys, which JSON
// parsers treat differently (RFC 8259, section 4).
func Scan(data []byte) error {
	if err := strictjson.Scan(data); err != nil {
		return render(err)
	}
	return nil
}

// unmarshaler reads types that implement json.Unmarshaler; it refuses null.
func unmarshaler(r *strictjson.Reader, path string, to any) (bool, error) {
	u, ok := to.(json.Unmarshaler)
	if !ok {
		return false, nil
	}
	raw, err := r.Raw(path)
	switch {
	case err != nil:
		return true, err
	case string(raw) == "null":
		return true, r.WrongType(path, nil, "")
	}
	return true, r.Fail(path, u.UnmarshalJSON(raw))
}

// examples of lists and objects in requests.
var examples = map[string]string{
	"cmd": `["ls", "-l"]`, "args": `["-v", "file"]`, "network": `["example.org:443"]`,
	"mounts": `[{"share": "data", "target": "/data"}]`, "env": `{"NAME": "value"}`, "secrets": `{"API_KEY": "value"}`,
	"files": `{"a.txt": "its text"}`, "tty": `{"rows": 24, "cols": 80}`,
}

// render converts an error to the form of an answer, which repeats little of the input.
func render(e *strictjson.Error) error {
	out := &Error{Code: string(e.Code)}
	out.Path, out.Message, out.Fix = e.Parts()
	switch e.Code {
	case strictjson.Syntax, strictjson.Early, strictjson.Trailing:
		out.Code = "syntax"
	case strictjson.WrongType:
		out.Message = "it is " + kind(e.Got)
		if e.Got == nil {
			out.Fix = "leave it out, or write a value"
		} else if example := examples[out.Path]; example != "" {
			out.Fix += ", as in " + example
		}
	case strictjson.Misfit:
		out.Code = string(strictjson.WrongType)
		out.Message, out.Fix = "it is "+kind(e.Got)+", which is not "+e.Want+" that fits", "write "+e.Want
	case strictjson.Invalid:
		return invalid(out, e.Err)
	}
	return out
}

// invalid fills in the error of a type's UnmarshalJSON. The remedy follows in its sentence.
func invalid(out *Error, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return &Error{e.Code, out.Path + e.Path, e.Message, e.Fix}
	}
	var ok bool
	if out.Message, out.Fix, ok = strings.Cut(shortened(err).Error(), "; "); !ok {
		out.Fix = "correct it"
	}
	return out
}

// kind returns the type of a JSON value, without the content of a string.
func kind(t json.Token) string {
	switch v := t.(type) {
	case string:
		return "a string"
	case json.Number:
		return "the number " + words.Short(v.String(), words.MaxShown)
	}
	return strictjson.Show(t)
}

// maxMessage bounds, in bytes, a message that quotes its input.
const maxMessage = 512

// shortened keeps the end of a message, which has the reason; its beginning is the path.
func shortened(err error) error {
	text := strings.ToValidUTF8(err.Error(), "\uFFFD")
	if len(text) <= maxMessage {
		return err
	}
	cut := len(text) - maxMessage
	for !utf8.RuneStart(text[cut]) {
		cut++
	}
	return fmt.Errorf("... %s", text[cut:])
}
