package main

import (
	"cmp"
	"fmt"
	"strings"

	"brig/brigd/engine"
	"brig/brigd/internal/config"
	"brig/brigd/internal/files"
	"brig/brigd/policy"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// engineOptions makes the options for runs of the settings and of what their files hold.
func engineOptions(c *config.Config) (o engine.Options, err error) {
	o = engine.Options{Runner: nsjail.RunnerOptions{Pool: c.Jails.Pool}, Timeout: c.Runs.Timeout, Memory: c.Runs.Memory,
		MaxTimeout: c.Runs.MaxTimeout, MaxOutput: c.Runs.MaxOutput, Warm: c.Warm.Interpreters, Shares: c.Shares.List,
		Images: c.Images.Names, ImageStore: c.Images.Store, Interpreters: c.Languages.Interpreters,
		ChangesDir: c.Shares.ChangesDir, AllowApply: c.Shares.AllowApply, Store: c.Sandboxes.Store,
		SaveEvery: c.Sandboxes.SaveEvery, BoxIdle: c.Sandboxes.BoxIdle, Sandboxes: c.Sandboxes.StoreOptions}
	if o.Base, err = baseSpec(&c.Jails); err != nil {
		return o, err
	}
	for _, name := range c.Rules.Policies {
		p, err := loadPolicy(c.Rules.PolicyDir, name)
		if err != nil {
			return o, fmt.Errorf("--policy %s: %w", words.Quote(name), err)
		}
		o.Policies = append(o.Policies, p)
	}
	for _, names := range c.Jails.Optional {
		o.Base.Optional = append(o.Base.Optional, strings.Split(names, ",")...)
	}
	for _, problem := range o.Base.Check() {
		if problem.Path != "args" { // args come with a request
			return o, fmt.Errorf("what every jail begins with (--spec, --optional, --system): %w", problem)
		}
	}
	b := &o.Sandboxes
	b.MaxPerAgent, b.MaxBytesPerAgent = min(b.MaxPerAgent, b.Max), c.Sandboxes.AgentBytes()
	b.DefaultInodes = int64(c.Sandboxes.Inodes)
	b.MaxInodes = max(1<<20, b.DefaultInodes)
	return o, nil
}

// baseSpec returns what every jail begins with, without what may be missing.
func baseSpec(j *config.Jails) (base nsjail.Spec, err error) {
	if j.SpecFile != "" {
		text, err := files.Read(j.SpecFile, spec.MaxSpecSize)
		if err != nil {
			return base, fmt.Errorf("--spec: %w", err)
		}
		s, err := spec.ParseSpec(text)
		if err != nil {
			return base, fmt.Errorf("--spec %s: %w", words.Quote(j.SpecFile), err)
		}
		if len(s.Args) > 0 || len(s.Mounts) > 0 {
			return base, fmt.Errorf("--spec %s: it has a command or mounts, and those are a request's; remove args and mounts",
				words.Quote(j.SpecFile))
		}
		base = *s
	}
	base.Rootfs.System = cmp.Or(j.System, base.Rootfs.System)
	return base, nil
}

// loadPolicy reads a policy from a file, or a profile by its name.
func loadPolicy(dir, name string) (*policy.Policy, error) {
	if !strings.Contains(name, "/") && !strings.HasSuffix(name, ".json") {
		return policy.LoadProfile(dir, name)
	}
	text, err := files.Read(name, policy.MaxSize)
	if err != nil {
		return nil, err
	}
	return policy.ParseIn(dir, text)
}
