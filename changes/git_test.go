package changes

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"
)

const (
	commitID = "0123456789abcdef0123456789abcdef01234567"
	noFiles  = "DIRC\x00\x00\x00\x02\x00\x00\x00\x0001234567890123456789" // an index, and the same in version 3
	noFiles3 = "DIRC\x00\x00\x00\x03\x00\x00\x00\x0001234567890123456789"
)

// repository is what git has in a directory.
func repository(dir string, more ...files) files {
	list := files{dir + "HEAD": "ref: refs/heads/main\n", dir + "refs/heads/main": commitID + "\n", dir + "objects/pack/": "0755",
		dir + "config": "[core]\n", dir + "hooks/sample": "s\n", dir + "index": "0640:" + noFiles}
	for _, m := range more {
		maps.Copy(list, m)
	}
	return list
}

// TestApplyToGit: only data comes to a git directory, as regular files, without what would make git execute something
// or write elsewhere.
func TestApplyToGit(t *testing.T) {
	link := "->../../target"
	for name, c := range map[string]struct {
		base, upper files
		options     ApplyOptions
		stayed      string            // "DIR: NAME,NAME;"
		want        map[string]string // what changes; "" is gone
	}{
		"data": {repository(".git/"), files{".git/COMMIT_EDITMSG": "0777:x", ".git/refs/heads/a/b": commitID, ".git/objects/ab/c": "0444:o", ".git/index": "0777:" + noFiles3, ".git/index.lock": ""}, ApplyOptions{}, "",
			map[string]string{".git/COMMIT_EDITMSG": "0644:x", ".git/refs/heads/a/": "0755", ".git/refs/heads/a/b": "0644:" + commitID, ".git/objects/ab/": "0755", ".git/objects/ab/c": "0444:o", ".git/index": "0640:" + noFiles3}},
		"links": {repository(".git/"), files{".git/COMMIT_EDITMSG": link, ".git/FETCH_HEAD": link, ".git/logs": link, ".git/refs/heads/main": link, ".git/objects/info": link}, ApplyOptions{Force: true},
			".git: COMMIT_EDITMSG,FETCH_HEAD,logs,objects/info,refs/heads/main;", nil},
		"named links": {repository(".git/"), files{".git/COMMIT_EDITMSG": link, ".git/hooks/x": link}, ApplyOptions{Paths: []string{".git/COMMIT_EDITMSG", ".git/hooks/x"}, Named: true, Allow: []string{".git"}},
			".git: COMMIT_EDITMSG,hooks/x;", nil},
		"executed": {repository(".git/"), files{".git/hooks/pre-commit": "0755:x", ".git/config": "x", ".git/config.worktree": "x", ".git/info/attributes": "x", ".git/objects/info/alternates": "/x", ".git/commondir": "x", ".git/rebase-merge/git-rebase-todo": "x x", ".git/modules/m/config": "x", ".git/worktrees/w/HEAD": "x"}, ApplyOptions{},
			".git: commondir,config,config.worktree,hooks/pre-commit,info/attributes,modules/m,objects/info/alternates,rebase-merge,worktrees/w;", nil},
		"modes": {repository(".git/"), files{".git/": "0777", ".git/hooks/": "0777", ".git/config": "0777:[core]\n", ".git/refs/": "0777"}, ApplyOptions{}, "", nil},
		"texts": {repository(".git/"), files{".git/HEAD": "ref: config\n", ".git/ORIG_HEAD": "ref: ../x\n", ".git/refs/heads/x": "ref: hooks/x"}, ApplyOptions{},
			".git: HEAD (it is a reference to what is none),ORIG_HEAD (it is a reference to what is none),refs/heads/x (it is a reference to what is none);", nil},
		"case": {repository(".git/"), files{".GIT/hooks/x": "x", ".git/Hooks/x": "x", ".git/COMMIT_EDITMSg": "x"}, ApplyOptions{}, ".GIT: hooks/x;.git: COMMIT_EDITMSg,Hooks/x;", map[string]string{".GIT/": "0755"}},
		"a known module": {repository(".git/", repository(".git/modules/m/")), files{".git/modules/m/refs/heads/x": commitID, ".git/modules/m/config": "x", ".git/modules/n/HEAD": "x"}, ApplyOptions{},
			".git: modules/m/config,modules/n;", map[string]string{".git/modules/m/refs/heads/x": "0644:" + commitID}},
		"nested":                {repository("a/b/.git/"), files{"a/b/.git/hooks/x": "x", "a/b/.git/MERGE_MSG": "m", "a/b/hooks/x": "x"}, ApplyOptions{}, "a/b/.git: hooks/x;", map[string]string{"a/b/.git/MERGE_MSG": "0644:m", "a/b/hooks/": "0755", "a/b/hooks/x": "0644:x"}},
		"bare":                  {repository("x.git/"), files{"x.git/hooks/x": "x", "x.git/MERGE_MSG": "m"}, ApplyOptions{}, "x.git: hooks/x;", map[string]string{"x.git/MERGE_MSG": "0644:m"}},
		"tree in a bare":        {repository("p/", files{"p/wt/.git": "gitdir: ../worktrees/wt\n", "p/wt/config": "mine\n"}), files{"p/wt/config": "new", "p/wt/.git": "gitdir: ../evil", "p/evil": "x"}, ApplyOptions{}, "p: evil;p/wt/.git: (file);", map[string]string{"p/wt/config": "0644:new"}},
		"an index that is none": {repository(".git/"), files{".git/index": "DIRC"}, ApplyOptions{}, ".git: index (it is no index);", nil},
		"a new one":             {files{}, repository("n/.git/"), ApplyOptions{}, "n/.git: config,hooks/sample;", map[string]string{"n/": "0755", "n/.git/": "0755", "n/.git/HEAD": "0644:ref: refs/heads/main\n", "n/.git/refs/": "0755", "n/.git/refs/heads/": "0755", "n/.git/refs/heads/main": "0644:" + commitID + "\n", "n/.git/objects/": "0755", "n/.git/objects/pack/": "0755", "n/.git/index": "0640:" + noFiles}},
		"a new bare one":        {files{"n/a": "a"}, repository("n/", files{"n/a": "b"}), ApplyOptions{}, "n: a,config,hooks/sample;", map[string]string{"n/HEAD": "0644:ref: refs/heads/main\n", "n/refs/": "0755", "n/refs/heads/": "0755", "n/refs/heads/main": "0644:" + commitID + "\n", "n/objects/": "0755", "n/objects/pack/": "0755", "n/index": "0640:" + noFiles}},
		"half of one":           {files{"refs/": "0755", "objects/": "0755", "config": "[x]"}, files{"HEAD": "ref: refs/heads/x\n", "config": "evil"}, ApplyOptions{}, ".: HEAD,config;", nil},
		"the rest of one":       {files{"n/hooks/x": "x", "n/HEAD": "ref: refs/heads/x\n"}, files{"n/refs/heads/x": commitID, "n/objects/o": "o"}, ApplyOptions{}, "n: objects,objects/o,refs,refs/heads,refs/heads/x;", nil},
		"of the host":           {repository("n/"), files{"n/COMMIT_EDITMSG": "x"}, ApplyOptions{}, "", map[string]string{"n/COMMIT_EDITMSG": "0644:x"}},
		"a commondir":           {files{}, files{"n/HEAD": "ref: refs/heads/x\n", "n/commondir": "../m", "m/config": "x"}, ApplyOptions{}, "n: commondir;", map[string]string{"n/": "0755", "n/HEAD": "0644:ref: refs/heads/x\n", "m/": "0755", "m/config": "0644:x"}},
		"files named .git":      {files{"s/.git": "gitdir: x\n"}, files{"s/.git": "gitdir: ../evil\n", "t/.git": "gitdir: ../evil\n", "u/.git": link}, ApplyOptions{Force: true}, "s/.git: (file);t/.git: (file);u/.git: (symbolic link);", map[string]string{"t/": "0755", "u/": "0755"}},
		"a link to replace":     {repository(".git/", files{".git/MERGE_MSG": "->../x"}), files{".git/MERGE_MSG": "m"}, ApplyOptions{Force: true}, ".git: MERGE_MSG;", nil},
		"named":                 {repository(".git/"), files{".git/hooks/x": "0755:x", ".git/config": "x", "a": "a"}, ApplyOptions{Paths: []string{".git/hooks/x", "a"}, Named: true}, "", map[string]string{".git/hooks/x": "0755:x", "a": "0644:a"}},
		"named as a whole":      {repository(".git/"), files{".git/hooks/x": "0755:x"}, ApplyOptions{Paths: []string{".git"}, Named: true}, ".git: hooks/x;", nil},
		"not by name":           {repository(".git/"), files{".git/hooks/x": "0755:x"}, ApplyOptions{Paths: []string{".git/hooks/x"}}, ".git: hooks/x;", nil},
		"forced":                {repository(".git/"), files{".git/new/x": "x", "a": "a"}, ApplyOptions{Allow: []string{".git"}}, "", map[string]string{".git/new/": "0755", ".git/new/x": "0644:x", "a": "0644:a"}},
		"a file .git named":     {files{"s/.git": "gitdir: x\n"}, files{"s/.git": "gitdir: y\n"}, ApplyOptions{Paths: []string{"s/.git"}, Named: true}, "", map[string]string{"s/.git": "0644:gitdir: y\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.base, c.upper)
			before := snapshot(t, w.base)
			set := w.capture()
			shown := ""
			if set != nil {
				done := must.Get(set.Apply(&c.options))(t)
				for _, s := range done.Stayed {
					shown += string(s.Dir) + ": " + strings.Join(convert[string](s.Names), ",") + ";"
				}
				if rest := shown != "" || len(c.options.Paths) > 0 && len(c.upper) > 2; done.Removed == rest {
					t.Errorf("removed: %v", done.Removed)
				}
			}
			if shown != c.stayed {
				t.Errorf("%q stayed, want %q", shown, c.stayed)
			}
			for name, text := range c.want {
				if before[name] = text; text == "" {
					delete(before, name)
				}
			}
			equal(t, snapshot(t, w.base), before)
		})
	}
}

