package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"brig/brigd/internal/files"
	"brig/internal/cli"
	"brig/internal/strictjson"
	"brig/internal/words"
)

// maxFile is the maximum size of a settings file, in bytes.
const maxFile = 1 << 20

func readFile(file string, flags []cli.Flag, g given) error {
	data, err := files.Read(file, maxFile)
	if err != nil {
		return err
	}
	return (&settings{file, flags, g}).read(data)
}

// settings reads what a file sets.
type settings struct {
	file  string
	flags []cli.Flag
	given given
}

// read reads the settings in a file. An error begins with the place.
func (s *settings) read(data []byte) error {
	d := strictjson.Document{Name: "the file", Render: render}
	return d.Read(data, s.fields(""))
}

// fields returns the keys below a path: settings, and objects of settings.
func (s *settings) fields(path string) (list []strictjson.Field) {
	for i := range s.flags {
		f := &s.flags[i]
		rest, below := strings.CutPrefix(f.Path, path)
		key, _, nested := strings.Cut(rest, ".")
		switch {
		case !below || key == "" || len(list) > 0 && list[len(list)-1].Name == key:
		case nested:
			list = append(list, strictjson.Field{Name: key, To: s.fields(path + key + ".")})
		default:
			list = append(list, strictjson.Field{Name: key, To: func(in *strictjson.Reader, path string) error {
				from := s.file + ": " + path
				s.given[path] = from
				if !f.Many {
					return s.value(in, path, f, from)
				}
				return in.List(path, "a list of texts", func(path string) error { return s.value(in, path, f, from) })
			}})
		}
	}
	return list
}

// value reads one value, which must be of the setting's kind.
func (s *settings) value(in *strictjson.Reader, path string, f *cli.Flag, from string) error {
	t, err := in.Token(path)
	if err != nil {
		return err
	}
	kind, texts, numbers := kindOf(f.To)
	switch v := t.(type) {
	case string:
		if texts {
			return in.Fail(path, s.given.set(f, from, v))
		}
	case json.Number:
		if numbers {
			return in.Fail(path, s.given.set(f, from, v.String()))
		}
	case bool:
		if !texts && !numbers {
			return in.Fail(path, s.given.set(f, from, strconv.FormatBool(v)))
		}
	}
	return in.WrongType(path, t, kind)
}

// render refers to the help for an unknown key: the list is long.
func render(e *strictjson.Error) error {
	if e.Code == strictjson.Unknown && words.Nearest(e.Key, e.Names) == "" {
		path, reason, _ := e.Parts()
		return fmt.Errorf("%s: %s; brigd help serve lists them", cmp.Or(path, "the file"), reason)
	}
	return e
}
