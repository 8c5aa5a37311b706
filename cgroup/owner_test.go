package cgroup

import (
	"errors"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// TestSweepNeverTakesTheLiving: makers and sweepers in processes of their own, 200 groups in all. Each maker checks
// that its group and the process in it live, and ends by killing itself, which leaves its last group to the others.
func TestSweepNeverTakesTheLiving(t *testing.T) {
	l, _ := yard(t)
	var sweepers []*child
	for range 2 {
		c := spawn(t, -1, "sweep", text(t, order{Layout: l}))
		c.line(t)
		sweepers = append(sweepers, c)
	}
	const makers, rounds = 4, 9 // and one more that is left
	turns := 5                  // 200 groups
	if testing.Short() {
		turns = 1
	}
	for turn := range turns {
		var list []*child
		for n := range makers {
			list = append(list, spawn(t, -1, "churn", text(t, order{Layout: l, Limits: *all(l), Seed: uint64(turn*makers + n), Rounds: rounds})))
		}
		for _, c := range list {
			if err := c.finish(); err == nil || err.Error() != "signal: killed" || c.errs.Len() > 0 {
				t.Errorf("%v %s", err, c.errs.String())
			}
		}
	}
	for _, c := range sweepers {
		if err := c.finish(); err != nil {
			t.Error(err, c.errs.String())
		}
	}
	if _, busy, err := l.Sweep(0); busy > 0 || err != nil {
		t.Error(busy, err)
	}
	if left := contents(t, l); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestForeignOwner: no jail is made in a group whose limits another user could remove, and such a group is not swept.
func TestForeignOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root gives a group away")
	}
	l, _ := yard(t)
	for _, base := range l.bases() {
		inner := path.Join(base, "of-root")
		stale := path.Join(inner, "brig-1-1")
		if err := errors.Join(os.Mkdir(inner, 0o755), os.Mkdir(stale, 0o700), os.Chown(base, asuser.UID, asuser.UID)); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{base, inner} {
			if why := foreignOwner(dir, 2); why != base+" belongs to user 54321, who could take a jail's limits away" {
				t.Errorf("%s: %q", dir, why)
			}
			look := *l
			if look.Denied, look.Dir, look.Controllers = nil, "", nil; base == l.Dir {
				look.Dir = dir
			} else {
				look.Mode, look.Controllers = V1, map[string]string{"memory": dir}
			}
			if err := look.look("x", nil); err != nil || look.Delegated || !strings.Contains(look.Why, "belongs to user 54321") {
				t.Errorf("%+v, %v", look, err)
			}
			if removed, busy, err := look.Sweep(0); len(removed) > 0 || busy > 0 || err != nil {
				t.Errorf("%q %d %v", removed, busy, err)
			}
		}
		must.Do(t, os.Chown(base, 0, 0))
		must.Do(t, os.Chown(path.Join(base, "cgroup.procs"), asuser.UID, -1))
		if why := foreignOwner(inner, 2); !strings.Contains(why, "cgroup.procs belongs to user 54321") {
			t.Errorf("%q", why)
		}
		if why := foreignOwner(path.Dir(base), 1); why != "" {
			t.Errorf("%q", why)
		}
	}
}

// TestLeafOfAnother: processes are not moved into a leaf that another user has made.
func TestLeafOfAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root gives a group away")
	}
	l, _ := yard(t)
	domestic(t, l)
	dir, fd := home(t, l, "leafless")
	if err := errors.Join(os.Mkdir(path.Join(dir, leafName), 0o755), os.Chown(path.Join(dir, leafName), asuser.UID, asuser.UID)); err != nil {
		t.Fatal(err)
	}
	c := spawn(t, fd, "wait", "")
	c.line(t)
	if err := moveToLeaf(fd, strconv.Itoa(c.Process.Pid)); !errors.Is(err, unix.EPERM) || !strings.Contains(err.Error(), "belongs to user 54321") {
		t.Error(err)
	}
	if in := procs(t, dir); len(in) != 1 {
		t.Errorf("%q", in)
	}
}
