package cache

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"brig/internal/words"
	"brig/nsjail/spec"
)

// Tool is a program with a cache.
type Tool struct {
	Name string
	Path string // where the jail has the cache

	env   []string // NAME=VALUE, in which $DIR is Path, and $MIB the size in MiB
	units []string // see whole
}

// tools returns the table of the tools. The paths are those where a tool looks by itself, as far as it has one place.
//
// What a tool takes for complete when its directory exists is removed as a whole, or not at all: the last field of a
// row has patterns for such directories, "*" for a name and "**" for any number of names before the last one.
func tools() []Tool {
	return []Tool{
		{"go", "/home/brig/.cache/go", []string{"GOCACHE=$DIR/build", "GOMODCACHE=$DIR/mod"},
			[]string{"mod/**/*@*", "mod/cache/vcs/*"}},
		{"npm", "/home/brig/.npm", []string{"npm_config_cache=$DIR"}, []string{"_npx/*"}},
		{"pip", "/home/brig/.cache/pip", []string{"PIP_CACHE_DIR=$DIR"}, nil},
		{"cargo", "/home/brig/.cargo", []string{"CARGO_HOME=$DIR"},
			[]string{"registry/src/*/*", "registry/index/*", "git/db/*", "git/checkouts/*"}},
		{"maven", "/home/brig/.m2/repository", // callers often set the first; from 3.9 on it reads the second
			[]string{"MAVEN_OPTS=-Dmaven.repo.local=$DIR", "MAVEN_ARGS=-Dmaven.repo.local=$DIR"}, nil},
		{"ccache", "/home/brig/.cache/ccache", []string{"CCACHE_DIR=$DIR", "CCACHE_MAXSIZE=$MIBMi"}, nil},
	}
}

// Names returns the names of the tools that Find knows.
func Names() (list []string) {
	for _, t := range tools() {
		list = append(list, t.Name)
	}
	return list
}

// Find returns a tool of the table by its name, or for "NAME:/path" one that the table does not have. Of its cache each
// entry of the top directory is removed as a whole.
func Find(text string) (Tool, error) {
	name, target, own := strings.Cut(text, ":")
	for _, t := range tools() {
		if t.Name == name && own {
			return Tool{}, fmt.Errorf("%s has a place already: %s; leave the path out, or take another name", name, t.Path)
		}
		if t.Name == name {
			return t, nil
		}
	}
	switch {
	case !own:
		return Tool{}, fmt.Errorf("%s is not a tool whose cache brig knows: %s; write NAME:/path for another one",
			words.Quote(name), words.Or(Names()))
	case !plain(name):
		return Tool{}, fmt.Errorf("%s is not a name for a cache; write up to 32 letters, digits, dots, dashes and "+
			"underscores, the first one a letter or a digit", words.Quote(name))
	case !path.IsAbs(target) || path.Clean(target) != target || target == "/":
		return Tool{}, fmt.Errorf("%s is not a path in the jail; write it as in NAME:/path", words.Quote(target))
	}
	return Tool{Name: name, Path: target, units: []string{"*"}}, nil
}

// plain reports whether a name can be a part of a file's name.
func plain(name string) bool {
	const others = "._-"
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (i == 0 || !strings.ContainsRune(others, r)) {
			return false
		}
	}
	return name != "" && len(name) <= 32
}

// Variables returns the variables by which the tool finds its cache, and knows the size that it may have after the run,
// NAME=VALUE, but for those that are set already.
func (t *Tool) Variables(set func(name string) bool, size spec.Bytes) (list []string) {
	value := strings.NewReplacer("$DIR", t.Path, "$MIB", strconv.FormatInt(int64(size>>20), 10))
	for _, v := range t.env {
		if name, text, _ := strings.Cut(v, "="); !set(name) {
			list = append(list, name+"="+value.Replace(text))
		}
	}
	return list
}

// has reports whether a variable is one of the tool's.
func (t *Tool) has(name string) bool {
	return slices.ContainsFunc(t.env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
}

// whole reports whether a directory of the cache is removed as a whole or not at all.
func (t *Tool) whole(rel string) bool {
	for _, p := range t.units {
		if fits(strings.Split(p, "/"), strings.Split(rel, "/")) {
			return true
		}
	}
	return false
}

// fits reports whether the names of a path fit the parts of a pattern.
func fits(pattern, names []string) bool {
	if len(pattern) == 0 || len(names) == 0 {
		return len(pattern) == len(names)
	}
	if pattern[0] == "**" {
		return fits(pattern[1:], names) || fits(pattern, names[1:])
	}
	before, after, star := strings.Cut(pattern[0], "*")
	inner, _, twice := strings.Cut(after, "*")
	ok := names[0] == pattern[0]
	if star && twice { // "*@*"
		ok = strings.Contains(names[0], inner)
	} else if star {
		ok = strings.HasPrefix(names[0], before) && strings.HasSuffix(names[0], inner)
	}
	return ok && fits(pattern[1:], names[1:])
}

// CheckLabel returns an error for a Key.Label that cannot be shown.
func CheckLabel(key string) error {
	if len(key) > 128 || words.Printable(key) != key {
		return errors.New("a key is up to 128 printable bytes: the name of a repository, or of a branch")
	}
	return nil
}
