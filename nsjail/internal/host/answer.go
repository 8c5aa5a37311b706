package host

import (
	"context"
	"errors"
	"time"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Answer returns an error if the file system of a writable mount's source, or one below it, does not answer: for
// programs that look into the sources before Look does. ctx and until are as for LookWithin.
func Answer(ctx context.Context, until time.Time, s *spec.Spec) error {
	mounts, err := sys.Mounts()
	if err != nil {
		return err
	}
	r := &remote{ctx: ctx, until: until, mounts: remoteMounts(mounts), below: true}
	for i, m := range s.Mounts {
		if len(r.mounts) == 0 {
			return nil
		}
		if !m.Writes() || m.Type == spec.MountVolume {
			continue
		}
		id := SourceOf(i)
		fd, err := r.openPath(id, m.Source, m.Source)
		if err == nil {
			err = errors.Join(r.answers(id, m.Source, fd), unix.Close(fd))
		}
		if _, silent := errors.AsType[*spec.Error](err); silent {
			return err // Look reports the others
		}
	}
	return nil
}

// AnswerFile returns a *spec.Error about a field or "" if the file system that has a file does not answer. One asks
// before the file is opened, which finds all other errors.
func AnswerFile(field, path string) error {
	mounts, err := sys.Mounts()
	if err != nil {
		return nil // none is known
	}
	r := &remote{mounts: remoteMounts(mounts)}
	if len(r.mounts) == 0 {
		return nil
	}
	abs, err := sys.Abs(path)
	if err != nil {
		return nil
	}
	var none SourceID
	fd, err := r.openPath(none, path, abs)
	if err == nil {
		err = errors.Join(r.answers(none, path, fd), unix.Close(fd))
	}
	if e, silent := errors.AsType[*spec.Error](err); silent && e.Errno == 0 {
		return spec.HostError(field, words.Plain(words.Quote(path))+": "+e.Detail, e.Remedy)
	}
	return nil
}
