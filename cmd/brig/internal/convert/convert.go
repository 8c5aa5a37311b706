// Package convert is what the dialects below it have in common: a command line or a file of another tool becomes flags
// of brig run, and notes on what has no counterpart.
package convert

import (
	"cmp"
	"slices"
	"strings"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
)

// Effect is what it means that something has no counterpart.
type Effect string

// The effects, the worst first.
const (
	Weaker  Effect = "weaker"  // the other tool holds something that the jail does not
	Unknown Effect = "unknown" // it cannot be known here
	Missing Effect = "missing" // the payload lacks something, and may not work
	Ignored Effect = "ignored" // no run can tell the difference
)

// NoSecrets is the note on variables that all pass in another tool.
const NoSecrets = "tokens, keys and passwords do not pass; name each that is needed by --pass-env NAME"

// Note is something that has no counterpart.
type Note struct {
	Of     string `json:"of"` // the word or the key of the other tool
	Effect Effect `json:"effect"`
	Text   string `json:"text"` // what the jail does instead, or what to write
}

// String returns the note as a line.
func (n Note) String() string { return string(n.Effect) + ": " + n.Of + ": " + n.Text }

// Step is a flag of brig run, or a mount for which there is no flag.
type Step struct {
	Of     string // the word or the key that it stands for
	Flag   string // without --
	Values []string
	Mount  *nsjail.Mount
}

// Jail is a converted command line.
type Jail struct {
	Steps []Step
	Notes []Note
	Image string
	// Entrypoint comes before Args. If it is nil, it is the image's, and if Args are empty too, so is the command.
	Entrypoint []string
	Args       []string
	Base       nsjail.Spec // what the steps start from
}

// Flag adds a flag of brig run.
func (j *Jail) Flag(of, flag string, values ...string) {
	j.Steps = append(j.Steps, Step{Of: of, Flag: flag, Values: values})
}

// Mount adds a mount. What would be in a directory that each jail makes for itself becomes a note.
func (j *Jail) Mount(of string, m nsjail.Mount) {
	switch {
	case m.Target == "/dev/shm" && m.Type == nsjail.MountTmpfs:
	case sys.Under(m.Target, "/dev"):
		j.Note(of, Missing, "the jail has a /dev of its own, and no other device can be opened")
		return
	case sys.Under(m.Target, "/proc") || sys.Under(m.Target, "/sys"):
		j.Note(of, Missing, "the jail has a /proc of its own, and no /sys")
		return
	case m.Type == nsjail.MountBind && strings.HasSuffix(m.Source, ".sock"):
		j.Note(of, Missing, "no Unix socket of the host is shown: whoever serves it would act for the payload")
		return
	}
	j.Steps = append(j.Steps, Step{Of: of, Mount: &m})
}

// maxNote bounds the text of a note, which may name an image.
const maxNote = 400

// Note adds a note, unless it is there.
func (j *Jail) Note(of string, effect Effect, text string) {
	n := Note{Of: words.Printable(words.Short(of, words.MaxShown)), Effect: effect,
		Text: words.Printable(words.Short(text, maxNote))}
	if !slices.Contains(j.Notes, n) {
		j.Notes = append(j.Notes, n)
	}
}

// Less reports whether the jail holds less than the other tool did, or may hold less.
func (j *Jail) Less() bool {
	return slices.ContainsFunc(j.Notes, func(n Note) bool { return n.Effect == Weaker || n.Effect == Unknown })
}

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

// system: host directories shown read-only; devices: what every jail creates.
const (
	system  = "/bin /lib /lib32 /lib64 /libx32 /sbin /usr"
	devices = "/dev /dev/fd /dev/full /dev/null /dev/ptmx /dev/pts /dev/random /dev/shm /dev/tty /dev/urandom /dev/zero " +
		"/proc"
)

// Tree adds the mounts of a tool whose root is empty before them, and whose later mounts hide earlier ones.
func (j *Jail) Tree(steps []Step) {
	visible := slices.Clone(steps[:0])
	for _, s := range steps {
		if m := s.Mount; m != nil && m.Type != nsjail.MountDir {
			visible = slices.DeleteFunc(visible, func(e Step) bool {
				return e.Mount != nil && sys.Under(e.Mount.Target, strings.TrimSuffix(m.Target, "/"))
			})
		}
		visible = append(visible, s)
	}
	at := func(name string) func(Step) bool {
		return func(s Step) bool { return s.Mount != nil && s.Mount.Target == name && s.Mount.Type == nsjail.MountBind }
	}
	root := slices.ContainsFunc(visible, at("/"))
	if !root && !slices.ContainsFunc(visible, at("/usr")) {
		j.Note("the root", Weaker, "besides its mounts it has all of the host's /usr and a public /etc; make an empty "+
			"directory, and write --rootfs DIR to have no more")
	}
	for _, s := range visible {
		j.place(s, root)
	}
}

// place adds a mount, unless every jail has it. root is set if the root is a mount.
func (j *Jail) place(s Step, root bool) {
	m := s.Mount
	switch {
	case m == nil:
		j.Steps = append(j.Steps, s)
	case m.Target == "/" && m.Type == nsjail.MountBind:
		if j.Flag(s.Of, "rootfs", m.Source); m.Writable {
			j.Flag(s.Of, "rootfs-writable")
			j.Note(s.Of, Missing, "changes of the root end with the run; write --bind DIR DIR for what is to stay")
		}
	case m.Target == "/": // an empty one
	case m.Type == nsjail.MountBind && m.Source == m.Target && slices.Contains(strings.Fields(devices), m.Target):
	case !root && slices.Contains(strings.Fields(system), m.Target) && !m.Writable &&
		(m.Source == m.Target || m.Type == nsjail.MountSymlink):
	default:
		j.Mount(s.Of, *m)
	}
}
