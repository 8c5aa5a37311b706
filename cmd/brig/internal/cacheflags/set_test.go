package cacheflags

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/cache"
	"brig/internal/cli"
	"brig/internal/test/must"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// given returns the Set that flags make, and their mounts. A word without an = is a --cache.
func given(t *testing.T, flags ...string) (s *Set, mounts []nsjail.Mount, err error) {
	t.Helper()
	s = &Set{}
	table := s.Flags(func(m nsjail.Mount) { mounts = append(mounts, m) })
	for _, f := range flags {
		name, value, ok := strings.Cut(f, "=")
		if !ok {
			name, value = "cache", f
		}
		i := slices.IndexFunc(table, func(f cli.Flag) bool { return f.Name == name })
		if err := table[i].Set([]string{value}); err != nil {
			return s, mounts, err
		}
	}
	return s, mounts, nil
}

// TestFlags: what each flag takes, and what it refuses.
func TestFlags(t *testing.T) {
	for _, tt := range []struct{ flags, mounts, err string }{
		{"", "", ""},
		{"go npm", "/home/brig/.cache/go /home/brig/.npm", ""},
		{"npm x:/x cache-key=a/b cache-size=1m", "/home/brig/.npm /x", ""},
		{"make", "", "is not a tool"},
		{"go go", "", "go has a cache already"},
		{"x:/a x:/b", "", "x has a cache already"},
		{"x:a", "", "is not a path"},
		{"go cache-key=" + strings.Repeat("k", 129), "", "128 printable bytes"},
		{"go cache-key=\x1b[m", "", "128 printable bytes"},
		{"go cache-key=", "", "my-repository"},
		{"go cache-size=1023k", "", "holds no cache; write 1m or more"},
		{"go cache-size=-1", "", "-1"},
	} {
		_, mounts, err := given(t, strings.Fields(tt.flags)...)
		var targets []string
		for _, m := range mounts {
			targets = append(targets, m.Target)
		}
		switch {
		case tt.err == "" && (err != nil || strings.Join(targets, " ") != tt.mounts):
			t.Errorf("%q: %q, %v", tt.flags, targets, err)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%q: %v", tt.flags, err)
		}
	}
}

// TestFinish: which variables a jail has, and which flags have no effect.
func TestFinish(t *testing.T) {
	t.Setenv("CCACHE_DIR", "/of/the/caller")
	for _, tt := range []struct {
		flags string
		jail  spec.Spec
		env   string // the whole of it
		err   string
	}{
		{"", spec.Spec{}, "", ""},
		{"go", spec.Spec{}, "GOCACHE=/home/brig/.cache/go/build GOMODCACHE=/home/brig/.cache/go/mod", ""},
		{"npm pip", spec.Spec{}, "npm_config_cache=/home/brig/.npm PIP_CACHE_DIR=/home/brig/.cache/pip", ""},
		{"cargo", spec.Spec{}, "CARGO_HOME=/home/brig/.cargo", ""},
		{"maven", spec.Spec{Env: []string{"MAVEN_OPTS=-Xmx1g"}},
			"MAVEN_OPTS=-Xmx1g MAVEN_ARGS=-Dmaven.repo.local=/home/brig/.m2/repository", ""},
		{"ccache", spec.Spec{}, "CCACHE_DIR=/home/brig/.cache/ccache CCACHE_MAXSIZE=4096Mi", ""},
		{"ccache cache-size=300m", spec.Spec{PassEnv: []string{"CC*_DIR"}}, "CCACHE_MAXSIZE=300Mi", ""},
		{"own:/x", spec.Spec{}, "", ""},
		{"cache-key=a", spec.Spec{}, "", "--cache-key: there is no cache"},
		{"cache-size=1g", spec.Spec{}, "", "--cache-size: there is no cache"},
		{"go", spec.Spec{Tier: spec.TierProcess}, "", "use --bind DIR"},
	} {
		s, _, err := given(t, strings.Fields(tt.flags)...)
		must.Do(t, err)
		err = s.Finish(&tt.jail)
		if tt.err == "" && (err != nil || strings.Join(tt.jail.Env, " ") != tt.env) {
			t.Errorf("%q: %q, %v", tt.flags, tt.jail.Env, err)
		}
		if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%q: %v", tt.flags, err)
		}
	}
}

// TestKey: what the caches of a run belong to, by its root, its powers and its flags.
func TestKey(t *testing.T) {
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	must.Do(t, os.Mkdir(dir+"/v1", 0o755))
	must.Do(t, os.Symlink("v1", dir+"/current"))
	root := func(path, image string) spec.Rootfs { return spec.Rootfs{Path: path, Image: image} }
	for _, tt := range []struct {
		flags string
		jail  spec.Spec
		want  cache.Key
	}{
		{"go", spec.Spec{}, cache.Key{Root: "host"}},
		{"go", spec.Spec{Rootfs: root("/store/x", "python:3@sha256:ab")}, cache.Key{Root: "image:sha256:ab"}},
		{"go", spec.Spec{Rootfs: root("/store/x", "python:3")}, cache.Key{Root: "image:python:3"}},
		{"go", spec.Spec{Rootfs: root(dir+"/v1", "")}, cache.Key{Root: "rootfs:" + dir + "/v1"}},
		{"go", spec.Spec{Rootfs: root(dir+"/current", "")}, cache.Key{Root: "rootfs:" + dir + "/v1"}},
		{"go", spec.Spec{Rootfs: root(dir+"/none/", "")}, cache.Key{Root: "rootfs:" + dir + "/none"}},
		{"go", spec.Spec{Net: spec.NetHost}, cache.Key{Root: "host", Level: "the network of the host"}},
		{"npm", spec.Spec{}, cache.Key{Root: "host"}}, // npm_config_cache is no secret
		{"go cache-key=k", spec.Spec{}, cache.Key{Root: "host", Label: "k"}},
		{"go cache-key=k", spec.Spec{Net: spec.NetHost}, cache.Key{Root: "host", Label: "k"}},
	} {
		s, mounts, err := given(t, strings.Fields(tt.flags)...)
		tt.jail.Mounts = mounts
		must.Do(t, err)
		must.Do(t, s.Finish(&tt.jail))
		if got, err := s.key(&tt.jail); got != tt.want || err != nil {
			t.Errorf("%q %+v: %+v, %v", tt.flags, tt.jail.Rootfs, got, err)
		}
	}
}

// TestTell: what the report tells of a run with other powers.
func TestTell(t *testing.T) {
	for _, tt := range []struct {
		flags, env, want string
	}{
		{"npm", "CI=1", ""},
		{"npm", "NPM_TOKEN=x", "trusted with (credentials in variables)"},
		{"npm cache-key=k", "NPM_TOKEN=x", ""},
	} {
		s, _, err := given(t, strings.Fields(tt.flags)...)
		must.Do(t, err)
		must.Do(t, s.Finish(&spec.Spec{Env: []string{tt.env}}))
		enforced := map[string]words.Text{}
		s.Tell(enforced)
		got := enforced["cache"].String()
		if !strings.HasPrefix(got, `npm at "/home/brig/.npm": 4g after the run, and 8g`) ||
			!strings.Contains(got, tt.want) || strings.Contains(got, "trusted") != (tt.want != "") {
			t.Errorf("%s %s: %s", tt.flags, tt.env, got)
		}
	}
}
