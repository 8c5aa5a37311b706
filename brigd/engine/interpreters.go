package engine

import (
	"context"
	"fmt"

	"brig/brigd/job"
	"brig/brigd/lang"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
)

// Interpreter is a program of the operator's for a language.
type Interpreter struct {
	Language string
	Path     string // in the jail, absolute
	// Share is the name of a share that holds the program, or "". Each jail for the language shows all of it, read-only,
	// at the path that the operator has named. No policy is asked: the share is a part of the language.
	Share string
}

// findLanguages finds the languages of the jail's root, and takes Options.Interpreters for theirs.
func (e *Engine) findLanguages() (err error) {
	if image := e.opts.Base.Rootfs.Path; image == "" {
		e.langs = lang.Find()
	} else if e.langs, err = lang.FindIn(image); err != nil {
		return err
	}
	for _, i := range e.opts.Interpreters {
		shown, err := e.shownFor(&i)
		if err == nil {
			err = e.langs.Use(i.Language, i.Path, shown)
		}
		if err != nil {
			return fmt.Errorf("language %s: %w", words.Quote(words.Short(i.Language, words.MaxShown)), err)
		}
	}
	return nil
}

// shownFor returns the mount of an interpreter's share.
func (e *Engine) shownFor(i *Interpreter) (*nsjail.Mount, error) {
	if i.Share == "" {
		return nil, nil
	}
	s, ok := e.shares.Find(i.Share)
	if !ok {
		return nil, words.Error(words.Textf("there is no share %s; add %s", words.Quote(i.Share),
			words.Add("share", i.Share+"=DIR:ro")))
	}
	if !sys.Under(i.Path, s.Dir) {
		return nil, fmt.Errorf("%s is not in the share %s, which is %s; write a path in it", words.Quote(i.Path), s.Name,
			words.Quote(s.Dir))
	}
	held, where, no := e.shares.Root(i.Share)
	if no != nil {
		return nil, no
	}
	return &nsjail.Mount{Type: nsjail.MountBind, Source: where, Target: s.Dir, Held: held}, nil
}

// CheckInterpreters runs each of Options.Interpreters in a jail, and returns an error for one that does not work.
func (e *Engine) CheckInterpreters(ctx context.Context) error {
	for _, i := range e.opts.Interpreters {
		err := e.langs.Try(ctx, e.jails, i.Language)
		if err == nil {
			err = e.langs.Working(i.Language)
		}
		if err != nil {
			return fmt.Errorf("%w; name another program than %s", err, words.Quote(i.Path))
		}
	}
	return nil
}

// show adds what a Job's language needs to its mounts.
func (e *Engine) show(j *job.Job) {
	m := e.langsOf(j).Shown(j)
	if m == nil || j.Verdict.Refusal != nil {
		return
	}
	if _, _, no := e.shares.Root(m.Held.Name); no != nil {
		j.Refuse(no)
		return
	}
	j.Spec.Mounts = append([]nsjail.Mount{*m}, j.Spec.Mounts...)
}
