// Package cacheflags has the flags --cache, --cache-key and --cache-size, and what they do before and after a run.
package cacheflags

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"brig/cache"
	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// Set are the caches that a command line asks for.
type Set struct {
	tools []cache.Tool
	label string
	level string // see cache.Level: of the jail before the tools' variables
	size  spec.Bytes
	inUse []*cache.Cache
}

// Flags returns the table. add adds a mount to the Spec, in the order of the flags.
func (s *Set) Flags(add func(nsjail.Mount)) []cli.Flag {
	tool := func(v []string) error {
		t, err := cache.Find(v[0])
		if err != nil {
			return err
		}
		if slices.ContainsFunc(s.tools, func(o cache.Tool) bool { return o.Name == t.Name }) {
			return fmt.Errorf("%s has a cache already; write the flag once", t.Name)
		}
		s.tools = append(s.tools, t)
		add(nsjail.Mount{Type: nsjail.MountBind, Source: mark + t.Name, Target: t.Path}) // until use or Look
		return nil
	}
	key := func(v []string) error {
		if err := cache.CheckLabel(v[0]); err != nil {
			return err
		}
		return cli.Text(&s.label, "my-repository")(v)
	}
	size := func(v []string) (err error) {
		if s.size, err = spec.ParseBytes(v[0]); err == nil && s.size < smallest {
			err = fmt.Errorf("%s holds no cache; write %s or more", v[0], smallest)
		}
		return err
	}
	return []cli.Flag{
		{Name: "cache", Args: "TOOL|NAME:DST", Many: true, Set: tool,
			Help: "keep the cache of TOOL (go, npm, pip, cargo, maven, ccache) from run to run, or one of your own at DST; " +
				"other images, --cache-key and users have others"},
		{Name: "cache-key", Args: "KEY", Set: key,
			Help: "keep the caches of this run apart from those with another key: name the repository, or whose code runs; " +
				"without a key, runs with other powers (credentials, --net host, --git rw) have others"},
		{Name: "cache-size", Args: "SIZE", Set: size,
			Help: "what each cache may hold after the run, 4g by default: the files that were not used for longest are removed"},
	}
}

// mark begins the source of a cache's mount until there is one.
const mark = "cache of "

// smallest is the least --cache-size.
const smallest = spec.Bytes(1 << 20)

// Given returns the flag that was given, or "".
func (s *Set) Given() string {
	switch {
	case len(s.tools) > 0:
		return "--cache"
	case s.label != "":
		return "--cache-key"
	case s.size > 0:
		return "--cache-size"
	}
	return ""
}

// Finish adds the variables by which the tools find their caches, unless the caller sets or passes them, and refuses
// flags without effect.
func (s *Set) Finish(jail *nsjail.Spec) error {
	switch given := s.Given(); {
	case given != "" && len(s.tools) == 0:
		return errors.New(given + ": there is no cache; add --cache TOOL, or leave it out")
	case given != "" && jail.Tier == spec.TierProcess:
		return errors.New("--cache: with --tier process each directory is where it is on the host, and brig's own are " +
			"not shown; use --bind DIR, and set the tool's variable: --env GOCACHE=DIR")
	}
	if s.label == "" {
		s.level = cache.Level(jail)
	}
	for i := range s.tools {
		set := func(name string) bool { return sets(jail, name) }
		jail.Env = append(jail.Env, s.tools[i].Variables(set, s.most())...)
	}
	return nil
}

// most returns what each cache may hold after the run.
func (s *Set) most() spec.Bytes { return cmp.Or(s.size, cache.DefaultSize) }

// sets reports whether a Spec sets a variable, or passes one of the caller's.
func sets(jail *nsjail.Spec, name string) bool {
	_, has := os.LookupEnv(name)
	return slices.ContainsFunc(jail.Env, func(v string) bool { return strings.HasPrefix(v, name+"=") }) ||
		has && slices.ContainsFunc(jail.PassEnv, func(glob string) bool {
			ok, err := path.Match(glob, name)
			return ok && err == nil
		})
}

