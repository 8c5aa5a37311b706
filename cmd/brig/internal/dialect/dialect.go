// Package dialect has the words of brig's command line for the fields that messages refer to. The flag tables have
// them: a field's flag is the row with the field's path or name, and a mount's flag is the one that adds such a mount
// to an empty Spec.
package dialect

import (
	"encoding/json"
	"slices"
	"strings"

	"brig/cmd/brig/internal/wish"
	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail/spec"
)

// Dialect has the flags of the commands, and which of them add a mount.
type Dialect struct {
	table    []cli.Flag
	mounts   []mountFlag
	commands []string // to which messages refer by their names before a flag's
}

// New returns the dialect of the flags of brig run, and of others. Messages refer to commands by their names before a
// flag's.
func New(others []cli.Flag, commands ...string) *Dialect {
	run := wish.NewDraft("run", func(string, int) ([]byte, error) { return nil, nil })
	d := &Dialect{table: run.Flags(), commands: commands}
	d.table = append(d.table, others...)
	for i := range d.table {
		if m, values := mountOf(run, &d.table[i]); m != nil {
			d.mounts = append(d.mounts, mountFlag{d.table[i].Name, *m, values})
		}
	}
	return d
}

// mountFlag is a flag that adds one mount, and how many of its values are names.
type mountFlag struct {
	flag  string
	mount spec.Mount
	names int
}

// Word returns the flag that a message refers to.
func (d *Dialect) Word(r words.Ref) (string, bool) {
	if command, field, _ := strings.Cut(r.Field, "."); slices.Contains(d.commands, command) {
		return d.commandLine(command, words.Ref{Field: field, Value: r.Value})
	}
	var value any
	if r.Value != "" && json.Unmarshal([]byte(r.Value), &value) != nil {
		return "", false
	}
	switch {
	case r.Field == "mounts":
		return d.mountWords(r.Value)
	case r.Field == "protect" && value != nil:
		return protectWords(value), true
	}
	if f := d.flag(r.Field); f != nil {
		return valued(f, value), true
	}
	return "", false
}

// flag returns the flag with a field's name, or else with its path; nil for none.
func (d *Dialect) flag(field string) *cli.Flag {
	i := slices.IndexFunc(d.table, func(f cli.Flag) bool { return strings.ReplaceAll(f.Name, "-", "_") == field })
	if i < 0 {
		i = slices.IndexFunc(d.table, func(f cli.Flag) bool { return f.Path == field })
	}
	if i < 0 {
		return nil
	}
	return &d.table[i]
}

// commandLine returns a command of brig's with a flag. The value is the command's word if the flag takes none.
func (d *Dialect) commandLine(command string, r words.Ref) (string, bool) {
	line, value := "brig "+command, r.Value
	if f := d.flag(r.Field); f != nil && f.Args == "" {
		r.Value = ""
	} else if r.Field != "" {
		value = ""
	}
	if r.Field != "" {
		flag, known := d.Word(r)
		if !known {
			return "", false
		}
		line += " " + flag
	}
	var word string
	if json.Unmarshal([]byte(value), &word) == nil {
		line += " " + word
	}
	return line, true
}

// valued returns a flag with a value, as a person writes it.
func valued(f *cli.Flag, value any) string {
	flag, is := "--"+f.Name, " "
	if f.Bare != nil && !f.Greedy {
		is = "="
	}
	switch v := value.(type) {
	case string:
		return flag + is + v
	case []any:
		var list []string
		for _, member := range v {
			list = append(list, member.(string))
		}
		if strings.HasSuffix(f.Args, ",...") {
			return flag + is + strings.Join(list, ",")
		}
		return flag + is + strings.Join(list, " "+flag+is)
	}
	return flag // a switch, or the flag alone
}

// protectWords returns the flags of paths to be protected, or with a ! to be no longer.
func protectWords(value any) string {
	example, is := value.(string)
	if is {
		return "--no-protect=" + strings.TrimPrefix(example, "!")
	}
	var list []string
	for _, p := range value.([]any) {
		if p, back := strings.CutPrefix(p.(string), "!"); back {
			list = append(list, "--no-protect="+words.Shell(p))
		} else {
			list = append(list, "--protect="+words.Shell(p))
		}
	}
	if len(list) == 0 {
		return "--no-protect"
	}
	return strings.Join(list, " ")
}

// mountWords finds the flag that adds a mount.
func (d *Dialect) mountWords(value string) (string, bool) {
	var want spec.Shown
	if json.Unmarshal([]byte(value), &want) != nil {
		return "", false
	}
	best := ""
	for _, f := range d.mounts {
		m := &f.mount
		if string(m.Type) != want.Type || m.Writable != want.Writable || m.Live != want.Live {
			continue
		}
		switch own := f.names == 1 && m.Target == want.Target; {
		case own && want.Source != "":
			return "--" + f.flag + " " + want.Source, true
		case own, f.names == 1 && m.Type != spec.MountBind:
			return "--" + f.flag, true
		case f.names == 2 && want.Source != "":
			best = "--" + f.flag + " " + want.Source + " " + want.Target
		case f.names == 2:
			best = "--" + f.flag
		}
	}
	return best, best != ""
}

// mountOf returns the mount that a flag adds for the names of its values, and how many these are; nil for none.
func mountOf(run *wish.Draft, f *cli.Flag) (m *spec.Mount, values int) {
	names := strings.Fields(f.Args)
	for i := range names {
		names[i], _, _ = strings.Cut(names[i], "[")
		names[i], _, _ = strings.Cut(names[i], ":")
	}
	mounts := &run.Wish().Spec.Mounts
	*mounts = nil
	if f.Group != "Files" || f.Set == nil || f.Set(names) != nil || len(*mounts) != 1 {
		return nil, 0
	}
	one := (*mounts)[0]
	return &one, len(names)
}
