package cgroup

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAgrees(t *testing.T) {
	size := func(name string, n int64) setting { return checked(name, number(n), sameBytes) }
	memory := size("memory.max", 64<<20+1)
	tests := []struct {
		s    setting
		got  string
		want bool
	}{
		{set("pids.max", "5"), "5\n", true}, {set("pids.max", "5"), "6\n", false}, {set("pids.max", "5"), "", false}, {set("pids.max", "5"), "max", false},
		{set("cpu.max", "5000 10000"), "5000 10000\n", true}, {set("cpu.max", "5000 10000"), "max 10000\n", false},
		{memory, "67108864\n", true}, {memory, "67108865\n", true}, {memory, "67108866\n", false}, {memory, "67104768\n", false}, {memory, "0\n", false},
		{memory, "max\n", false}, {memory, "", false}, {memory, "x", false}, {memory, "-1", false},
		{size("memory.max", -1), "max\n", true}, {size("memory.max", -1), "9223372036854771712", true}, {size("memory.max", -1), "4096", false}, {size("memory.max", -1), "", false},
		{checked("m", "-1", sameBytes), "9223372036854771712", true}, {size("memory.max", 0), "0\n", true},
		{size("hugetlb.2MB.max", 3<<20), "2097152\n", true}, {size("hugetlb.2MB.max", 4<<20), "2097152\n", false}, {size("hugetlb.2MB.max", 4<<20), "4194304\n", true},
		{size("hugetlb.1GB.limit_in_bytes", 1<<30-1), "0\n", true}, {size("hugetlb.1GB.limit_in_bytes", 1<<30), "0\n", false},
		{checked("cpuset.cpus", "0,1,2", sameList), "0-2\n", true}, {checked("cpuset.cpus", "2,0-1,1", sameList), "0-2\n", true},
		{checked("cpuset.cpus", "0-2", sameList), "0-1\n", false}, {checked("cpuset.cpus", "0", sameList), "\n", false}, {checked("cpuset.cpus", "0", sameList), "x", false},
		{checked("io.max", "8:0 rbps=5 wiops=7", sameWords), "8:16 rbps=5 wiops=7\n8:0 rbps=5 wbps=max riops=max wiops=7\n", true},
		{checked("io.max", "8:0 rbps=5 wiops=7", sameWords), "8:16 rbps=5 wiops=7\n", false}, {checked("io.max", "8:0 rbps=5", sameWords), "8:0 rbps=55\n", false},
		{checked("io.max", "8:0 rbps=5", sameWords), "", false}, {checked("blkio.throttle.read_bps_device", "8:0 5", sameWords), "8:0 5\n", true},
	}
	for _, tt := range tests {
		if got := agrees(tt.got, &tt.s); got != tt.want {
			t.Errorf("%q written to %s, %q read: %v", tt.s.value, tt.s.names[0], tt.got, got)
		}
	}
}