// key returns what the caches of a jail belong to.
func (s *Set) key(jail *nsjail.Spec) (cache.Key, error) {
	root, err := rootOf(&jail.Rootfs)
	return cache.Key{Root: root, Label: s.label, Level: s.level}, err
}

// rootOf returns the name of a root: what a link leads to, so that another tree has another name.
func rootOf(root *spec.Rootfs) (string, error) {
	_, digest, named := strings.Cut(root.Image, "@")
	switch {
	case named:
		return "image:" + digest, nil
	case root.Image != "":
		return "image:" + root.Image, nil
	case root.Path == "":
		return cache.HostRoot, nil
	}
	abs, err := filepath.Abs(root.Path)
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	return "rootfs:" + abs, err
}

// each replaces the mount of each cache by the one that get returns.
func (s *Set) each(jail *nsjail.Spec, get func(cache.Tool, cache.Key, spec.Bytes) (spec.Mount, error)) error {
	key, err := s.key(jail)
	if err != nil {
		return fmt.Errorf("--cache: %w", err)
	}
	for _, t := range s.tools {
		at := slices.IndexFunc(jail.Mounts, func(m nsjail.Mount) bool { return m.Source == mark+t.Name })
		m, err := get(t, key, s.most())
		if err != nil {
			return fmt.Errorf("--cache: %s: %w", t.Name, err)
		}
		jail.Mounts[at] = m
	}
	return nil
}

// Look puts the mounts of the caches into a Spec, for a plan that is only printed.
func (s *Set) Look(jail *nsjail.Spec) error {
	if len(s.tools) == 0 {
		return nil
	}
	return s.each(jail, cache.Look)
}

// Use makes the caches ready, and puts their mounts into a Spec. The caller then calls Release.
func (s *Set) Use(jail *nsjail.Spec) error {
	if len(s.tools) == 0 {
		return nil
	}
	store, err := cache.Open()
	if err != nil {
		return fmt.Errorf("--cache: %w", err)
	}
	defer store.Close()
	return s.each(jail, func(t cache.Tool, k cache.Key, size spec.Bytes) (m spec.Mount, err error) {
		c, err := store.Use(t, k, size)
		if err != nil {
			return m, err
		}
		s.inUse = append(s.inUse, c)
		return c.Mount(), nil
	})
}

// Tell adds the bounds of the caches to what enforces each mechanism.
func (s *Set) Tell(enforced map[string]words.Text) {
	if len(s.tools) == 0 || enforced == nil {
		return
	}
	var list []string
	for _, t := range s.tools {
		list = append(list, t.Name+" at "+words.Quote(t.Path))
	}
	text := words.Textf("%s: %s after the run, and %s while it runs, as the keeper counts",
		strings.Join(list, ", "), s.most(), cache.Growth*s.most())
	if s.level != "" {
		text += words.Textf("; apart from those of runs without what this one is trusted with (%s), since there is no "+
			"--cache-key", s.level)
	}
	enforced["cache"] = text
}

// Release ends the use of the caches, and returns what has become of them. say prints what the caller should know.
func (s *Set) Release(say func(format string, args ...any)) (list []cache.Report) {
	for _, c := range s.inUse {
		r, err := c.Release()
		switch name := "the cache " + r.Name; {
		case err != nil:
			say("%s: %s; brig gc --caches removes it", name, words.Printable(err.Error()))
		case r.Removed.All:
			say("%s could not be counted, and is empty now", name)
		case r.Removed.Files > 0:
			say("%s: removed what was not used for longest, %s in %s (--cache-size)", name, words.Size(r.Removed.Bytes),
				words.Plural(int(r.Removed.Files), "file"))
		}
		list = append(list, r)
	}
	s.inUse = nil
	return list
}
