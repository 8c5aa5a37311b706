package convert

import (
	"cmp"
	"slices"
	"strings"
)

// Word is a flag, key or field of another tool in the table of its dialect. A line of a table has a conversion, words
// that are converted by it, and a text:
//
//	missing unless private none | ipc pid userns | the jail always has a namespace of its own; leave it out
//	same unless 0               | memory/m blkio-weight:io-weight tty! |
//
// A word may have a short form behind a slash, and the name of brig's flag behind a colon. One that ends in ! takes no
// value.
type Word struct {
	How    string   // an Effect, or the name of a conversion
	Unless []string // values with which it means nothing; '' is the empty one
	Name   string
	Letter string
	Flag   string // of brig run
	Bare   bool
	Text   string // of the note, and of brig run's hint; "" for none
}

// Words reads a table.
func Words(table string) (list []Word) {
	for line := range strings.Lines(table) {
		how, rest, _ := strings.Cut(line, "|")
		names, text, _ := strings.Cut(rest, "|")
		how, unless, _ := strings.Cut(strings.TrimSpace(how), " unless ")
		for name := range strings.FieldsSeq(names) {
			w := Word{How: how, Unless: strings.Fields(unless), Text: strings.TrimSpace(text)}
			name, w.Bare = strings.CutSuffix(name, "!")
			name, flag, _ := strings.Cut(name, ":")
			w.Name, w.Letter, _ = strings.Cut(name, "/")
			w.Flag = cmp.Or(flag, strings.ReplaceAll(w.Name, "_", "-"))
			list = append(list, w)
		}
	}
	return list
}

// Idle reports whether a value means as much as if the word were not there.
func (w *Word) Idle(value string) bool { return slices.Contains(w.Unless, cmp.Or(value, "''")) }

// Lost adds the note on a word without a counterpart. Of a text that is a hint, too, it leaves out the advice.
func (j *Jail) Lost(of string, w *Word) {
	text, _, _ := strings.Cut(w.Text, "; leave it out")
	j.Note(of, Effect(w.How), text)
}
