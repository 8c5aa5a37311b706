package procfs

import (
	"maps"
	"os"
	"testing"
)

func TestFields(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       map[string]int64
	}{
		{"meminfo", "MemTotal:       24732000 kB\nHugePages_Total:       0\n", map[string]int64{"MemTotal": 24732000 << 10, "HugePages_Total": 0}},
		{"rollup", "55d0c000-7ffd000 ---p 00000000 00:00 0                          [rollup]\nRss:                1580 kB\nPss:                 101 kB\n",
			map[string]int64{"Rss": 1580 << 10, "Pss": 101 << 10}},
		{"status", "Name:\tcat\nState:\tS (sleeping)\nUid:\t0\t0\t0\t0\nVmRSS:\t     912 kB\nThreads:\t3\n", map[string]int64{"VmRSS": 912 << 10, "Threads": 3}},
		{"other units and signs", "A: 3 MB\nB: -4 kB\nC: x kB\nD:\n E: 1\n", map[string]int64{"B": -4 << 10}},
		{"no newline at the end", "A: 1", map[string]int64{"A": 1}},
		{"nothing", "", map[string]int64{}},
	} {
		if got := Fields([]byte(tt.text)); !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestHeldLeavesOutWhatCanBeReclaimed(t *testing.T) {
	k := Kernel{Slab: 100, Reclaimable: 60, Stacks: 7, PageTables: 5, Percpu: 3, Available: 1000}
	if k.Held() != 55 {
		t.Errorf("held %d", k.Held())
	}
}

func TestParent(t *testing.T) {
	for _, tt := range []struct {
		stat string
		want int
		bad  bool
	}{
		{"12 (cat) S 7 12 12 0", 7, false},
		{"12 (a) R 9 (b) S 8 12", 8, false},
		{"12 (cat) S", 0, true},
		{"", 0, true},
	} {
		got, err := parent([]byte(tt.stat))
		if got != tt.want || (err != nil) != tt.bad {
			t.Errorf("%q: %d, %v", tt.stat, got, err)
		}
	}
}

func TestBelow(t *testing.T) {
	parents := map[int]int{1: 0, 2: 1, 3: 2, 4: 3, 5: 1, 6: 5}
	for _, tt := range []struct {
		roots []int
		want  map[int]bool
	}{
		{[]int{2}, map[int]bool{2: true, 3: true, 4: true}},
		{[]int{2, 3}, map[int]bool{2: true, 3: true, 4: true}},
		{[]int{4, 6}, map[int]bool{4: true, 6: true}},
		{nil, map[int]bool{}},
	} {
		if got := Below(parents, tt.roots...); !maps.Equal(got, tt.want) {
			t.Errorf("%v: %v", tt.roots, got)
		}
	}
}

func TestReadSelf(t *testing.T) {
	s, err := ReadSize(os.Getpid())
	if err != nil || s.Share <= 0 || s.Resident < s.Share {
		t.Errorf("own size %+v, %v", s, err)
	}
	parents, err := Parents()
	if err != nil || parents[os.Getpid()] != os.Getppid() {
		t.Errorf("own parent %d, %v; it is %d", parents[os.Getpid()], err, os.Getppid())
	}
	if _, err := Read("/proc/self/status", "NoSuchField"); err == nil {
		t.Error("a field that is not there was found")
	}
}
