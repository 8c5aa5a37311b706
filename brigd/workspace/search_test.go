package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brig/internal/test/must"
)

// hostileTree makes files of all types, some of which are not what they seem.
func hostileTree(t *testing.T, tree *Tree, at string) {
	t.Helper()
	for _, f := range []string{"a.go", "b.txt", "src/a.go", "src/x/y/c.go", "src/.hidden/d.go", "/output/o.go", "/input/i.go"} {
		put(t, tree, f, "package "+f+"\n\tneedle\n")
	}
	work := at + "/work/"
	must.Do(t, os.Symlink("/etc", work+"etc"))
	must.Do(t, os.Symlink("src", work+"loop.go"))
	must.Do(t, os.Symlink("../..", work+"src/up"))
	must.Do(t, os.Symlink("/etc/passwd", work+"passwd.go"))
	must.Do(t, unix.Mkfifo(work+"fifo.go", 0o666))
	put(t, tree, "sparse.go", "needle\n")
	must.Do(t, os.Truncate(work+"sparse.go", 1<<42))
}

func TestGlob(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		hostileTree(t, tree, at)
		must.Do(t, os.WriteFile(at+"/.put-x.go", nil, 0o600)) // as Put has it meanwhile
		defer os.Remove(at + "/.put-x.go")
		s := newSearch(tree)
		for _, c := range []struct{ pattern, path, want, code string }{
			{"*.go", "", "a.go fifo.go loop.go passwd.go sparse.go", ""},
			{"**/*.go", "src", "src/.hidden/d.go src/a.go src/x/y/c.go", ""},
			{"**/*.go", "/", "/input/i.go /output/o.go a.go fifo.go loop.go passwd.go sparse.go src/.hidden/d.go src/a.go src/x/y/c.go", ""},
			{"/**/[io].go", "", "/input/i.go /output/o.go", ""}, {"/work/*/*.go", "", "src/a.go", ""}, {"/*", "", "/input /output /work", ""},
			{"src/{a,x/y/c}.go", "", "src/a.go src/x/y/c.go", ""}, {"etc/*", "", "", ""}, {"etc", "", "etc", ""},
			{"loop.go/*", "", "", ""}, {"src/up/**", "", "", ""}, {"none/**", "", "", ""}, {"**/passwd", "", "", ""},
			{"*", "etc", "", CodeSymlink}, {"*", "none", "", CodeNotFound}, {"*", "a.go", "", CodeNotDir}, {"*", "fifo.go", "", CodeNotDir},
			{"*", "../x", "", CodeBadPath}, {"*", "/etc", "", CodeOutside}, {"", "", "", CodeBadPattern}, {"../*", "", "", CodeBadPattern},
			{"[a", "", "", CodeBadPattern}, {"/*", "/work", "", CodeBadPattern},
		} {
			list, more, err := s.Glob(t.Context(), c.pattern, c.path, 0)
			wantCode(t, c.pattern+" in "+c.path, err, c.code)
			got := strings.ReplaceAll(strings.Join(paths(list), " "), "/work/", "")
			if got != c.want || more {
				t.Errorf("%s in %s: %s, %v", c.pattern, c.path, got, more)
			}
		}
		if list, more, err := s.Glob(t.Context(), "**", "", 3); err != nil || !more || len(list) != 3 {
			t.Errorf("%q, %v, %v", paths(list), more, err)
		}
	})
}

