package record

import "testing"

// A message has what the server takes. In a small store, all runs that may wait have room, and one tenant has a
// quarter of a part.
func TestBounds(t *testing.T) {
	for what, c := range map[string]struct {
		Bounds
		fits         int
		part, tenant int64
	}{
		"not known":     {Bounds{Store: -1, Queued: 10}, 1<<20 - headroom, -1, unknown},
		"a large store": {Bounds{Store: 1 << 40, Queued: 10}, 1<<20 - headroom, 1 << 38, 1 << 36},
		"a small store": {Bounds{Store: 64 << 20, Queued: 100}, 8 << 20 / 100, 16 << 20, 4 << 20},
		"a tiny one":    {Bounds{Store: 1 << 20, Queued: 1000}, headroom, 1 << 18, 1 << 16},
		"any number":    {Bounds{Store: 1 << 20}, 1<<20 - headroom, 1 << 18, 1 << 16},
	} {
		b := c.Bounds
		b.Payload = func() int64 { return 1 << 20 }
		if !b.Fit(make([]byte, c.fits)) || b.Fit(make([]byte, c.fits+1)) || b.Part() != c.part || b.Tenant() != c.tenant {
			t.Errorf("%s: a text of %d bytes fits: %v; a part has %d, and a tenant %d", what, c.fits,
				b.Fit(make([]byte, c.fits)), b.Part(), b.Tenant())
		}
	}
}

// A tenant's oldest results go when there are too many; the last one stays. Without room at all, the tenant with the
// most loses the oldest.
func TestKept(t *testing.T) {
	var k kept
	for i, c := range []struct {
		tenant, id string
		size       int64
		over       string
	}{{"a", "1", 40, ""}, {"a", "2", 40, ""}, {"b", "3", 90, ""}, {"a", "4", 40, "1"}, {"a", "5", 500, "24"}} {
		over := ""
		for _, r := range k.add(c.tenant, keptResult{c.id, c.size, 1}, 100) {
			over += r.id
		}
		if over != c.over {
			t.Errorf("step %d: %s go, want %s", i, over, c.over)
		}
	}
	for _, want := range []string{"5", "3", ""} {
		if r, ok := k.largest(); r.id != want || ok != (want != "") {
			t.Errorf("%q goes, want %q", r.id, want)
		}
	}
}
