package lane

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// While all classes have runs, each goes on, and the highest most often.
func TestEachClassHasAShare(t *testing.T) {
	b := NewBoard(1, 0)
	taken := map[string]int{}
	for range 160 {
		l := b.Order()[0]
		b.Taken(l, "x")
		taken[l.Class]++
	}
	if taken["normal"] < 20 || taken["low"] < 20 || taken["high"] < 80 {
		t.Errorf("of 160: %v", taken)
	}
}

// A tenant that has its part of the slots closes its lane, until the lane has a run of another tenant.
func TestOneTenantHasAPart(t *testing.T) {
	counts := map[string]uint64{}
	b := NewBoard(4, 2)
	greedy, other := "greedy", ""
	own := Of(0, greedy)
	for _, name := range strings.Fields("a b c d e f g h i j k l m n") {
		if other == "" && Of(0, name) == own {
			other = name
		}
	}
	step := func(what string, want bool) {
		t.Helper()
		b.hot = map[Lane]bool{own: true}
		now := time.Now()
		for _, l := range b.Closed(now) {
			b.Probed(l, counts, now)
		}
		if got := len(b.Order()) == 1; got != want {
			t.Errorf("%s: the lane is looked at: %v", what, got)
		}
	}
	counts[greedy] = 500
	step("nothing goes on", true)
	b.Taken(own, greedy)
	step("one run goes on", true)
	b.Taken(own, greedy)
	step("he has his part", false)
	counts[other] = 1
	step("another's run has come, untold", false)
	if !b.Came(own, other) || b.Came(own, greedy) {
		t.Error("whose run may be taken")
	}
	step("another's run has come", true)
	b.Taken(own, other)
	b.Found(own, true)
	step("it goes on here", false)
	b.Release(greedy)
	if step("a run has ended", true); !b.hot[own] {
		t.Error("the lane is cold")
	}
}

// The runs of one tenant close his lane again and again. The server is not asked each time for somebody else's.
func TestOneTenantAloneCostsNoLooks(t *testing.T) {
	b, looks, tenant := NewBoard(4, 2), 0, "alone"
	own := Of(0, tenant)
	b.Taken(own, tenant)
	for range 100 {
		if !b.Came(own, tenant) {
			t.Fatal("he may have another one")
		}
		b.Taken(own, tenant)
		b.Mark(own, true)
		now := time.Now()
		for _, l := range b.Closed(now) {
			looks++
			b.Probed(l, nil, now)
		}
		b.Release(tenant)
	}
	if looks > len(Classes) { // he has a lane in each
		t.Errorf("%d looks for runs of others, and no other has come", looks)
	}
}

// Where a tenant may have all slots, nothing is kept from him.
func TestAllSlotsAreNoPart(t *testing.T) {
	for share, want := range map[int]int{1: 1, 3: 3, 4: 0, 9: 0} {
		if got := slotsOfOne(4, share); got != want {
			t.Errorf("a share of %d of 4 slots bounds to %d, want %d", share, got, want)
		}
	}
}

// A stirred lane is worth a look. Where one is due anyway, who stirs it learns that.
func TestStir(t *testing.T) {
	l, b := All()[3], NewBoard(1, 0)
	b.Mark(l, false)
	for _, due := range []bool{false, true} {
		if b.Stir(l) != due || len(b.Woken()) != 1 || !slices.Contains(b.Order(), l) {
			t.Errorf("a look was due: not %v, %d wake, order %v", due, len(b.Woken()), b.Order())
		}
	}
}

// Looks in vain become rarer, to a bound. A run that was found makes the next look come at once.
func TestProbesInVain(t *testing.T) {
	b := NewBoard(4, 1)
	own := Of(0, "greedy")
	b.Taken(own, "greedy")
	now := time.Now()
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 16} {
		if !slices.Contains(b.Closed(now), own) {
			t.Fatalf("look %d is not due", i)
		}
		b.Probed(own, map[string]uint64{"other": 1}, now)
		if b.Found(own, false); slices.Contains(b.Closed(now.Add(want*time.Second)), own) {
			t.Errorf("look %d is due before %d s", i+1, want)
		}
		now = now.Add(want*time.Second + 1)
	}
	b.Probed(own, map[string]uint64{"other": 1}, now)
	if b.Found(own, true); !slices.Contains(b.Closed(now), own) {
		t.Error("after a run that was found, the next look waits")
	}
}
