// Package cli implements the command lines of brig and brigd: tables of commands and flags, from which parsing, help,
// the manual page and the shell completions are made. It imports no package that would slow down a start of brig.
package cli

import "strings"

// Flag is a row of a flag table. It is written --name VALUE or --name=VALUE.
type Flag struct {
	Name  string
	Short byte     // docker's short form, or 0
	Args  string   // the names of its values, separated by blanks; "" for a switch
	Many  bool     // it is repeatable
	Group string   // the heading in help
	Help  string   // one sentence, without a full stop
	Words []string // the values that completion offers
	Files bool     // completion offers files for the values
	Path  string   // the path in the Spec or in the settings file, if there is exactly one

	To       any     // the variable that a setting of brigd sets
	Min, Max float64 // the bounds of a number there

	Set    func(values []string) error // called for each occurrence of the flag, with a value for each word of Args
	Bare   func(none []string) error   // the value may be left out, also of a switch; called instead of Set if it is
	Greedy bool                        // without =, the next word is the value of a flag with Bare if it can be one
}

// usage returns how the flag is written.
func (f *Flag) usage() string {
	switch {
	case f.Args == "":
		return "--" + f.Name
	case f.Bare != nil && !f.Greedy:
		return "--" + f.Name + "[=" + f.Args + "]"
	}
	return "--" + f.Name + " " + f.Args
}

// values returns the number of values that the flag takes.
func (f *Flag) values() int { return len(strings.Fields(f.Args)) }

// key returns a string that is equal for two flags that contradict each other.
func (f *Flag) key() string {
	if f.Path != "" {
		return f.Path
	}
	return f.Name
}

// Spellings returns the ways to write the flag as one word.
func (f *Flag) Spellings() []string {
	if f.Short != 0 {
		return []string{"-" + string(f.Short), "--" + f.Name}
	}
	return []string{"--" + f.Name}
}

// Lookup returns the flag that a word names, or nil, and the value after = (or after a short flag).
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

// InGroup assigns a heading to the flags of a table.
func InGroup(group string, table []Flag) []Flag {
	for i := range table {
		table[i].Group = group
	}
	return table
}

// Switch returns a setter that sets a field to value.
func Switch(to *bool, value bool) func([]string) error {
	return func([]string) error {
		*to = value
		return nil
	}
}

// JSON returns the flag --json of a Plain command.
func JSON(to *bool) Flag {
	return Flag{Name: "json", Group: "Flags", Help: "answer in JSON", Set: Switch(to, true)}
}

// Hint describes flags of other tools that people type by habit. The first element has the flags, separated by blanks;
// a * at the end matches any suffix. The second tells what to write instead, or why nothing is needed.
type Hint [2]string

// hint returns what to write instead of a flag of another tool, or "". The name has no value after =. Of a short flag
// only the letter is compared, since docker's can be combined, as in -it. nsjail uses _ for -.
func (t *Table) hint(name string) string {
	if t.Hints == nil {
		return ""
	}
	if !strings.HasPrefix(name, "--") && len(name) > 2 {
		name = name[:2]
	}
	name = strings.ReplaceAll(name, "_", "-")
	for _, h := range t.Hints() {
		for f := range strings.FieldsSeq(h[0]) {
			if start, open := strings.CutSuffix(f, "*"); f == name || open && strings.HasPrefix(name, start) {
				return h[1]
			}
		}
	}
	return ""
}
