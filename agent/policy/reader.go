package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"brig/internal/words"
	"brig/nsjail"
)

// Bounds of a policy's text.
const (
	MaxSize  = 1 << 20 // bytes of JSON
	MaxItems = 4096    // entries of each list
	MaxText  = 4096    // bytes of each string
)

// reader reads JSON by the fields that a policy has. It reads tokens instead of using json.Unmarshal, which accepts
// repeated keys and other cases, and cannot say where a value stands.
type reader struct {
	json *json.Decoder
	data []byte
}

// field is one key of an object: how its value is read, and what it is to a JSON Schema.
type field struct {
	name, doc string
	value     value
}

// value reads what follows into the place that it was made for.
type value struct {
	read   func(r *reader, path string) error
	schema func() map[string]any
}

// document reads one object and nothing after it.
func document(data []byte, fields []field) error {
	if len(data) > MaxSize {
		return fmt.Errorf("the policy is larger than %d bytes; shorten it", MaxSize)
	}
	if !utf8.Valid(data) {
		return errors.New("the policy is not UTF-8; write it in UTF-8")
	}
	r := &reader{json: json.NewDecoder(bytes.NewReader(data)), data: data}
	r.json.UseNumber()
	if err := r.object("", fields); err != nil {
		return err
	}
	if _, err := r.json.Token(); err != io.EOF {
		return fmt.Errorf("%s: there is data after the closing brace; remove it", r.where())
	}
	return nil
}

// where is the place of the last token, as an editor counts it.
func (r *reader) where() string {
	before := r.data[:min(int(r.json.InputOffset()), len(r.data))]
	line := bytes.Count(before, []byte("\n")) + 1
	return fmt.Sprintf("line %d column %d", line, len(before)-bytes.LastIndexByte(before, '\n'))
}

func (r *reader) token(path string) (json.Token, error) {
	t, err := r.json.Token()
	switch {
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%s: the JSON ends too early; close every string, list and object", r.where())
	case err != nil:
		return nil, fmt.Errorf("%s: %s is not JSON: %w; correct it", r.where(), at(path), err)
	}
	if s, ok := t.(string); ok {
		switch {
		case len(s) > MaxText:
			return nil, fmt.Errorf("%s: it is longer than %d bytes; shorten it", at(path), MaxText)
		case strings.ContainsRune(s, 0):
			return nil, fmt.Errorf("%s: it has a NUL, which no path and no argument can have; remove it", at(path))
		case strings.ContainsRune(s, utf8.RuneError): // also half of a surrogate pair, which the decoder turns into this
			return nil, fmt.Errorf("%s: it has U+FFFD or half of a surrogate pair; write the character itself", at(path))
		}
	}
	return t, nil
}

func at(path string) string {
	if path == "" {
		return "the policy"
	}
	return path
}

func (r *reader) wrongType(path string, got json.Token, want string) error {
	kind := "null"
	switch v := got.(type) {
	case json.Delim:
		kind = map[json.Delim]string{'{': "an object", '[': "a list"}[v]
	case string:
		kind = words.QuoteASCII(v)
	case json.Number:
		kind = "the number " + v.String()[:min(len(v.String()), words.MaxShown)]
	case bool:
		kind = fmt.Sprint(v)
	}
	return fmt.Errorf("%s: it is %s; write %s", at(path), kind, want)
}

// object reads an object whose keys are those of fields.
func (r *reader) object(path string, fields []field) error {
	t, err := r.token(path)
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return r.wrongType(path, t, "an object")
	}
	return r.keys(path, fields)
}

// keys is object after its brace.
func (r *reader) keys(path string, fields []field) error {
	seen := map[string]bool{}
	for {
		t, err := r.token(path)
		if err != nil {
			return err
		}
		key, ok := t.(string)
		if !ok { // the decoder lets nothing else than } follow here
			return nil
		}
		f, names := find(fields, key)
		if f == nil {
			return fmt.Errorf("%s: %s is not a key here; write one of %s", at(path), words.QuoteASCII(key), strings.Join(names, ", "))
		}
		here := strings.TrimPrefix(path+"."+key, ".")
		if seen[key] {
			return fmt.Errorf("%s: the key is there twice; remove one", here)
		}
		seen[key] = true
		if err := f.value.read(r, here); err != nil {
			return err
		}
	}
}

func find(fields []field, key string) (*field, []string) {
	names := make([]string, len(fields))
	for i := range fields {
		if names[i] = fields[i].name; names[i] == key {
			return &fields[i], nil
		}
	}
	return nil, names
}

// list reads a list and calls item for each value.
func (r *reader) list(path string, item func(path string) error) error {
	t, err := r.token(path)
	if err != nil {
		return err
	}
	if t != json.Delim('[') {
		return r.wrongType(path, t, "a list")
	}
	for i := 0; r.json.More(); i++ {
		if i >= MaxItems {
			return fmt.Errorf("%s: it has more than %d entries; shorten it", path, MaxItems)
		}
		if err := item(path + "[" + strconv.Itoa(i) + "]"); err != nil {
			return err
		}
	}
	_, err = r.token(path)
	return err
}

// quantity reads a number or the text of one.
func (r *reader) quantity(path, want string, parse func(string) error) error {
	t, err := r.token(path)
	if err != nil {
		return err
	}
	text, ok := t.(string)
	if n, isNumber := t.(json.Number); isNumber {
		text, ok = n.String(), true
	}
	if !ok {
		return r.wrongType(path, t, want)
	}
	if err := parse(text); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// positive refuses what is not above zero: zero would read as no ceiling.
func positive[T nsjail.Bytes | nsjail.Duration | int64](v T, err error) (T, error) {
	if err == nil && v <= 0 {
		err = errors.New("it is not above 0; write a bound, or leave it out for none")
	}
	return v, err
}
