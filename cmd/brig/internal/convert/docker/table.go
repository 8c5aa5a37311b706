// Package docker converts the command line of docker run, and of podman run as far as it is the same.
package docker

import (
	_ "embed"
	"path"
	"strings"

	"brig/cmd/brig/internal/convert"
	"brig/internal/cli"
)

// table has every flag of docker run 28, and aliases that its help leaves out.
//
//go:embed flags.txt
var table string

// given is a flag with its value.
type given struct {
	*convert.Word
	of, value string // of is how messages name it
}

// setters returns the conversions that the table names.
func setters() map[string]func(l *Line, f *given) {
	note := func(text string) func(*Line, *given) {
		return func(l *Line, f *given) { l.Note(f.of, convert.Ignored, text) }
	}
	return map[string]func(*Line, *given){
		"always":        func(*Line, *given) {}, // it is so in every jail
		"cap-drop":      (*Line).capDrop,
		"cgroup-parent": func(l *Line, f *given) { l.Flag(f.of, "cgroup-parent", path.Clean("/"+f.value)) },
		"cpu-period":    func(l *Line, f *given) { l.period = f },
		"cpu-quota":     func(l *Line, f *given) { l.quota = f },
		"cpu-shares":    (*Line).cpuShares,
		"entrypoint":    (*Line).entrypoint,
		"mount":         (*Line).mount,
		"network":       func(l *Line, f *given) { l.network = f },
		"oom-score-adj": (*Line).oomScore,
		"publish":       (*Line).publish,
		"pull":          note("write --pull after brig run"),
		"read-only":     func(l *Line, f *given) { l.readOnly = true },
		"same":          (*Line).same,
		"security-opt":  (*Line).securityOpt,
		"shm-size":      func(l *Line, f *given) { l.Flag(f.of, "tmpfs", "/dev/shm:size="+f.value) },
		"storage-opt":   (*Line).storage,
		"tmpfs":         (*Line).tmpfs,
		"volume":        (*Line).volume,
		"windows":       note("it is for Windows"),
	}
}

// flags returns the table for a command line.
func (l *Line) flags() (list []cli.Flag) {
	words := convert.Words(table)
	for i := range words {
		w := &words[i]
		f := cli.Flag{Name: w.Name, Args: "VALUE", Many: true}
		if w.Letter != "" {
			f.Short = w.Letter[0]
		}
		if w.Bare {
			f.Args = ""
		}
		f.Set = func(values []string) error {
			of := "--" + w.Name
			if len(values) > 0 && w.Name != "env" { // a variable may be a secret
				of += " " + values[0]
			}
			l.apply(&given{w, of, strings.Join(values, "")})
			return nil // Finish returns the first error
		}
		list = append(list, f)
	}
	return list
}

// Set converts a flag by its name. Finish returns the first error.
func (l *Line) Set(of, flag, value string) {
	for _, w := range convert.Words(table) {
		if w.Name == flag && !(w.Bare && value == "false") {
			l.apply(&given{&w, of, value})
		}
	}
}

func (l *Line) apply(f *given) {
	switch set := setters()[f.How]; {
	case f.Idle(f.value):
	case set != nil:
		set(l, f)
	default:
		l.Lost(f.of, f.Word)
	}
}

// same converts a flag that brig run has, too.
func (l *Line) same(f *given) {
	if f.Bare {
		l.Flag(f.of, f.Flag)
		return
	}
	l.Flag(f.of, f.Flag, f.value)
}

// Hints returns the hints of brig run for flags of docker that it has under another name, or not at all.
func Hints() (list []cli.Hint) {
	for _, w := range convert.Words(table) {
		if w.Text == "" {
			continue
		}
		names := "--" + w.Name
		if w.Letter != "" {
			names += " -" + w.Letter
		}
		list = append(list, cli.Hint{names, w.Text})
	}
	return list
}
