package glob

import (
	"path"
	"strings"
	"testing"
	"time"
)

func match(p *Pattern, file string) (matches, enters bool) {
	s := p.Start()
	for name := range strings.SplitSeq(file, "/") {
		s = p.Step(s, name)
	}
	return p.Matches(s), p.Enters(s)
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern     string
		yes, no     string // paths, with blanks between them
		into, avoid string // directories that are entered, or not
	}{
		{"*.go", "a.go .go", "a.py d/a.go go", "", "d"},
		{"d/*.go", "d/a.go", "a.go d/e/a.go e/a.go", "d", "e d/e"},
		{"**/*.go", "a.go d/a.go d/e/f/a.go", "a.py d", "d d/e a.go", ""},
		{"**", "a d/a d/e/a", "", "a d d/e", ""},
		{"d/**", "d/a d/e/f", "d a", "d d/e", "a"},
		{"d/**/f", "d/f d/e/f d/e/e/f", "f e/f d", "d d/e", "e"},
		{"**/d/**/f", "d/f a/d/f a/d/b/f d/d/f", "f a/f", "a a/b", ""},
		{"a/**/**/b", "a/b a/x/b", "b", "a a/x", "b"},
		{"a**b/c", "ab/c axxb/c", "a/b/c", "ab", "a"},
		{"?", "a é \xff", "ab", "", ""},
		{"[a-c]*", "ab c", "d", "", ""},
		{"*.{js,ts}", "a.js a.ts", "a.js,ts a.go", "", ""},
		{"{a,b/{c,d}}/f", "a/f b/c/f b/d/f", "b/f a/c/f", "a b b/c", "c"},
		{"{a,}b", "ab b", "{a,}b", "", ""},
		{`\{a,b\}`, "{a,b}", "a b", "", ""},
		{"{a", "{a", "a", "", ""},
		{"a}", "a}", "a", "", ""},
		{"/./d//f/", "d/f", "d", "d", ""},
		{"a\nb", "a\nb", "ab", "", ""},
	} {
		p, err := Compile(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for list, want := range map[string]bool{c.yes: true, c.no: false} {
			for file := range strings.SplitSeq(list, " ") {
				if got, _ := match(p, file); got != want && file != "" {
					t.Errorf("%s with %q: %v", c.pattern, file, got)
				}
			}
		}
		for list, want := range map[string]bool{c.into: true, c.avoid: false} {
			for file := range strings.SplitSeq(list, " ") {
				if _, got := match(p, file); got != want && file != "" {
					t.Errorf("%s enters %q: %v", c.pattern, file, got)
				}
			}
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for pattern, want := range map[string]string{"": "empty", "/": "empty", ".": "empty", "[a": "bracket", `a\`: "backslash",
		"a/../b": `".."`, "{a,..}": `".."`, strings.Repeat("a/", 64): "63 names", strings.Repeat("x", 5000): "4096 bytes",
		strings.Repeat("{a,b}", 7):                             "64 patterns",
		strings.Repeat("{", 2000) + strings.Repeat("a,}", 600): "",
		strings.Repeat("{a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p}", 3): "64 patterns", "{a,}": "empty"} {
		if _, err := Compile(pattern); want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.40s: %v", pattern, err)
		}
	}
}

// A pattern that would make a backtracking matcher wait until the end of the world is answered at once.
func TestNoBacktracking(t *testing.T) {
	p, err := Compile(strings.Repeat("**/*a*/", 30) + "b")
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for range 100 {
		if got, _ := match(p, strings.TrimSuffix(strings.Repeat("aaaaaaaa/", 100), "/")); got {
			t.Fatal("it matches")
		}
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{"**/*.go", "{a,b{c,d}}/[x-z]?", `\*`} {
		f.Add(s, "a/b.go")
	}
	f.Fuzz(func(t *testing.T, pattern, file string) {
		p, err := Compile(pattern)
		if err != nil {
			return
		}
		got, _ := match(p, file)
		if !strings.ContainsAny(pattern+file, "/{}\\") && !strings.Contains(pattern, "**") && pattern != "." {
			if want, _ := path.Match(pattern, file); got != want {
				t.Errorf("%q with %q: %v", pattern, file, got)
			}
		}
	})
}
