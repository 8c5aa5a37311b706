package plan

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"brig/cgroup"
	"brig/internal/test/golden"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
)

// layout is an invented machine, and who calls there.
type layout struct {
	name            string
	uid             int
	self, mounts    string   // /proc/self/cgroup and /proc/self/mountinfo
	enabled, nested []string // the controllers of the own version 2 group, and those that its children have
}

const (
	mountV2   = "30 20 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
	mountNone = "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
)

// mountV1 mounts each controller of version 1 below its own name.
func mountV1() (self, mounts string) {
	for i, c := range []string{"memory", "cpu,cpuacct", "pids", "cpuset", "blkio", "hugetlb", "freezer"} {
		self += fmt.Sprintf("%d:%s:/\n", i+1, c)
		mounts += fmt.Sprintf("%d 20 0:%d / /sys/fs/cgroup/%s rw - cgroup cgroup rw,%s\n", 30+i, 30+i, c, c)
	}
	return self, mounts
}

// layouts are the machines of the table.
func layouts() []layout {
	self, mounts := mountV1()
	all := []string{"cpuset", "cpu", "io", "memory", "hugetlb", "pids"}
	const unified = "60 20 0:60 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	return []layout{
		{"v2", 0, "0::/\n", mountV2, all, all},
		{"v2 scope", 1000, "0::/user.slice/run.scope\n", mountV2, []string{"cpu", "memory", "pids"}, nil},
		{"hybrid", 0, self + "0::/\n", mounts + unified, nil, nil},
		{"v1", 0, self, mounts, nil, nil},
		{"none", 1000, "", mountNone, nil, nil},
	}
}

// host is the machine for a Spec.
func (l *layout) host(s *spec.Spec) *host.Host {
	h := ordinaryHost()
	h.Kernel = host.Kernel{Major: 6, Minor: 12}
	if h.UID = l.uid; l.uid == 0 {
		h.GID, h.Drop, h.PayloadUID, h.PayloadGID = 0, true, 2000000000, 2000000000
	}
	if !host.WantsGroup(s) {
		return h
	}
	h.Cgroup = cgroup.Parse(l.self, l.mounts, s.CgroupParent)
	h.Cgroup.Enabled, h.Cgroup.Subtree, h.Cgroup.Swap = l.enabled, l.nested, true
	h.Cgroup.CPUs, h.Cgroup.Mems, h.Cgroup.Delegated = "0-3", "0", h.Cgroup.Mode != cgroup.None
	h.Devices = map[string]host.Device{"/dev/sda": {Major: 8, Minor: 0}}
	return h
}

// cell is what Resolve makes of a row in a layout.
func (r *tableRow) cell(t *testing.T, l *layout) string {
	t.Helper()
	s := &spec.Spec{Args: []string{"id"}}
	r.set(s)
	p, err := Resolve(s, l.host(s))
	var e *spec.Error
	switch {
	case errors.As(err, &e) && e.Fault == spec.FaultHost:
		why, _, _ := strings.Cut(strings.TrimPrefix(e.Detail.String(), "control group: "), " in /sys/fs/cgroup/user.slice")
		return "**refused**: " + why
	case err != nil:
		t.Fatalf("%s, %s: %v", r.flag, l.name, err)
	case r.mechanism == "":
		return r.always
	}
	return p.Enforced[r.mechanism].String()
}

// birth describes how a jail's first process comes into its groups, and how they are stopped and ended: as the plan has
// it.
func birth(t *testing.T, l *layout) (join, end string) {
	t.Helper()
	s := &spec.Spec{Args: []string{"id"}, Limits: spec.Limits{Memory: 64 << 20}}
	p, err := Resolve(s, l.host(s))
	if err != nil {
		return "-", "the pid namespace"
	}
	end = "freezer.state and SIGKILL to each"
	var how []string
	if p.Group.V2() > 0 {
		how, end = append(how, "born into it: clone3(CLONE_INTO_CGROUP)"), "cgroup.freeze, cgroup.kill"
	}
	if len(p.Group.V1Joins()) > 0 {
		how = append(how, "writes itself to tasks")
	}
	return strings.Join(how, "; "), end + ", and the pid namespace"
}

// limitTable is the text between the marks in the page: a line for each limit.
func limitTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| limit | version 2 | hybrid and version 1 | none |\n|---|---|---|---|\n")
	list := layouts()
	joins, ends := make([]string, len(list)), make([]string, len(list))
	for _, r := range tableRows() {
		cells := make([]string, len(list))
		for i := range list {
			cells[i] = r.cell(t, &list[i])
		}
		b.WriteString(tableLine(t, r.flag, cells))
	}
	for i := range list {
		joins[i], ends[i] = birth(t, &list[i])
	}
	b.WriteString(tableLine(t, "*the first process*", joins))
	b.WriteString(tableLine(t, "*freeze, kill*", ends))
	return b.String()
}

