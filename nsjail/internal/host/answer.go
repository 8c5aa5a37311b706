package host

import (
	"context"
	"errors"
	"time"

	"brig/internal/sys"
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