func TestGrep(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		hostileTree(t, tree, at)
		put(t, tree, "latin1", "caf\xe9 needle\x1b[31m\n")
		put(t, tree, "long", strings.Repeat("x", 100<<10)+"needle\n")
		put(t, tree, "deny/f", "needle\n")
		must.Do(t, os.Chmod(at+"/work/deny/f", 0))
		s := newSearch(tree)
		for _, c := range []struct {
			Grep
			want, code string
		}{
			{Grep{Pattern: "needle", Path: "src"}, "src/.hidden/d.go:2:2 src/a.go:2:2 src/x/y/c.go:2:2", ""},
			{Grep{Pattern: "needle", Path: "src/a.go"}, "src/a.go:2:2", ""},
			{Grep{Pattern: "NEEDLE", Glob: "a.go", IgnoreCase: true}, "a.go:2:2 src/a.go:2:2", ""},
			{Grep{Pattern: "NEEDLE", Glob: "a.go"}, "", ""},
			{Grep{Pattern: "needle", Glob: "src/*.go"}, "src/a.go:2:2", ""},
			{Grep{Pattern: "needle", Glob: "[io].go", Path: "/"}, "/input/i.go:2:2 /output/o.go:2:2", ""},
			{Grep{Pattern: "^package b", Glob: "*.{txt,md}"}, "b.txt:1:1", ""},
			{Grep{Pattern: "root:", Path: "/"}, "", ""},
			{Grep{Pattern: "needle", Glob: "sparse.go"}, "", ""},
			{Grep{Pattern: "needle", Glob: "latin1"}, "latin1:1:6", ""},
			{Grep{Pattern: "needle", Path: "etc"}, "", CodeNotDir}, {Grep{Pattern: "needle", Path: "passwd.go"}, "", CodeSymlink},
			{Grep{Pattern: "needle", Path: "fifo.go"}, "", CodeNotRegular}, {Grep{Pattern: "needle", Path: "none"}, "", CodeNotFound},
			{Grep{Pattern: "needle", Path: "/etc"}, "", CodeOutside}, {Grep{Pattern: "needle", Path: "a.go/"}, "", CodeNotDir},
			{Grep{Pattern: "("}, "", CodeBadPattern}, {Grep{Pattern: "x", Glob: "/a"}, "", CodeBadPattern},
			{Grep{Pattern: "x", Glob: "../a"}, "", CodeBadPattern},
		} {
			if c.Path == "etc" {
				c.code = CodeSymlink
			}
			found, err := s.Grep(t.Context(), &c.Grep)
			wantCode(t, fmt.Sprintf("%+v", c.Grep), err, c.code)
			if err != nil {
				continue
			}
			var got []string
			for _, l := range found.Lines {
				got = append(got, fmt.Sprintf("%s:%d:%d", strings.TrimPrefix(l.Path, "/work/"), l.Line, l.Column))
			}
			if slices.Sort(got); strings.Join(got, " ") != c.want {
				t.Errorf("%+v: %s, not %s", c.Grep, got, c.want)
			}
		}
		found, err := s.Grep(t.Context(), &Grep{Pattern: "needle"})
		denied := int64(1)
		if os.Getuid() == 0 {
			denied = 0
		}
		if err != nil || found.Binary != 1 || found.Long != 1 || found.Skipped != denied || found.More != (denied > 0) {
			t.Errorf("%+v, %v", found, err)
		}
		if i := slices.IndexFunc(found.Lines, func(l Line) bool { return l.Path == "/work/latin1" }); i < 0 ||
			found.Lines[i].Text != "caf\\xe9 needle\x1b[31m" {
			t.Errorf("%+v", found.Lines)
		}
		if found, err = s.Grep(t.Context(), &Grep{Pattern: "needle", Max: 2}); err != nil || len(found.Lines) != 2 || !found.More {
			t.Errorf("%+v, %v", found, err)
		}
	})
}

