package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"brig/internal/words"
)

// ParseSpec reads the JSON form of a Spec. It is strict, since a protection that is misspelt is a protection that
// is missing: unknown and repeated keys, null, values of the wrong type and data after the object are errors that
// name the place. What the values mean is for Check.
func ParseSpec(data []byte) (*Spec, error) {
	if len(data) > MaxSpecSize {
		return nil, fmt.Errorf("the spec is larger than %d bytes; shorten it", MaxSpecSize)
	}
	if !utf8.Valid(data) {
		return nil, errors.New("the spec is not UTF-8; write it in UTF-8")
	}
	d := &specReader{json: json.NewDecoder(bytes.NewReader(data)), data: data}
	d.json.UseNumber()
	s := &Spec{}
	if err := d.object("", specFields(s)); err != nil {
		return nil, err
	}
	if _, err := d.json.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s: there is data after the closing brace; remove it", d.where())
	}
	return s, nil
}

// specReader reads JSON by the fields that a Spec has. It reads tokens instead of using json.Unmarshal, which
// accepts repeated keys and other cases, and cannot say where a value stands.
type specReader struct {
	json *json.Decoder
	data []byte
}

// field is one key of an object and how its value is read.
type field struct {
	name string
	read func(d *specReader, path string) error
}

// where is the place of the last token, as an editor counts it.
func (d *specReader) where() string {
	before := d.data[:min(int(d.json.InputOffset()), len(d.data))]
	line := bytes.Count(before, []byte("\n")) + 1
	return fmt.Sprintf("line %d column %d", line, len(before)-bytes.LastIndexByte(before, '\n'))
}

// token reads the next token of a value at path.
func (d *specReader) token(path string) (json.Token, error) {
	t, err := d.json.Token()
	switch {
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%s: the JSON ends too early; close every string, list and object", d.where())
	case err != nil:
		return nil, fmt.Errorf("%s: %s is not JSON: %w; correct it", d.where(), pathOr(path, "the spec"), err)
	}
	if s, ok := t.(string); ok && strings.ContainsRune(s, utf8.RuneError) && bytes.Contains(bytes.ToLower(d.data), []byte(`\ud`)) {
		// The decoder turns half of a surrogate pair into U+FFFD, so that the Spec would say something else than its text.
		return nil, fmt.Errorf("%s: it has half of a surrogate pair; write the character itself", pathOr(path, "the spec"))
	}
	return t, nil
}

func pathOr(path, other string) string {
	if path == "" {
		return other
	}
	return path
}

func (d *specReader) wrongType(path string, got json.Token, want string) error {
	kind := "null"
	switch v := got.(type) {
	case json.Delim:
		kind = map[json.Delim]string{'{': "an object", '[': "a list"}[v]
	case string:
		kind = words.Quote(v)
	case json.Number:
		kind = "the number " + v.String()[:min(len(v.String()), words.MaxShown)]
	case bool:
		kind = fmt.Sprint(v)
	}
	return fmt.Errorf("%s: it is %s; write %s", pathOr(path, "the spec"), kind, want)
}

// object reads an object whose keys are those of fields.
func (d *specReader) object(path string, fields []field) error {
	seen := make([]bool, len(fields))
	return d.keys(path, func(key string) error {
		here := key
		if path != "" {
			here = path + "." + key
		}
		for i, f := range fields {
			if f.name != key {
				continue
			}
			if seen[i] {
				return fmt.Errorf("%s: the key is there twice; remove one", here)
			}
			seen[i] = true
			return f.read(d, here)
		}
		names := make([]string, len(fields))
		for i, f := range fields {
			names[i] = f.name
		}
		return fmt.Errorf("%s: %s is not a key here; %s", pathOr(path, "the spec"), words.Quote(key), words.DidYouMean(key, names))
	})
}

// keys reads an object and calls value for each key, to read what follows.
func (d *specReader) keys(path string, value func(key string) error) error {
	t, err := d.token(path)
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return d.wrongType(path, t, "an object")
	}
	for {
		t, err := d.token(path)
		if err != nil {
			return err
		}
		key, ok := t.(string)
		if !ok { // the decoder lets nothing else than } follow here
			return nil
		}
		if err := value(key); err != nil {
			return err
		}
	}
}

// list reads a list and calls item for each value.
func (d *specReader) list(path string, item func(path string) error) error {
	t, err := d.token(path)
	if err != nil {
		return err
	}
	if t != json.Delim('[') {
		return d.wrongType(path, t, "a list")
	}
	for i := 0; d.json.More(); i++ {
		if err := item(Index(path, i)); err != nil {
			return err
		}
	}
	_, err = d.token(path)
	return err
}
