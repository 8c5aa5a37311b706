package nsjail

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// A launcher that has entered a user namespace for idmapped mounts makes no other jail: its ids would not be the host's.
func TestLauncherOfIDMapIsReplaced(t *testing.T) {
	r := must.Get(newBareRunner())(t)
	defer r.Close()
	was := r.own.launcher.Pid()
	for _, mapping := range []bool{false, true} {
		r.own.mapping = mapping
		must.Get(r.own.begin())(t)
		if replaced := r.own.launcher.Pid() != was; replaced != mapping || r.own.mapping {
			t.Errorf("mapping: %v, replaced: %v", mapping, replaced)
		}
	}
}

// The owner's files are the payload's, whatever their group. It is in none of these groups: it makes no set-group-ID
// file of them, and others' files stay closed.
func TestFilesOfOtherGroups(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("for root: an ordinary user is in its groups")
	}
	const owner, group, other = 1234, 1235, 2000
	for _, pool := range []int{0, 1} {
		dir := t.TempDir()
		must.Do(t, os.Chmod(filepath.Dir(dir), 0o755))
		for _, f := range []struct {
			name     string
			uid, gid int
			mode     uint32
		}{{"f", owner, other, 0o640}, {"root", owner, 0, 0o640}, {"theirs", 4321, other, 0o664}, {"all", 4321, group, 0o660},
			{"sub/", owner, other, 0o2775}, {"", owner, group, 0o755}} {
			path := filepath.Join(dir, f.name)
			if strings.HasSuffix(f.name, "/") {
				must.Do(t, os.Mkdir(path, 0o755))
			} else if f.name != "" {
				must.Do(t, os.WriteFile(path, nil, 0o644))
			}
			must.Do(t, os.Chown(path, f.uid, f.gid))
			must.Do(t, unix.Chmod(path, f.mode))
		}
		r := must.Get(NewRunnerWith(RunnerOptions{Pool: pool}))(t)
		cmd := r.shell(`set -e; echo x >>f; echo x >>root; chmod 600 f; mkdir sub/d; echo y >sub/d/g
			if chmod 2755 sub/d/g; then exit 5; fi 2>&-
			for f in theirs all; do if echo x >>$f; then exit 3; fi; done 2>&-
			if chgrp 2000 root 2>&-; then exit 4; fi; mv sub/d/g f`)
		cmd.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/work", Writable: true}}
		out, result, err := cmd.CombinedOutput()
		if err != nil || result.ExitCode != 0 {
			t.Errorf("%s, %v, %v", out, result, err)
		}
		must.Do(t, r.Close())
		var st, sub unix.Stat_t
		must.Do(t, errors.Join(unix.Stat(dir+"/f", &st), unix.Stat(dir+"/sub/d", &sub)))
		if st.Uid != owner || st.Gid != other || st.Mode&0o7777 != 0o644 || sub.Uid != owner || sub.Gid != other {
			t.Errorf("file %d:%d %04o, directory %d:%d", st.Uid, st.Gid, st.Mode, sub.Uid, sub.Gid)
		}
	}
}

// TestGroupMap has the lines of user_namespaces(7): no id is in two of them, on neither side.
func TestGroupMap(t *testing.T) {
	for _, c := range []struct {
		from, to, end int
		want          string
	}{
		{1000, 2000, 4294967295, "1000 2000 1\n0 0 1000\n1001 1001 999\n2001 2001 4294965294\n"},
		{0, 2000, 70000, "0 2000 1\n1 1 1999\n2001 2001 67999\n"},
		{2001, 2000, 3000, "2001 2000 1\n0 0 2000\n2002 2002 998\n"},
		{5, 5, 6, "5 5 1\n0 0 5\n"},
	} {
		if got := groupMap(c.from, c.to, c.end); got != c.want {
			t.Errorf("%d to %d of %d: %q; want %q", c.from, c.to, c.end, got, c.want)
		}
	}
}