// Each name that a file may have is found, and told so that it can be used.
func TestSearchNames(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, _ string) {
		for _, name := range hostile {
			put(t, tree, name+"/"+name, "needle")
		}
		s := newSearch(tree)
		list, more, err := s.Glob(t.Context(), "*/*", "", 0)
		if err != nil || more || len(list) != len(hostile) {
			t.Errorf("%d of %d, %v, %v", len(list), len(hostile), more, err)
		}
		found := must.Get(s.Grep(t.Context(), &Grep{Pattern: "needle"}))(t)
		if len(found.Lines) != len(hostile) || found.More {
			t.Errorf("%d of %d, %v", len(found.Lines), len(hostile), found.More)
		}
		for _, l := range found.Lines {
			raw := l.Path
			if l.RawPath != nil {
				raw = string(l.RawPath)
			}
			if read(t, tree, raw) != "needle" {
				t.Errorf("%q", raw)
			}
		}
	})
}

// A search is bounded in entries, time, depth and memory, tells that, and keeps no descriptor.
func TestSearchBounds(t *testing.T) {
	v, around := newDirIn(t, inMemory(t))
	tree := newTree(v)
	s := newSearch(tree)
	before := openFiles(t)
	for i := range 300 {
		dir := filepath.Join(around, "volume/work/wide", strconv.Itoa(i))
		must.Do(t, os.MkdirAll(dir, 0o755))
		must.Do(t, os.WriteFile(dir+"/f", []byte("needle\n"), 0o644))
	}
	deepen(t, filepath.Join(around, "volume/work"), 300)
	list, more, err := s.Glob(t.Context(), "**/d", "", 0)
	if err != nil || !more || len(list) != maxDepth+1 {
		t.Errorf("%d, %v, %v", len(list), more, err)
	}
	tree.visits = 400
	if list, more, err = s.Glob(t.Context(), "wide/**/f", "", 0); err != nil || !more || len(list) == 0 || len(list) > 100 {
		t.Errorf("%d, %v, %v", len(list), more, err)
	}
	found, err := s.Grep(t.Context(), &Grep{Pattern: "needle", Path: "wide"})
	if err != nil || !found.More || len(found.Lines) == 0 || len(found.Lines) > 100 {
		t.Errorf("%d, %v, %v", len(found.Lines), found.More, err)
	}
	tree.visits, tree.time = maxVisits, -time.Second
	if found, err = s.Grep(t.Context(), &Grep{Pattern: "needle"}); err != nil || !found.More || len(found.Lines) > 1 {
		t.Errorf("without time: %+v, %v", found, err)
	}
	tree.time = maxTime
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Grep(ctx, &Grep{Pattern: "needle"}); err == nil {
		t.Error("a search goes on whose caller has gone")
	}
	for range 50 {
		if _, _, err := s.Glob(ctx, "**", "", 0); !errors.Is(err, context.Canceled) {
			t.Fatalf("a search goes on whose caller has gone: %v", err)
		}
	}
	s.busy <- struct{}{} // another search
	if _, _, err := s.Glob(ctx, "**", "", 0); err == nil {
		t.Error("two searches at the same time")
	}
	<-s.busy
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors, were %d", after, before)
	}
	tree.Close()
	_, err = s.Grep(t.Context(), &Grep{Pattern: "needle"})
	wantCode(t, "after the end", err, CodeNotFound)
}

// What one search reads is bounded, and so is what it returns.
func TestGrepBytes(t *testing.T) {
	v := newReal(t, 400<<20, 1000)
	tree := newTree(v)
	s := newSearch(tree)
	line := strings.Repeat("x", 499) + "\n"
	text := strings.Repeat(line, 2000)
	for i := range 300 { // 1 MB each
		put(t, tree, strconv.Itoa(i), text)
	}
	found := must.Get(s.Grep(t.Context(), &Grep{Pattern: "y"}))(t)
	if !found.More || found.Files > MaxGrep/int64(len(text))+1 || found.Files < 10 {
		t.Errorf("%+v", found)
	}
	found = must.Get(s.Grep(t.Context(), &Grep{Pattern: "x"}))(t)
	if size := len(found.Lines) * len(line); !found.More || size > maxGrepText+1000 || size < maxGrepText/2 {
		t.Errorf("%d lines of %d files", len(found.Lines), found.Files)
	}
}
