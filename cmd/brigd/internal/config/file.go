package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"brig/internal/words"
	"brig/nsjail"
)

// maxFile is the size of a file of settings, in bytes.
const maxFile = 1 << 20

// reader reads JSON token by token, since json.Unmarshal takes repeated keys and cannot say where a value stands.
type reader struct {
	json *json.Decoder
	data []byte
	file string
	rows []row
	seen map[string]bool
	c    *Config
}

// readJSON sets what a file says. Its errors begin with the place.
func (c *Config) readJSON(file, command string, data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("the file is not UTF-8; write it in UTF-8")
	}
	r := &reader{json: json.NewDecoder(bytes.NewReader(data)), data: data, file: file, rows: rowsOf(c, command),
		seen: map[string]bool{}, c: c}
	r.json.UseNumber()
	if err := r.object(""); err != nil {
		return err
	}
	if _, err := r.json.Token(); err != io.EOF {
		return fmt.Errorf("%s: there is more after the closing brace; remove it", r.where())
	}
	return nil
}

// where is the place of the last token, as an editor counts it.
func (r *reader) where() string {
	before := r.data[:min(int(r.json.InputOffset()), len(r.data))]
	return fmt.Sprintf("line %d column %d", bytes.Count(before, []byte("\n"))+1,
		len(before)-bytes.LastIndexByte(before, '\n'))
}

func (r *reader) token() (json.Token, error) {
	t, err := r.json.Token()
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("%s: the JSON ends too early; close every string, list and object", r.where())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: it is not JSON: %w; correct it", r.where(), err)
	}
	return t, nil
}

// object reads the keys below a path.
func (r *reader) object(path string) error {
	t, err := r.token()
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return wrong(path, t, "an object")
	}
	for {
		if t, err = r.token(); err != nil {
			return err
		}
		key, ok := t.(string)
		if !ok {
			return nil // the closing brace: the decoder lets nothing else follow
		}
		here := strings.TrimPrefix(path+"."+key, ".")
		if r.seen[here] {
			return fmt.Errorf("%s: the key is there twice; remove one", here)
		}
		r.seen[here] = true
		if err := r.key(path, key, here); err != nil {
			return err
		}
	}
}

// key reads the value of one key: a setting, or an object of them.
func (r *reader) key(path, key, here string) error {
	var names []string
	for i := range r.rows {
		row := &r.rows[i]
		if row.path == here && !strings.ContainsAny(key, ".") {
			r.c.from[row.path] = r.file + ": " + here
			return r.value(row)
		}
		if strings.HasPrefix(row.path, here+".") && !strings.ContainsAny(key, ".") {
			return r.object(here)
		}
		if rest, below := strings.CutPrefix(row.path, strings.TrimPrefix(path+".", ".")); below {
			word, _, _ := strings.Cut(rest, ".")
			names = append(names, word)
		}
	}
	fix := "brigd help serve lists them"
	if near := words.Nearest(key, names); near != "" {
		fix = "did you mean " + near + "?"
	}
	return fmt.Errorf("%s: %s is not a key here; %s", orTop(path), words.Quote(key), fix)
}

// value reads the value of a setting.
func (r *reader) value(row *row) error {
	if _, many := row.to.(*[]string); !many {
		t, err := r.token()
		if err != nil {
			return err
		}
		return r.one(row, row.path, t, true)
	}
	t, err := r.token()
	if err != nil {
		return err
	}
	if t != json.Delim('[') {
		return wrong(row.path, t, "a list of texts")
	}
	for i := 0; ; i++ {
		if t, err = r.token(); err != nil {
			return err
		}
		if t == json.Delim(']') {
			return nil
		}
		if err := r.one(row, fmt.Sprintf("%s[%d]", row.path, i), t, i == 0); err != nil {
			return err
		}
	}
}

// one sets one value, if it is of the kind that the setting has.
func (r *reader) one(row *row, path string, t json.Token, first bool) error {
	text, ok := "", false
	switch v := t.(type) {
	case string:
		text = v
		switch row.to.(type) {
		case *string, *[]string, *nsjail.Bytes, *nsjail.Duration:
			ok = true
		}
	case json.Number:
		text = v.String()
		switch row.to.(type) {
		case *int, *float64, *nsjail.Bytes, *nsjail.Duration:
			ok = true
		}
	case bool:
		text = fmt.Sprint(v)
		_, ok = row.to.(*bool)
	}
	if !ok {
		return wrong(path, t, row.kind())
	}
	if err := row.set(text, first); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (r *row) kind() string {
	switch r.to.(type) {
	case *bool:
		return "true or false"
	case *int:
		return "a whole number"
	case *float64:
		return "a number"
	case *nsjail.Bytes:
		return `a size, as in "512m"`
	case *nsjail.Duration:
		return `a time, as in "30s"`
	}
	return "a text"
}

func wrong(path string, t json.Token, want string) error {
	got := "null"
	switch v := t.(type) {
	case json.Delim:
		got = map[json.Delim]string{'{': "an object", '[': "a list"}[v]
	case string:
		got = words.Quote(v)
	case json.Number:
		got = "the number " + v.String()[:min(len(v.String()), 64)]
	case bool:
		got = fmt.Sprint(v)
	}
	return fmt.Errorf("%s: it is %s; write %s", orTop(path), got, want)
}

func orTop(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}
