// Package cli is the command line of brig and brigd: tables of commands and flags, from which parsing, help, the manual
// page and the shell completions are made. It imports nothing that a start of brig would pay for.
package cli

import "strings"

// Flag is a row of a table of flags. It is given as --name VALUE or --name=VALUE.
type Flag struct {
	Name  string
	Short byte     // docker's short form, or 0
	Args  string   // what its values are called, with a blank between two; "" for a switch
	Many  bool     // it may be repeated
	Group string   // the heading in help
	Help  string   // one sentence, without a full stop
	Words []string // the values that completion offers
	Files bool     // completion offers files for the values
	Path  string   // the place in the Spec or in the file of settings, when it is one place

	Set    func(values []string) error // called once for each time the flag is given, with a value for each word of Args
	Bare   func(none []string) error   // the value may be left out; called instead of Set if it is
	Greedy bool                        // without =, the next word is the value of a flag with Bare if it can be one
}

// Usage is how the flag is written.
func (f *Flag) Usage() string {
	switch {
	case f.Args == "":
		return "--" + f.Name
	case f.Bare != nil && !f.Greedy:
		return "--" + f.Name + "[=" + f.Args + "]"
	}
	return "--" + f.Name + " " + f.Args
}

// values is the number of words that the flag takes.
func (f *Flag) values() int { return len(strings.Fields(f.Args)) }

// key is the same for two flags that contradict each other.
func (f *Flag) key() string {
	if f.Path != "" {
		return f.Path
	}
	return f.Name
}

// Spellings are the ways to write the flag as one word.
func (f *Flag) Spellings() []string {
	if f.Short != 0 {
		return []string{"-" + string(f.Short), "--" + f.Name}
	}
	return []string{"--" + f.Name}
}

// Lookup returns the flag of a word, or nil, and the value after = (or after a short flag).
func Lookup(table []Flag, word string) (f *Flag, value string, attached bool) {
	name, value, attached := strings.Cut(word, "=")
	for i := range table {
		f := &table[i]
		if name == "--"+f.Name {
			return f, value, attached
		}
		if f.Short != 0 && word[0] == '-' && word[1] == f.Short {
			return f, strings.TrimPrefix(word[2:], "="), len(word) > 2
		}
	}
	return nil, "", false
}

// InGroup gives the flags of a table a heading.
func InGroup(group string, table []Flag) []Flag {
	for i := range table {
		table[i].Group = group
	}
	return table
}

// Switch sets a field to a value.
func Switch(to *bool, value bool) func([]string) error {
	return func([]string) error {
		*to = value
		return nil
	}
}

// JSON is the flag --json of a Plain command.
func JSON(to *bool) Flag {
	return Flag{Name: "json", Group: "Flags", Help: "answer in JSON", Set: Switch(to, true)}
}
