package config

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"brig/cmd/brigd/internal/files"
	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
)

// ErrHelp is the error of Parse if the flags ask for help.
var ErrHelp = errors.New("help is wanted")

// rowsOf returns the settings of a command: serve or mcp.
func rowsOf(c *Config, command string) (list []row) {
	for _, r := range table(c) {
		if r.only == "" || r.only == command {
			list = append(list, r)
		}
	}
	return list
}

// given is a flag on the command line.
type given struct {
	row   *row
	value string
}

// Parse reads the flags of a command, serve or mcp, and the file named by --config. It returns a checked Config.
func Parse(command string, args []string) (*Config, error) {
	c := Default()
	rows := rowsOf(c, command)
	list, file, err := scan(rows, args)
	if err != nil {
		return nil, err
	}
	if file != "" {
		data, err := files.Read(file, maxFile)
		if err == nil {
			err = c.readJSON(file, command, data)
		}
		if err != nil {
			return nil, fmt.Errorf("--config %s: %w", words.Quote(file), err)
		}
	}
	seen := map[string]bool{}
	for _, g := range list {
		name := "--" + g.row.flag
		_, many := g.row.to.(*[]string)
		if seen[name] && !many {
			return nil, fmt.Errorf("%s: it is given twice; keep one", name)
		}
		if err := g.row.set(g.value, !seen[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		seen[name] = true
		c.from[g.row.path] = name
	}
	if err := c.check(command); err != nil {
		return nil, err
	}
	return c, nil
}

// scan splits the command line into flags and their values.
func scan(rows []row, args []string) (list []given, file string, err error) {
	for len(args) > 0 {
		name, value, attached := strings.Cut(args[0], "=")
		args = args[1:]
		if name == "-h" || name == "--help" {
			return nil, "", ErrHelp
		}
		r := find(rows, name)
		isSwitch := r != nil && r.arg == ""
		switch {
		case r == nil && name != "--config":
			return nil, "", unknown(rows, name)
		case isSwitch && attached && value == "":
			return nil, "", fmt.Errorf("%s: the value is missing after =; write %s alone", name, name)
		case !isSwitch && !attached && (len(args) == 0 || strings.HasPrefix(args[0], "--")):
			return nil, "", fmt.Errorf("%s: a value is missing; write %s %s", name, name, argOf(r))
		case !isSwitch && !attached:
			value, args = args[0], args[1:]
		}
		if r != nil {
			list = append(list, given{r, value})
			continue
		}
		if file != "" || value == "" {
			return nil, "", errors.New("--config: it is empty or given twice; write --config FILE once")
		}
		file = value
	}
	return list, file, nil
}

func argOf(r *row) string {
	if r == nil {
		return "FILE"
	}
	return r.arg
}

func find(rows []row, name string) *row {
	for i := range rows {
		if name == "--"+rows[i].flag {
			return &rows[i]
		}
	}
	return nil
}

func unknown(rows []row, name string) error {
	if !strings.HasPrefix(name, "-") {
		return fmt.Errorf("%s is not wanted here; brigd takes flags only", words.Quote(name))
	}
	names := []string{"config"}
	for _, r := range rows {
		names = append(names, r.flag)
	}
	if near := words.Nearest(strings.TrimLeft(name, "-"), names); near != "" {
		return fmt.Errorf("%s is not a flag; did you mean --%s?", words.Quote(name), near)
	}
	return fmt.Errorf("%s is not a flag; brigd help serve lists them", words.Quote(name))
}

// Flags returns the settings of a command as help and completion show them.
func Flags(command string) (list []cli.Flag) {
	group := ""
	for _, r := range rowsOf(Default(), command) {
		group = cmp.Or(r.group, group)
		list = append(list, cli.Flag{Name: r.flag, Args: r.arg, Group: group, Help: r.help + r.standard(), Words: r.words,
			Path:  r.path,
			Files: strings.Contains(r.arg, "FILE") || r.arg == "DIR"})
	}
	return append(list, cli.Flag{Name: "config", Args: "FILE", Help: "read settings from this JSON file", Files: true})
}

// standard returns the default of a setting, for the help.
func (r *row) standard() string {
	text := ""
	switch v := r.to.(type) {
	case *string:
		text = *v
	case *int:
		if *v != 0 {
			text = fmt.Sprint(*v)
		}
	case *nsjail.Bytes:
		if *v != 0 {
			text = v.String()
		}
	case *nsjail.Duration:
		text = v.String()
	}
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}
