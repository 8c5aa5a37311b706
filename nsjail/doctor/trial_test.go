package doctor

import (
	"errors"
	"testing"

	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Which failures of a trial a user namespace explains.
func TestUserFailed(t *testing.T) {
	failed := func(op string, errno unix.Errno) Trial {
		return Trial{Tried: true, Err: &spec.Error{Op: op, Errno: errno}}
	}
	for _, tt := range []struct {
		first, relaxed Trial
		want           bool
	}{
		{Trial{}, Trial{}, true}, // nothing is known
		{Trial{Tried: true}, Trial{}, false},
		{Trial{Tried: true, Err: errors.New("x")}, Trial{}, false},
		{failed("clone3", unix.EINVAL), Trial{}, true},
		{failed("mount", unix.EACCES), Trial{}, true}, // by an LSM
		{failed("mount", unix.ENOENT), Trial{}, false},
		{failed("workdir", unix.EPERM), Trial{}, false},
		{failed("proc", unix.EPERM), Trial{}, false},
		{failed("proc", unix.EPERM), failed("user", unix.EPERM), true}, // this one got past /proc
		{failed("proc", unix.EPERM), Trial{Tried: true}, false},
	} {
		if got := (&Trials{Default: tt.first, Relaxed: tt.relaxed}).userFailed(); got != tt.want {
			t.Errorf("%v, then %v: %v", tt.first.Err, tt.relaxed.Err, got)
		}
	}
}
