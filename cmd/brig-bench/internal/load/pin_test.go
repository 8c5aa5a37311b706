package load

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestPick(t *testing.T) {
	for _, tt := range []struct {
		may         []int
		first, last int
		ok          bool
	}{
		{[]int{0, 1}, 0, 1, true},
		{[]int{3, 5, 70}, 3, 70, true},
		{[]int{2}, 0, 0, false},
	} {
		var set unix.CPUSet
		for _, c := range tt.may {
			set.Set(c)
		}
		first, ok := pick(&set, false)
		last, _ := pick(&set, true)
		if first != tt.first || last != tt.last || ok != tt.ok {
			t.Errorf("%v: %d, %d, %v", tt.may, first, last, ok)
		}
	}
}

func TestPinIsTakenBack(t *testing.T) {
	var before, pinned, after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	unpin, err := Pin(true)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SchedGetaffinity(0, &pinned); err != nil || pinned.Count() != 1 {
		t.Errorf("%d processors, %v", pinned.Count(), err)
	}
	if err := unpin(); err != nil {
		t.Error(err)
	}
	if err := unix.SchedGetaffinity(0, &after); err != nil || after != before {
		t.Errorf("%v", err)
	}
}