// TestApplyRemovesFromGit: data goes, HEAD, refs and objects stay, and a git directory goes with its work tree alone.
func TestApplyRemovesFromGit(t *testing.T) {
	for name, c := range map[string]struct {
		upper  files
		stayed []string
		gone   []string // what the directory has not any more; all else stays
	}{
		"data":         {files{"r/.git/index": "!", "r/.git/refs/heads/main": "!", "r/.git/objects/o": "!"}, nil, []string{"r/.git/index", "r/.git/refs/heads/main", "r/.git/objects/o"}},
		"what is kept": {files{"r/.git/HEAD": "!", "r/.git/refs": "!", "r/.git/hooks": "!"}, []string{"HEAD (removed)", "hooks (removed)", "hooks/sample (removed)", "refs (removed)"}, []string{"r/.git/refs/heads/main", "r/.git/refs/heads/"}},
		"all of it":    {files{"r/.git": "!"}, []string{"(removed)", "HEAD (removed)"}, nil},
		"the tree":     {files{"r": "!"}, nil, []string{"r/"}},
		"a new tree":   {files{"r/": "opaque", "r/x": "x"}, []string{"(removed)", "HEAD (removed)"}, []string{"r/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, repository("r/.git/", files{"r/.git/objects/o": "o", "r/a": "a", "b": "b"}), c.upper)
			before := snapshot(t, w.base)
			set := w.capture()
			done := must.Get(set.Apply(&ApplyOptions{}))(t)
			var names []string
			for _, s := range done.Stayed {
				names = append(names, convert[string](s.Names)...)
			}
			for _, want := range c.stayed {
				if !slices.Contains(names, want) {
					t.Errorf("%q is missing in %q", want, names)
				}
			}
			if len(c.stayed) == 0 && len(names) > 0 {
				t.Errorf("%q stayed", names)
			}
			after := snapshot(t, w.base)
			for name := range before {
				gone := slices.ContainsFunc(c.gone, func(g string) bool { return name == g || strings.HasSuffix(g, "/") && strings.HasPrefix(name, g) })
				if _, there := after[name]; there == gone {
					t.Errorf("%q is there: %v", name, there)
				}
			}
		})
	}
}

// TestApplyInGit: the directory of the set is a git directory, or is in one.
func TestApplyInGit(t *testing.T) {
	for _, c := range []struct {
		dir   string
		upper files
		stays bool
	}{
		{"/r/.git", files{"hooks/x": "x"}, true}, {"/r/.git/hooks", files{"x": "x"}, true}, {"/r/.git/refs/heads", files{"x": commitID}, false},
		{"/r/.git/refs", files{"heads/x": "->../../a"}, true}, {"/r/.git/modules/m", files{"MERGE_MSG": "x"}, false}, {"/r/.git/modules/m", files{"config": "x"}, true},
		{"/r/sub", files{"config": "x"}, false}, {"/r", files{"config": "x"}, false},
	} {
		w := newWorld(t, repository("r/.git/", repository("r/.git/modules/m/"), files{"r/sub/a": "a"}), files{})
		c.upper.make(t, w.upper)
		w.base += c.dir
		done := must.Get(w.capture().Apply(&ApplyOptions{}))(t)
		if len(done.Stayed) > 0 != c.stays || done.Removed == c.stays {
			t.Errorf("%s: %q: %+v", c.dir, c.upper, done)
		}
	}
}
