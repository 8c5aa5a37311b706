package config

import "testing"

// Each bound of sandboxes is at most the one above it. One agent has half of all if nothing else is set.
func TestSandboxBounds(t *testing.T) {
	for _, tt := range []struct {
		change func(*Sandboxes)
		want   string
	}{
		{func(*Sandboxes) {}, ""},
		{func(b *Sandboxes) { b.DefaultSize = b.MaxSize + 1 }, "sandboxes.size is 1073741825, more than --sandbox-max-size 1g"},
		{func(b *Sandboxes) { b.MaxSize = 3 << 30 },
			"sandboxes.max_size is 3g, more than --sandbox-bytes-per-agent 2g, which one agent's have together"},
		{func(b *Sandboxes) { b.MaxSize, b.MaxBytesPerAgent = 3<<30, 3<<30 }, ""},
		{func(b *Sandboxes) { b.MaxBytesPerAgent = 5 << 30 },
			"sandboxes.bytes_per_agent is 5g, more than --sandbox-bytes 4g, which all have together"},
		{func(b *Sandboxes) { b.DefaultTTL = b.MaxTTL + 1 }, "sandboxes.ttl is "},
	} {
		b := defaultSandboxes()
		tt.change(&b)
		want(t, b.check(), tt.want)
	}
}
