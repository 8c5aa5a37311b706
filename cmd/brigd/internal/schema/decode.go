package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"brig/internal/words"
)

// Decode reads a JSON text into the value that v points to, strictly: what Scan refuses, a field that the type does not
// have, null, and a value of the wrong type are *Errors that name the place. Case matters.
func Decode(data []byte, v any, l Limits) error {
	if err := Scan(data, l); err != nil {
		return err
	}
	return decode(bytes.TrimSpace(data), reflect.ValueOf(v).Elem(), "")
}

// decode reads text, which Scan has passed, into v.
func decode(text []byte, v reflect.Value, path string) error {
	if string(text) == "null" {
		return &Error{"wrong_type", path, "it is null", "leave it out, or write a value"}
	}
	if u, ok := v.Addr().Interface().(json.Unmarshaler); ok {
		if err := u.UnmarshalJSON(text); err != nil {
			return invalid(path, err)
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return decode(text, v.Elem(), path)
	case reflect.Struct:
		return decodeStruct(text, v, path)
	case reflect.Map:
		return decodeMap(text, v, path)
	case reflect.Slice:
		return decodeSlice(text, v, path)
	case reflect.String:
		return scalar(text, v, path, "a string", text[0] == '"')
	case reflect.Bool:
		return scalar(text, v, path, "true or false", text[0] == 't' || text[0] == 'f')
	case reflect.Float32, reflect.Float64:
		return scalar(text, v, path, "a number", text[0] == '-' || text[0] >= '0' && text[0] <= '9')
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return scalar(text, v, path, "a whole number", text[0] == '-' || text[0] >= '0' && text[0] <= '9')
	default:
		return scalar(text, v, path, "a value", true)
	}
}

// invalid is an error of a type that reads itself; its own sentence ends with the remedy.
func invalid(path string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return &Error{e.Code, path + e.Path, e.Message, e.Fix}
	}
	what, fix, ok := strings.Cut(shortened(err).Error(), "; ")
	if !ok {
		fix = "correct it"
	}
	return &Error{"invalid_value", path, what, fix}
}

func scalar(text []byte, v reflect.Value, path, want string, right bool) error {
	if !right {
		return wrongType(text, path, want)
	}
	if err := json.Unmarshal(text, v.Addr().Interface()); err != nil {
		return &Error{"wrong_type", path, "it is " + kind(text) + ", which is not " + want + " that fits", "write " + want}
	}
	return nil
}

func wrongType(text []byte, path, want string) error {
	return &Error{"wrong_type", path, "it is " + kind(text), "write " + want}
}

// kind names a value.
func kind(text []byte) string {
	switch text[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return string(text)
	default:
		return "the number " + shortText(string(text[:min(len(text), 2*maxShown)]))
	}
}

func decodeStruct(text []byte, v reflect.Value, path string) error {
	if text[0] != '{' {
		return wrongType(text, path, "an object")
	}
	fields := map[string][]int{}
	var names []string
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || f.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		fields[name], names = f.Index, append(names, name)
	}
	return members(text, func(key string, value []byte) error {
		index, ok := fields[key]
		if !ok {
			return unknown(path, key, names)
		}
		return decode(value, v.FieldByIndex(index), join(path, key))
	})
}

func unknown(path, key string, names []string) error {
	e := &Error{Code: "unknown_field", Path: path, Message: strconv.Quote(shortText(key)) + " is not a field here"}
	if n := words.Nearest(key, names); n != "" {
		e.Fix = "did you mean " + n + "?"
	} else {
		e.Fix = "write one of " + strings.Join(names, ", ")
	}
	return e
}

func decodeMap(text []byte, v reflect.Value, path string) error {
	if text[0] != '{' {
		return wrongType(text, path, "an object")
	}
	v.Set(reflect.MakeMap(v.Type()))
	return members(text, func(key string, value []byte) error {
		item := reflect.New(v.Type().Elem()).Elem()
		if err := decode(value, item, join(path, key)); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), item)
		return nil
	})
}

func decodeSlice(text []byte, v reflect.Value, path string) error {
	if text[0] != '[' {
		return wrongType(text, path, "a list")
	}
	s := &scanner{data: text, pos: 1, limits: unlimited}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for i := 0; s.peek() != ']'; i++ {
		start := s.pos
		if err := s.value(0, ""); err != nil {
			return err
		}
		item := reflect.New(v.Type().Elem()).Elem()
		if err := decode(text[start:s.pos], item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
		v.Set(reflect.Append(v, item))
		if s.peek() == ',' {
			s.pos++
			s.space()
		}
	}
	return nil
}

// unlimited are the limits for a text that Scan has passed.
var unlimited = Limits{Depth: 1 << 30, Values: 1 << 30}

// members calls f for each member of an object that Scan has passed.
func members(text []byte, f func(key string, value []byte) error) error {
	s := &scanner{data: text, pos: 1, limits: unlimited}
	for s.peek() != '}' {
		key, err := s.key("")
		if err != nil {
			return err
		}
		s.space()
		start := s.pos
		if err := s.value(0, ""); err != nil {
			return err
		}
		if err := f(key, text[start:s.pos]); err != nil {
			return err
		}
		if s.peek() == ',' {
			s.pos++
		}
	}
	return nil
}

// join is the path of a member.
func join(path, key string) string {
	for i, r := range key {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return path + "[" + strconv.Quote(shortText(key)) + "]"
		}
	}
	return strings.TrimPrefix(path+"."+shortText(key), ".")
}

// maxShown is how many bytes of what was sent an error repeats.
const maxShown = 64

// shortText bounds how much of what was sent an error repeats.
func shortText(s string) string {
	if len(s) <= maxShown {
		return s
	}
	cut := maxShown
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}
