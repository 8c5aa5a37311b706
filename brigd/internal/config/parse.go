package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"brig/brigd/internal/files"
	"brig/internal/cli"
	"brig/internal/strictjson"
	"brig/internal/words"
)

// ErrHelp is the error of Parse if the flags ask for help.
var ErrHelp = errors.New("help is wanted")

// maxFile is the maximum size of a settings file, in bytes.
const maxFile = 1 << 20

// Flags returns the flags of a command, serve, mcp or worker, for help and completion.
func Flags(command string) []cli.Flag { return table(Default(), command) }

// Parse reads the flags of a command (serve, mcp or worker) and the file of --config. It returns a checked Config.
func Parse(command string, args []string) (*Config, error) {
	c := Default()
	c.Command = command
	flags := table(c, command)
	list, rest, help, err := (&cli.Table{Flags: flags}).Scan(args)
	switch {
	case err != nil:
		return nil, err
	case help:
		return nil, ErrHelp
	case len(rest) > 0:
		return nil, fmt.Errorf("%s is not wanted here; brigd takes flags only", words.Quote(rest[0]))
	}
	file := ""
	for _, g := range list {
		if len(g.Values) > 0 && strings.HasPrefix(g.Values[0], "--") { // a misspelt flag is not taken for a value
			return nil, cli.Missing(g.Flag, g.Values)
		}
		if g.Flag.Name != "config" {
			continue
		}
		if file != "" || g.Values[0] == "" {
			return nil, errors.New("--config: it is empty or given twice; write --config FILE once")
		}
		file = g.Values[0]
		if err := c.readFile(file, flags); err != nil {
			return nil, fmt.Errorf("--config %s: %w", words.Quote(file), err)
		}
	}
	for _, g := range list {
		if err := g.Apply(); err != nil {
			return nil, fmt.Errorf("--%s: %w", g.Flag.Name, err)
		}
	}
	if err := c.check(command); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Config) readFile(file string, flags []cli.Flag) error {
	data, err := files.Read(file, maxFile)
	if err != nil {
		return err
	}
	return c.readJSON(file, data, flags)
}

// readJSON reads the settings in a file. An error begins with the place.
func (c *Config) readJSON(file string, data []byte, flags []cli.Flag) error {
	d := strictjson.Document{Name: "the file", Render: render}
	return d.Read(data, c.fields("", file, flags))
}

// fields returns the keys below a path: settings, and objects of settings.
func (c *Config) fields(path, file string, flags []cli.Flag) (list []strictjson.Field) {
	for i := range flags {
		f := &flags[i]
		rest, below := strings.CutPrefix(f.Path, path)
		key, _, nested := strings.Cut(rest, ".")
		switch {
		case !below || key == "" || len(list) > 0 && list[len(list)-1].Name == key:
		case nested:
			list = append(list, strictjson.Field{Name: key, To: c.fields(path+key+".", file, flags)})
		default:
			list = append(list, strictjson.Field{Name: key, To: func(in *strictjson.Reader, path string) error {
				from := file + ": " + path
				c.from[path] = from
				if !f.Many {
					return c.read(in, path, f, from)
				}
				return in.List(path, "a list of texts", func(path string) error { return c.read(in, path, f, from) })
			}})
		}
	}
	return list
}

// read reads one value, which must be of the setting's kind.
func (c *Config) read(in *strictjson.Reader, path string, f *cli.Flag, from string) error {
	t, err := in.Token(path)
	if err != nil {
		return err
	}
	kind, texts, numbers := kindOf(f.To)
	switch v := t.(type) {
	case string:
		if texts {
			return in.Fail(path, c.set(f, from, v))
		}
	case json.Number:
		if numbers {
			return in.Fail(path, c.set(f, from, v.String()))
		}
	case bool:
		if !texts && !numbers {
			return in.Fail(path, c.set(f, from, strconv.FormatBool(v)))
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
