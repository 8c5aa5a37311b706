package lang

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"brig/brigd/job"
	"brig/internal/words"
	"brig/nsjail"
)

// Use selects the program that runs a language, by its path in the jail. A program outside of the root needs shown, a
// directory that is mounted read-only in each jail for the language, with the program and its libraries at the paths
// that they expect. Use must be called before other methods.
func (l *Languages) Use(language, file string, shown *nsjail.Mount) error {
	g := l.named(language)
	switch {
	case g == nil:
		var names []string
		for _, g := range l.list {
			names = append(names, g.name)
		}
		return fmt.Errorf("%s is not a language that brig knows; write %s", words.Quote(words.Short(language, maxShown)),
			words.Or(names))
	case !path.IsAbs(file) || path.Clean(file) != file || strings.ContainsRune(file, 0):
		return fmt.Errorf("%s is not an absolute path of a program; write as in /venv/bin/python", words.Quote(file))
	}
	g.programs = []program{{path: file, real: file, shown: shown}}
	return nil
}

// Working returns an error unless the language works, according to an earlier Try.
func (l *Languages) Working(language string) error {
	if _, _, no := l.find(language); no != nil {
		return fmt.Errorf("%s", no.Message)
	}
	return nil
}

// Shown returns the mount that a Job's language needs, or nil. Prepare does not add it, since it belongs to the
// operator's settings and not to the request.
func (l *Languages) Shown(j *job.Job) *nsjail.Mount {
	l.mu.Lock()
	defer l.mu.Unlock()
	if g := l.names[j.Language]; g != nil && len(g.programs) > 0 {
		return g.programs[0].shown
	}
	return nil
}

// show adds a program's mount to a Job, before all others.
func (p *program) show(j *job.Job) {
	if p.shown != nil {
		j.Spec.Mounts = slices.Insert(slices.Clip(j.Spec.Mounts), 0, *p.shown)
	}
}
