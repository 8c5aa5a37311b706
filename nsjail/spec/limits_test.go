package spec

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"brig/cgroup"
)

// TestLimitRows compares the table with the fields of Limits, and its references with what they name.
func TestLimitRows(t *testing.T) {
	l := &Limits{}
	fields := reflect.ValueOf(l).Elem()
	if len(limitRows) != fields.NumField() {
		t.Fatalf("%d rows for %d fields", len(limitRows), fields.NumField())
	}
	seen := map[string]string{} // flags
	for i := range limitRows {
		r := &limitRows[i]
		tag, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
		if r.Name != tag || r.Field(l) != fields.Field(i).Addr().Interface() {
			t.Errorf("row %d is %s, and the field there is %s", i, r.Name, tag)
		}
		if r.IsSet(l) {
			t.Errorf("%s is set in the zero Limits", r.Name)
		}
		if seen[r.Flag] != "" && r.Flag != "" {
			t.Errorf("%s belongs to %s and %s", r.Flag, seen[r.Flag], r.Name)
		}
		seen[r.Flag] = r.Name
		if r.Of != "" && !slices.ContainsFunc(limitRows, func(o Limit) bool { return o.Name == r.Of }) ||
			strings.Contains(r.About().String(), "%") {
			t.Errorf("%s: help %q of %q", r.Name, r.Help, r.Of)
		}
		if (r.Flag == "") != (r.Help == "") || strings.HasSuffix(r.Help, ".") {
			t.Errorf("%s: flag %q, help %q", r.Name, r.Flag, r.Help)
		}
		set := &Limits{}
		if sample(r.Field(set)); r.Mechanism != "" && reflect.DeepEqual(set.Group(), l.Group()) {
			t.Errorf("%s has the mechanism %s, and is not handed to package cgroup", r.Name, r.Mechanism)
		}
		for _, m := range strings.Fields(r.Mechanism) {
			if !slices.ContainsFunc(cgroup.Mechanisms(), func(c cgroup.Mechanism) bool { return c.Name == m }) {
				t.Errorf("%s: package cgroup has no mechanism %s", r.Name, m)
			}
		}
	}
}

// sample sets a field to some value of its type.
func sample(field any) {
	switch v := field.(type) {
	case *Duration:
		*v = 1e9
	case *Bytes:
		*v = 1 << 20
	case *int64:
		*v = 7
	case *int:
		*v = 7
	case *float64:
		*v = 0.5
	case *string:
		*v = "0"
	case *bool:
		*v = true
	case *map[string]Bytes:
		*v = map[string]Bytes{"2MB": 1}
	case *[]string:
		*v = []string{"memory.oom.group=0"}
	case *[]IOLimit:
		*v = []IOLimit{{Path: "/dev/sda", ReadBps: 1, WriteBps: 1, ReadIOPS: 1, WriteIOPS: 1}}
	}
}

// TestLimitFilesAreNamed: a file that package cgroup writes for a limit cannot be set by Limits.Cgroup as well.
// Exceptions are documented: memory.oom.group, and the buffers of sockets.
func TestLimitFilesAreNamed(t *testing.T) {
	all := []string{"memory", "pids", "cpu", "cpuset", "io", "hugetlb"}
	v1 := map[string]string{"memory": "/m", "pids": "/p", "cpu": "/c", "cpuset": "/s", "blkio": "/b", "cpuacct": "/a"}
	layouts := []*cgroup.Layout{{Mode: cgroup.V2, Dir: "/sys/fs/cgroup", Enabled: all}, {Mode: cgroup.V1, Controllers: v1}}
	for i := range limitRows {
		r := &limitRows[i]
		l := &Limits{}
		sample(r.Field(l))
		taken := l.groupFilesTaken()
		for _, layout := range layouts {
			by := cgroup.Resolve(l.Group(), layout).Enforced
			for _, m := range strings.Fields(r.Mechanism) {
				if m == "memory_sockets" || r.Name == "hugetlb" || r.Name == "cgroup" || m == "cpu_time" {
					continue
				}
				_, files, _ := strings.Cut(by[m], " ")
				if files == "" && layout.Mode == cgroup.V2 {
					t.Errorf("%s is not held by version 2: %q", m, by)
				}
				for _, f := range strings.Split(files, ", ") {
					name, _, _ := strings.Cut(f, "=")
					if name != "" && name != "memory.oom.group" && taken[name] != r.Name {
						t.Errorf("%s writes %s, which is taken by %q", r.Name, name, taken[name])
					}
				}
			}
		}
	}
}
