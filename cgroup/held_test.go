package cgroup

import "testing"

// TestMemoryHeld: what the kernel can take back is not held; a directory without the controller is passed over.
func TestMemoryHeld(t *testing.T) {
	none := map[string]string{"cgroup.procs": ""}
	for _, tt := range []struct {
		name   string
		v2, v1 map[string]string
		want   int64
	}{
		{"version 2", map[string]string{"memory.current": "1000\n", "memory.stat": "anon 400\ninactive_file 300\nactive_file 20\n" +
			"unevictable 50\nslab_reclaimable 7\nslab 9\n"}, nil, 673},
		{"hybrid", none, map[string]string{"memory.usage_in_bytes": "1000\n", "memory.stat": "cache 1\ninactive_file 900\n" +
			"total_inactive_file 300\ntotal_active_file 30\n"}, 670},
		{"caches above all", map[string]string{"memory.current": "10\n", "memory.stat": "inactive_file 300\n"}, nil, 0},
		{"no controller", none, none, -1},
	} {
		g := &Group{dirs: []*directory{invented(t, 2, tt.v2)}}
		if tt.v1 != nil {
			g.dirs = append(g.dirs, invented(t, 1, tt.v1))
		}
		if got := g.MemoryHeld(); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
