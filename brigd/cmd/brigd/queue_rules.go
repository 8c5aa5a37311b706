package main

import (
	"encoding/json"
	"fmt"
	"reflect"

	"brig/brigd/engine"
	"brig/brigd/internal/config"
	"brig/nsjail"
)

// rulesOf returns what this brigd demands of runs that workers perform: the settings that travel (config.Travels) and
// were given. It is nil if there is none.
func rulesOf(c *config.Config, o *engine.Options) ([]byte, error) {
	r := engine.Rules{}
	for _, p := range o.Policies {
		text, err := p.JSON()
		if err != nil {
			return nil, fmt.Errorf("--policy: %w", err)
		}
		r.Policies = append(r.Policies, text)
	}
	if len(r.Policies) > 0 {
		r.Optional = o.Base.Optional
	}
	if c.Set("jails.spec") {
		r.Spec = engine.BaseDigest(&o.Base)
	}
	if c.Set("jails.shares") {
		r.Shares = map[string]engine.ShareRule{}
		for _, s := range o.Shares {
			r.Shares[s.Name] = engine.ShareRule{Mode: s.Mode, Protect: s.Protect, Size: s.Size, Inodes: s.Inodes}
		}
	}
	b, s := &o.Sandboxes, &r.Sandbox
	for path, set := range map[string]func(){
		"jails.timeout":             func() { r.Timeout = o.Timeout },
		"jails.max_timeout":         func() { r.MaxTimeout = o.MaxTimeout },
		"jails.memory":              func() { r.Memory = o.Memory },
		"jails.max_output":          func() { r.MaxOutput = o.MaxOutput },
		"jails.images":              func() { r.Images = o.Images },
		"sandboxes.max":             func() { s.Max = b.Max },
		"sandboxes.per_agent":       func() { s.PerAgent = b.MaxPerAgent },
		"sandboxes.total_bytes":     func() { s.Bytes = b.MaxBytes },
		"sandboxes.bytes_per_agent": func() { s.BytesPerAgent = b.MaxBytesPerAgent },
		"sandboxes.max_size":        func() { s.Size = nsjail.Bytes(b.MaxSize) },
		"sandboxes.max_ttl":         func() { s.TTL = nsjail.Duration(b.MaxTTL) },
	} {
		if c.Set(path) {
			set()
		}
	}
	if reflect.ValueOf(r).IsZero() {
		return nil, nil
	}
	return json.Marshal(&r)
}