func TestUnit(t *testing.T) {
	page := int64(os.Getpagesize())
	for name, want := range map[string]int64{"memory.max": page, "hugetlb.64KB.max": 64 << 10, "hugetlb.2MB.max": 2 << 20, "hugetlb.1GB.rsvd.max": 1 << 30,
		"hugetlb.": page, "hugetlb.MB.max": page, "hugetlb.2.max": page, "hugetlb.2TB.max": page, "hugetlb.xMB.max": page, "hugetlb.99999999999GB.max": page} {
		if got := unit(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

func TestLists(t *testing.T) {
	for list, want := range map[string][]int{"0": {0}, "0-3": {0, 1, 2, 3}, "3,0-1,1\n": {0, 1, 3}, "65535": {65535}, "": nil, "x": nil, "1-": nil, "-1": nil, "3-1": nil,
		"65536": nil, "0,": nil, "0 1": nil, "+1": nil, "0-1-2": nil, "0x1": nil, "0-3:1/2": nil} {
		got, err := parseList(list)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) || Count(list) != len(want) {
			t.Errorf("%q: %v, %v, %d", list, got, err, Count(list))
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q", err)
		}
	}
	for _, tt := range [][3]string{{"0-3", "0-1", "2-3"}, {"0-65535", "1,3", "0,2,4-65535"}, {"0-1", "0-7", ""}, {"99", "0-1", "99"}, {"x", "0", ""}, {"0", "", ""}, {"5,4,7", "1", "4-5,7"}} {
		if got := Lacks(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%q of %q: %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
}

func FuzzParseList(f *testing.F) {
	for _, s := range []string{"0-3,7", "", "65535-0", ",", "1-2-3"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, s, have string) {
		list, err := parseList(s)
		if err == nil && (len(list) == 0 || !slices.IsSorted(list) || list[0] < 0 || list[len(list)-1] > 65535 || Lacks(s, s) != "") {
			t.Errorf("%q: %v", s, list)
		}
		if missing := Lacks(s, have); missing != "" && err == nil && Count(missing) > len(list) {
			t.Errorf("%q of %q: %q", s, have, missing)
		}
		if agrees(s, &setting{[]string{"cpuset.cpus"}, s, sameList}) != (err == nil) {
			t.Errorf("%q does not agree with itself", s)
		}
	})
}

func FuzzAgrees(f *testing.F) {
	f.Add("8:0 rbps=5", "8:0 rbps=5 wbps=max\n", "io.max", int(sameWords))
	f.Add("4096", "max", "hugetlb.2MB.max", int(sameBytes))
	f.Add("", "", "", int(sameText))
	f.Fuzz(func(t *testing.T, value, got, name string, c int) {
		if value == "" { // nsjail refuses it
			return
		}
		s := setting{[]string{name}, value, check(c)}
		if agrees(got, &s) && s.check == sameText && strings.TrimSpace(got) != value {
			t.Errorf("%q is not %q", got, value)
		}
	})
}

func TestUnits(t *testing.T) {
	const slice = "/sys/fs/cgroup/user.slice/user-1000.slice"
	for dir, want := range map[string]string{
		"/sys/fs/cgroup":           "",
		"/sys/fs/cgroup/a":         "",
		slice:                      "",
		slice + "/session-1.scope": slice + "/session-1.scope",
		slice + "/user@1000.service/app.slice/run.scope": slice + "/user@1000.service/app.slice/run.scope",
		slice + "/user@1000.service/app.slice":           slice + "/user@1000.service",
		slice + "/x.service/deep/er":                     slice + "/x.service",
		"/":                                              "", "": "", "relative": "",
	} {
		if got := unitOf(dir); got != want {
			t.Errorf("%q: %q, want %q", dir, got, want)
		}
	}
}

// TestForeignUnit makes directories with the marks that systemd leaves. Only root may set and read the older one.
func TestForeignUnit(t *testing.T) {
	dir := t.TempDir() // an extended attribute of user.* is as good here as on a control group
	unit := func(name string, marks ...string) string {
		d := dir + name
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, m := range marks {
			key, value, _ := strings.Cut(m, "=")
			if err := unix.Setxattr(d, key, []byte(value), 0); errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EPERM) {
				t.Skipf("%s: %v", m, err)
			} else if err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	root := os.Geteuid() == 0
	tests := []struct{ dir, want string }{
		{unit("/plain"), ""},
		{unit("/a.slice"), " is a slice of systemd's"},
		{unit("/a.slice/yes.scope", "user.delegate=1"), ""},
		{unit("/a.slice/yes.scope/below"), ""},
		{unit("/a.slice/no.scope", "user.delegate=0"), map[bool]string{true: " is a unit of systemd's without Delegate=yes"}[root]},
		{unit("/a.slice/no.service"), map[bool]string{true: " is a unit of systemd's without Delegate=yes"}[root]},
		{unit("/user@1.service", "user.delegate=1"), ""},
		{unit("/user@1.service/app.slice/no.scope"), " is a unit of systemd's without Delegate=yes"},
		{unit("/user@1.service/app.slice/yes.scope", "user.delegate=1"), ""},
		{unit("/user@2.service/app.slice/old.scope"), " is a unit of systemd's without Delegate=yes"},
	}
	for _, tt := range tests {
		if got := foreignUnit(tt.dir); got != "" && got != tt.dir+tt.want || (got == "") != (tt.want == "") {
			t.Errorf("%s: %q, want %q", tt.dir, got, tt.want)
		}
	}
}

// TestReadBack: what the kernel makes of a value is compared. An ordinary file that is longer than the value stands in
// for a kernel that makes another of it.
func TestReadBack(t *testing.T) {
	d := invented(t, 2, map[string]string{"pids.max": "99\n", "cpuset.cpus": "0-9\n", "cpuset.cpus.effective": "0-1\n", "io.max": "8:0 rbps=5 wbps=max\n8:1 "})
	for _, tt := range []struct {
		s    setting
		want string
	}{
		{set("pids.max", "5"), "the kernel has made 59 of it"},
		{checked("pids.max", "7", anyValue), ""},
		{set("pids.max", "123"), ""},
		{checked("cpuset.cpus", "0-3", sameList), "the kernel has made 0-1 of it"},
		{checked("cpuset.cpus", "0-1", sameList), ""},
		{checked("io.max", "8:0 rbps=6", sameWords), ""},
		{set("pids.none", "5"), "no such file or directory"},
		{setting{[]string{"pids.none", "pids.max"}, "123", sameText}, ""},
	} {
		err := d.write(&tt.s)
		if (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
			t.Errorf("%s=%s: %v, want %q", tt.s.names, tt.s.value, err, tt.want)
		}
	}
}
