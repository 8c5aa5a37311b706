package cache

import (
	"slices"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	for text, want := range map[string]string{ // the path, or a part of the error
		"go": "/home/brig/.cache/go", "maven": "/home/brig/.m2/repository", "x:/a/b": "/a/b", "A.b-c_9:/x": "/x",
		"gone": "go, npm, pip, cargo, maven or ccache", "": "NAME:/path", "go:/x": "leave the path out",
		":/x": "is not a name", "../x:/y": "is not a name", "-x:/y": "is not a name", "a/b:/y": "is not a name",
		"x\n:/y": "is not a name", strings.Repeat("x", 33) + ":/y": "is not a name", "x:y": "is not a path",
		"x:/": "is not a path", "x:/a/../b": "is not a path", "x:": "is not a path",
	} {
		tool, err := Find(text)
		if err == nil && tool.Path != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v", text, tool.Path, err)
		}
	}
}

// TestVariables: what the caller has set stays.
func TestVariables(t *testing.T) {
	tool, err := Find("go")
	got := tool.Variables(func(name string) bool { return name == "GOCACHE" }, DefaultSize)
	if want := []string{"GOMODCACHE=/home/brig/.cache/go/mod"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestWhole: which directories are removed as a whole.
func TestWhole(t *testing.T) {
	for tool, list := range map[string]map[string]bool{
		"go": {"build/00": false, "build": false, "mod/github.com/x/y@v1.0.0": true, "mod/x@v1": true, "mod": false,
			"mod/cache/vcs/abc": true, "mod/cache/download/x/@v": true, "mod/github.com/x": false, "build/a@b": false},
		"cargo": {"registry/src/index-1/serde-1.0": true, "registry/src/index-1": false, "git/db/x-1": true, "bin": false},
		"pip":   {"http": false}, "own:/x": {"a": true, "a/b": false},
	} {
		row, err := Find(tool)
		if err != nil {
			t.Fatal(err)
		}
		for rel, want := range list {
			if row.whole(rel) != want {
				t.Errorf("%s: %s is whole: %v", tool, rel, !want)
			}
		}
	}
}

// TestKeys: runs that differ in anything have two caches.
func TestKeys(t *testing.T) {
	seen := map[string]bool{}
	for _, tool := range []string{"go", "npm", "own:/x"} {
		row, err := Find(tool)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []Key{{Root: HostRoot}, {Root: "image:sha256:1"}, {Root: "image:sha256:2"},
			{Root: HostRoot, Label: "a"}, {Root: HostRoot, Label: "b"}, {Root: "image:sha256:1", Label: "a"},
			{Root: HostRoot, Level: "a"}, {Root: HostRoot, Label: "a", Level: "a"}, {Root: "rootfs:/a"}, {Root: "rootfs:/b"}} {
			name := dirName(row, k)
			if seen[name] || strings.ContainsAny(name, "/") || !strings.HasPrefix(name, row.Name+"-") {
				t.Errorf("%s %v: %q", tool, k, name)
			}
			seen[name] = true
		}
	}
}
