package host

import (
	"context"
	"errors"
	"time"

	"brig/nsjail/spec"
)

// Look reads the machine for what a Spec needs of it. It is the only reading of the machine, and it changes nothing.
// Close the Host when the jail has been started.
func Look(s *spec.Spec) (*Host, error) {
	return LookWithin(context.Background(), time.Time{}, s)
}

// LookWithin is Look which waits for no file system of another process or machine when the context has ended, or after
// a time unless that is zero.
func LookWithin(ctx context.Context, until time.Time, s *spec.Spec) (*Host, error) {
	h := newHost()
	l := &looker{Host: h, spec: s, remote: remote{ctx: ctx, until: until}}
	for _, step := range []func() error{h.lookVersion, func() error { return h.lookKernel(h.UID) },
		func() error { return h.lookIdentity(h.Missing) }, l.lookTable, l.lookSystem, l.lookEnv,
		func() error { return h.lookFilter(s, h.Kernel) }, func() error { return h.lookListener(s) },
		func() error { return h.lookNetwork(s) }, l.lookSources, l.lookOwner, l.lookTier,
		func() error { return h.lookLabels(s, ReadText) }, func() error { return h.Groups.look(s, l.table) }} {
		if err := step(); err != nil {
			return nil, errors.Join(NeedProc(err), h.Close())
		}
	}
	return h, nil
}

// Again returns what one more run sees: the facts of a Host that was looked at for a Spec of the same kind, with the
// variables, the guard and the sources of now. unchanged means that no mount of the caller's has changed since.
func Again(ctx context.Context, until time.Time, s *spec.Spec, was *Host, unchanged bool) (*Host, error) {
	h := *was
	h.Sources, h.Partial, h.Env = Sources{}, nil, nil
	l := &looker{Host: &h, spec: s, remote: remote{ctx: ctx, until: until}}
	root := was.Sources.Of(spec.Root)
	steps := []func() error{l.lookTable, l.lookEnv, l.lookSources, func() error { return h.lookGuard(s) }}
	switch { // mounts below a source decide how it is shown
	case len(s.Mounts) > 0:
	case root == nil:
		steps = steps[1:]
	case !s.Rootfs.Writable && unchanged:
		steps[2] = func() error { return l.lookRoot(root) }
		steps = steps[1:]
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, errors.Join(NeedProc(err), h.Close())
		}
	}
	return &h, nil
}
