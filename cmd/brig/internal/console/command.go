package console

import (
	"fmt"

	"brig/internal/cli"
	"brig/internal/words"
)

// Action is a command: its flags, and what it does with them.
type Action interface {
	Flags() []cli.Flag
	// Run performs the command. Its error is printed, and the exit code is cli.ExitUsage then.
	Run(words []string, std *Console) (code int, err error)
}

// Command returns a command that is an action, at the console that open returns for its streams. Its words and flags
// may have any order.
func Command[T any, P interface {
	*T
	Action
}](c cli.Command, open func(cli.Stdio) *Console) cli.Command {
	c.Flags = func() []cli.Flag { return P(new(T)).Flags() }
	c.Run = func(args []string, streams cli.Stdio) int {
		o, std := P(new(T)), open(streams)
		list, help, err := FlagsAndWords(o.Flags(), args)
		if help {
			return std.Emit(std.Help(c.Name))
		}
		code := 0
		if err == nil {
			code, err = o.Run(list, std)
		}
		if err != nil {
			return std.Refuse(c.Name, err)
		}
		return code
	}
	return c
}

// FlagsAndWords parses flags and words in any order.
func FlagsAndWords(flags []cli.Flag, args []string) (list []string, help bool, err error) {
	table := &cli.Table{Flags: flags}
	for {
		rest, help, err := table.Parse(args)
		switch before := len(args) - len(rest) - 1; {
		case err != nil || help || len(rest) == 0:
			return list, help, err
		case before >= 0 && args[before] == "--":
			return append(list, rest...), false, nil
		default:
			list, args = append(list, rest[0]), rest[1:]
		}
	}
}

// NoWords refuses words after the flags of a command that takes none.
func NoWords(list []string, usage string) error {
	if len(list) > 0 {
		return fmt.Errorf("%s is not wanted; write %s", words.Quote(list[0]), usage)
	}
	return nil
}