// told are the refusals whose reason the page tells, and a remark that it has once.
var (
	told   = regexp.MustCompile(`^\*\*refused\*\*: .*(no control group is mounted|controller is not available)$`)
	remark = " (version 1 does not see what the page cache writes back)"
)

// tableLine returns the line of a limit, with the cells of the layouts in three columns: a star is at one that a user's
// scope lacks, and a cell that is as the one before it is empty.
func tableLine(t *testing.T, name string, cells []string) string {
	t.Helper()
	for i, cell := range cells {
		cells[i] = strings.TrimSuffix(told.ReplaceAllString(cell, "**refused**"), remark)
	}
	v2, scope, hybrid, v1, none := cells[0], cells[1], cells[2], cells[3], cells[4]
	one, without := v1, none
	switch {
	case hybrid == v1 && v1 == v2:
		one = ""
	case hybrid == v2:
		one += "; hybrid: as version 2"
	case hybrid != v1:
		t.Errorf("%s: the table has no place for %q of a hybrid machine", name, hybrid)
	}
	if none == v1 {
		without = ""
	}
	switch {
	case scope == "**refused**" && scope != v2:
		v2 += " *"
	case scope != v2:
		t.Errorf("%s: the table has no place for %q of a user's scope", name, scope)
	}
	return "| " + strings.Join([]string{name, v2, one, without}, " | ") + " |\n"
}

var tableMarks = regexp.MustCompile(`(?s)(<!-- limits: [^>]*-->\n).*?(<!-- end -->)`)

// TestLimitTable keeps the table of docs/reference/limits.md true: its rows are what Resolve plans on invented machines.
func TestLimitTable(t *testing.T) {
	const file = "../../../docs/reference/limits.md"
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the tests run without their checkout")
	}
	if err != nil || !tableMarks.Match(text) {
		t.Fatalf("no table is marked in %s: %v", file, err)
	}
	want := tableMarks.ReplaceAll(text, []byte("${1}"+strings.ReplaceAll(limitTable(t), "$", "$$")+"${2}"))
	if string(want) == string(text) {
		return
	}
	if !golden.Update() {
		t.Fatal("the table of limits is stale; run go test ./nsjail/internal/plan -run TestLimitTable -update")
	}
	if err := os.WriteFile(file, want, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestLimitTableIsWhole: every field of Limits is set by a row.
func TestLimitTableIsWhole(t *testing.T) {
	set := map[string]bool{}
	for _, r := range tableRows() {
		s := &spec.Spec{}
		r.set(s)
		for v, i := reflect.ValueOf(s.Limits), 0; i < v.NumField(); i++ {
			if !v.Field(i).IsZero() {
				set[v.Type().Field(i).Name] = true
			}
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[spec.Limits]()) {
		if !set[f.Name] {
			t.Errorf("no row sets %s", f.Name)
		}
	}
}

// TestLimitJoin: in version 2 the process is born into its group, in every plan and in the clone3(2) that the launcher
// performs; nothing is written to cgroup.procs. In version 1 it enters after all that a process made ahead performs. Its
// cgroup namespace is made after that. A hybrid machine without a freezer has the version 2 directory, to freeze and kill
// the group, and a process made ahead is then of no use.
func TestLimitJoin(t *testing.T) {
	list := layouts()
	l := list[2]
	l.name, l.mounts = "v2 beside v1", strings.ReplaceAll(l.mounts, "cgroup rw,freezer", "cgroup rw,net_prio")
	for _, l := range append(list, l) {
		s := &spec.Spec{Args: []string{"id"}, Limits: spec.Limits{Memory: 64 << 20}}
		p, err := Mode{Forked: true}.Resolve(s, l.host(s))
		if err != nil {
			continue
		}
		text := p.String()
		ahead, group := strings.LastIndex(text, "etc/mtab"), strings.Index(text, "unshare(CLONE_NEWCGROUP)")
		if strings.Contains(text, "cgroup.procs") || group < ahead || group < strings.LastIndex(text, `"0", 1)`) {
			t.Errorf("%s: %s", l.name, text)
		}
		if born := p.Group.V2() == 1; born != (p.Request().Cgroup >= 0) || born != strings.HasPrefix(l.name, "v2") {
			t.Errorf("%s: born into a group: %v", l.name, born)
		}
	}
}
