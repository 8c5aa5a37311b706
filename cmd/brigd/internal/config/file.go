package config

import (
	"encoding/json"
	"fmt"
	"strings"

	"brig/internal/strictjson"
	"brig/internal/words"
	"brig/nsjail"
)

// maxFile is the maximum size of a settings file, in bytes.
const maxFile = 1 << 20

// readJSON reads the settings in a file. An error begins with the place.
func (c *Config) readJSON(file, command string, data []byte) error {
	d := strictjson.Document{Name: "the file", Render: render}
	return d.Read(data, c.fields("", file, rowsOf(c, command)))
}

// fields returns the keys below a path: settings, and objects of settings.
func (c *Config) fields(path, file string, rows []row) (list []strictjson.Field) {
	for i := range rows {
		r := &rows[i]
		rest, below := strings.CutPrefix(r.path, path)
		key, _, nested := strings.Cut(rest, ".")
		switch {
		case !below || len(list) > 0 && list[len(list)-1].Name == key:
		case nested:
			list = append(list, strictjson.Field{Name: key, To: c.fields(path+key+".", file, rows)})
		default:
			list = append(list, strictjson.Field{Name: key, To: func(in *strictjson.Reader, path string) error {
				c.from[path] = file + ": " + path
				return r.read(in, path)
			}})
		}
	}
	return list
}

// read reads the value of a setting.
func (r *row) read(in *strictjson.Reader, path string) error {
	if _, many := r.to.(*[]string); !many {
		return r.one(in, path, true)
	}
	return in.List(path, "a list of texts", func(i int, path string) error { return r.one(in, path, i == 0) })
}

// one reads one value, which must be of the setting's kind.
func (r *row) one(in *strictjson.Reader, path string, first bool) error {
	t, err := in.Token(path)
	if err != nil {
		return err
	}
	text, ok := "", false
	switch v := t.(type) {
	case string:
		text = v
		switch r.to.(type) {
		case *string, *[]string, *nsjail.Bytes, *nsjail.Duration:
			ok = true
		}
	case json.Number:
		text = v.String()
		switch r.to.(type) {
		case *int, *float64, *nsjail.Bytes, *nsjail.Duration:
			ok = true
		}
	case bool:
		text = fmt.Sprint(v)
		_, ok = r.to.(*bool)
	}
	if !ok {
		return in.WrongType(path, t, r.kind())
	}
	return in.Fail(path, r.set(text, first))
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

func render(e *strictjson.Error) error {
	switch e.Code {
	case strictjson.Syntax:
		return fmt.Errorf("%s: it is not JSON: %w; correct it", e.Where(), e.Err)
	case strictjson.Trailing:
		return fmt.Errorf("%s: there is more after the closing brace; remove it", e.Where())
	case strictjson.Unknown:
		fix := "brigd help serve lists them"
		if near := words.Nearest(e.Key, e.Names); near != "" {
			fix = "did you mean " + near + "?"
		}
		return fmt.Errorf("%s: %s is not a key here; %s", e.At(), words.Quote(e.Key), fix)
	}
	return e
}
