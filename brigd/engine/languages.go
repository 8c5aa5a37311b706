package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"brig/brigd/job"
	"brig/brigd/lang"
	"brig/brigd/share"
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

// shown returns the mount of an interpreter's share.
func (i *Interpreter) shown(shares *share.Set) (*nsjail.Mount, error) {
	if i.Share == "" {
		return nil, nil
	}
	s, ok := shares.Find(i.Share)
	if !ok {
		return nil, words.Error(words.Textf("there is no share %s; add %s", words.Quote(i.Share),
			words.Add("share", i.Share+"=DIR:ro")))
	}
	if !sys.Under(i.Path, s.Dir) {
		return nil, fmt.Errorf("%s is not in the share %s, which is %s; write a path in it", words.Quote(i.Path), s.Name,
			words.Quote(s.Dir))
	}
	held, where, no := shares.Root(i.Share)
	if no != nil {
		return nil, no
	}
	return &nsjail.Mount{Type: nsjail.MountBind, Source: where, Target: s.Dir, Held: held}, nil
}

// languages are those that code may have: the machine's, or the jail's root's, and those of each image.
type languages struct {
	here   *lang.Languages
	own    []Interpreter // of the operator's
	images *images
	shares *share.Set
	runner *nsjail.Runner
	jails  job.Executor // on runner
}

// findLanguages finds the languages of the jail's root, and takes the operator's interpreters for theirs.
func findLanguages(root string, own []Interpreter, shares *share.Set) (l *lang.Languages, err error) {
	if root == "" {
		l = lang.Find()
	} else if l, err = lang.FindIn(root); err != nil {
		return nil, err
	}
	for _, i := range own {
		shown, err := i.shown(shares)
		if err == nil {
			err = l.Use(i.Language, i.Path, shown)
		}
		if err != nil {
			return nil, fmt.Errorf("language %s: %w", words.Quote(words.Short(i.Language, words.MaxShown)), err)
		}
	}
	return l, nil
}

// of returns the languages of a Job's root.
func (l *languages) of(j *job.Job) *lang.Languages {
	return cmp.Or(l.images.langs(j), l.here)
}

// prepare makes a Job of a request's code. It tries the language's program first: one that could not be tried may still
// run.
func (l *languages) prepare(ctx context.Context, j *job.Job, r *Request) *job.Refusal {
	langs := l.of(j)
	_ = langs.Try(ctx, l.jails, r.Language)
	return langs.Prepare(j, r.Language, r.Code, r.Args)
}

// CheckInterpreters runs each of Options.Interpreters in a jail, and returns an error for one that does not work.
func (l *languages) CheckInterpreters(ctx context.Context) error {
	for _, i := range l.own {
		err := l.here.Try(ctx, l.jails, i.Language)
		if err == nil {
			err = l.here.Working(i.Language)
		}
		if err != nil {
			return fmt.Errorf("%w; name another program than %s", err, words.Quote(i.Path))
		}
	}
	return nil
}

// showAll adds what the operator's interpreters need to the mounts of a box, in which code of each language may run.
func (l *languages) showAll(j *job.Job) {
	for _, i := range l.own {
		one := &job.Job{Language: i.Language, Image: j.Image, Spec: j.Spec}
		if l.show(one); one.Verdict.Refusal != nil {
			j.Refuse(one.Verdict.Refusal)
		}
		j.Spec.Mounts = one.Spec.Mounts
	}
}

// show adds what a Job's language needs to its mounts.
func (l *languages) show(j *job.Job) {
	m := l.of(j).Shown(j)
	if m == nil || j.Verdict.Refusal != nil {
		return
	}
	if _, _, no := l.shares.Root(m.Held.Name); no != nil {
		j.Refuse(no)
		return
	}
	j.Spec.Mounts = append([]nsjail.Mount{*m}, j.Spec.Mounts...)
}

// Languages lists the available languages. The first call asks each for its version, in a jail.
func (l *languages) Languages() []Language {
	_ = l.here.Versions(context.Background(), l.jails) // on error, versions are ""
	list := []Language{}
	for _, one := range l.here.List() {
		list = append(list, Language{Name: one.Name, Version: one.Version, Path: one.Path})
	}
	return list
}

// FillGoCache compiles Go's standard library into a volume that is mounted read-only for every run of Go code, which
// then takes half a second of processor time instead of fifteen. It takes about a minute of processor time and 256 MiB
// of memory. Runs in the meantime do not use the cache.
func (l *languages) FillGoCache(ctx context.Context) error {
	v, err := l.runner.NewVolume(nsjail.VolumeOptions{Size: 320 << 20, Inodes: 8192, Dirs: []string{"cache"}})
	if err != nil {
		return err
	}
	if err := l.here.FillGoCache(ctx, l.jails, v.ID()+"/cache"); err != nil {
		return errors.Join(err, v.Close())
	}
	return nil // the volume ends with the Runner
}
