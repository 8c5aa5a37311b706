package cgroup

import (
	"errors"
	"os"
	"path"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// TestParseParent: a parent is below the mount, whatever its path is.
func TestParseParent(t *testing.T) {
	for parent, want := range map[string]string{"/": "/sys/fs/cgroup", "/a/b": "/sys/fs/cgroup/a/b", "/a/../../../../tmp": "", "/..": "", "/../x": "",
		"/a/": "", "a": "", "/a//b": "", "/./a": "", "/a/" + leafName: "/sys/fs/cgroup/a/" + leafName} {
		l := Parse("0::/own\n", unified, parent)
		if l.Dir != want || (want == "") != (l.Denied[""] != "") {
			t.Errorf("%q: %+v", parent, l)
		}
	}
}

// TestLookWithoutGroup: a missing group is a reason in the Layout and not an error, since a jail may need none.
func TestLookWithoutGroup(t *testing.T) {
	dir := t.TempDir()
	l := &Layout{Mode: V2, Dir: dir + "/gone"}
	if err := l.look("", nil); err != nil || l.Delegated || l.Why != "there is no group "+dir+"/gone" {
		t.Errorf("%+v, %v", l, err)
	}
	l = &Layout{Mode: V1, Controllers: map[string]string{"memory": dir + "/gone"}}
	if err := l.look("", nil); err != nil || l.Delegated || !strings.Contains(l.Why, "no such file") {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestLookReadsNothingOfTheCaller: without a hierarchy no file is looked for in the working directory.
func TestLookReadsNothingOfTheCaller(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.mems.effective", "cpuset.effective_mems", "cgroup.controllers"} {
		must.Do(t, os.WriteFile(name, []byte("4711\n"), 0o600))
	}
	l := &Layout{Mode: V1}
	if err := l.look("", nil); err != nil || l.CPUs == "4711" || l.Mems == "4711" || len(l.Enabled) > 0 {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestEmptyCPUSet: a version 1 group above without processors cannot be inherited from; nobody could join.
func TestEmptyCPUSet(t *testing.T) {
	l, _ := yard(t)
	base := l.Controllers["cpuset"]
	if base == "" {
		t.Skip("there is no cpuset of version 1")
	}
	use := *l
	use.Dir, use.Enabled, use.Controllers = "", nil, map[string]string{"cpuset": path.Join(base, "empty")}
	must.Do(t, os.Mkdir(use.Controllers["cpuset"], 0o755))
	_, err := Resolve(&Limits{CPUs: "0"}, &use).Create()
	var s *StepError
	if !errors.As(err, &s) || s.Mechanism != "cpuset" || !strings.Contains(err.Error(), "cpuset.cpus of the group above is empty") {
		t.Error(err)
	}
	if left := groupsBelow(t, use.Controllers["cpuset"]); len(left) != 1 {
		t.Errorf("left: %q", left)
	}
}
