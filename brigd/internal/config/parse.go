package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"brig/internal/cli"
	"brig/internal/words"
)

// ErrHelp is the error of Parse if the flags ask for help.
var ErrHelp = errors.New("help is wanted")

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
		if err := readFile(file, flags, c.given); err != nil {
			return nil, fmt.Errorf("--config %s: %w", words.Quote(file), err)
		}
	}
	for _, g := range list {
		if err := g.Apply(); err != nil {
			return nil, fmt.Errorf("--%s: %w", g.Flag.Name, err)
		}
	}
	if err := c.check(); err != nil {
		return nil, c.named(err)
	}
	return c, nil
}

// named returns an error of a check with the name of its setting.
func (c *Config) named(err error) error {
	if f, is := errors.AsType[*fault](err); is {
		return f.of(c.name(f.path))
	}
	return err
}

// name returns the name of a setting for messages: as the user has written it, or else its flag.
func (c *Config) name(path string) string {
	if n := c.given[path]; n != "" {
		return n
	}
	flags := table(c, "mcp") // which has all settings
	return "--" + flags[slices.IndexFunc(flags, func(f cli.Flag) bool { return f.Path == path })].Name
}

// Told returns an error whose text has brigd's flags for the settings that it refers to.
func Told(err error) error {
	flags := table(Default(), "serve")
	return errors.New(words.Message(err).In(func(r words.Ref) (string, bool) {
		i := slices.IndexFunc(flags, func(f cli.Flag) bool { return strings.ReplaceAll(f.Name, "-", "_") == r.Field })
		if i < 0 {
			return "", false
		}
		var members []string
		_ = json.Unmarshal([]byte(r.Value), &members) // the flag alone if there are none
		return strings.TrimSpace("--" + flags[i].Name + " " + strings.Join(members, ",")), true
	}))
}
