package repository

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// shapes are repositories, each with the directory of it that is asked about, and what Find has to name: "dir:" a git
// directory, otherwise a path. All are relative to the parent directory of the repository r.
var shapes = map[string]struct{ script, dir, want string }{
	"plain":   {"git init -q r", "r", "dir:r/.git r/.git"},
	"bare":    {"git init -q --bare r", "r", "dir:r"},
	"inside":  {"git init -q r", "r/.git/objects", "dir:r/.git r/.git/hooks"},
	"below":   {"git init -q r; mkdir -p r/a/b", "r/a/b", "dir:r/.git r/a/b/.git"},
	"nested":  {"git init -q r; git init -q r/vendor/lib; git init -q --bare r/x/bare", "r", "dir:r/.git dir:r/vendor/lib/.git dir:r/x/bare"},
	"many":    {"mkdir r; git init -q r/a; git init -q r/b/c", "r", "dir:r/a/.git dir:r/b/c/.git"},
	"link":    {"git init -q --separate-git-dir=real r; rm r/.git; ln -s ../real r/.git", "r", "dir:real r/.git"},
	"gitfile": {"git init -q --separate-git-dir=real r", "r", "dir:real r/.git"},
	"linked worktree": {"git init -q r; git -C r commit -q --allow-empty -m x; git -C r worktree add -q ../wt; git -C r config core.hooksPath .githooks",
		"wt", "dir:r/.git dir:r/.git/worktrees/wt wt/.git wt/.githooks r/.githooks"},
	"worktree in the directory": {"git init -q r; git -C r commit -q --allow-empty -m x; git -C r worktree add -q .worktrees/f",
		"r", "dir:r/.git r/.worktrees/f/.git"},
	"beside a bare one": {"git init -q s; git -C s commit -q --allow-empty -m x; mkdir r; git clone -q --bare s r/.bare; git -C r/.bare worktree add -q ../main; git -C r/.bare config core.hooksPath hooks.d",
		"r", "dir:r/.bare r/main/.git r/main/hooks.d"},
	"hooks below":        {"git init -q r; mkdir r/tools; git -C r config core.hooksPath tools/hooks", "r/tools", "r/tools/hooks"},
	"husky":              {"git init -q r; git -C r config core.hooksPath .husky/_", "r", "r/.husky"},
	"quotes":             {`git init -q r; printf '[Core] HooksPath = "a""b" # c\n' >>r/.git/config`, "r", "r/ab"},
	"continued":          {`git init -q r; printf '[core]\n\thooksPath = a\\\n/b\n' >>r/.git/config`, "r", "r/a/b"},
	"large":              {`git init -q r; seq -f '[branch "b%g"] merge = refs/heads/x' 40000 >>r/.git/config; git -C r config core.hooksPath h`, "r", "r/h"},
	"include":            {`git init -q r; git -C r config include.path ../tools/one; mkdir r/tools; printf '[include]\npath = two\n' >r/tools/one; printf '[includeIf "onbranch:x"]\npath=../three\n[core]hooksPath=h\n' >r/tools/two`, "r", "r/.git/../tools/one r/.git/../tools/two r/.git/../tools/../three r/h"},
	"include by a link":  {`git init -q r; mkdir r/conf; mv r/.git/config r/conf/c; ln -s ../conf/c r/.git/config; git config -f r/conf/c include.path more; printf '[core]\nfsmonitor=tools/f x\n' >r/.git/more`, "r", "r/.git/more r/tools/f"},
	"programs":           {`git init -q r; cd r; mkdir t; touch t/smudge t/d t/s.py t/a; git config filter.x.smudge "python3 t/s.py %f"; git config filter.x.clean t/none; git config diff.x.textconv ./t/d; git config alias.y '!f() { ./t/a; }; f'; git config core.sshCommand 'ssh -F cfg'; touch cfg; git config merge.m.driver '"$(git rev-parse --show-toplevel)/t/smudge" %O'`, "r", "r/t/s.py r/t/none r/./t/d r/./t/a r/cfg r/t/smudge"},
	"global":             {"git init -q r; git config --global core.hooksPath .githooks", "r", "r/.githooks"},
	"global include":     {"git init -q r; git config --global includeIf.gitdir:/x.path ~/r/conf; printf '[core]\nhooksPath=h\n' >r/conf", "r", "r/conf r/h"},
	"submodule":          {"git init -q s; git -C s commit -q --allow-empty -m x; git init -q r; git -C r -c protocol.file.allow=always submodule --quiet add --name a/b/c/d/e/f/g/h/i/j/k ../s libs/s 2>&1", "r", "dir:r/.git/modules/a/b/c/d/e/f/g/h/i/j/k r/.git/modules/a/b/c/d/e/f/g/h/i/j/k/../../../../../../../../../../../../../libs/s/.git"},
	"empty submodule":    {"git init -q s; git -C s commit -q --allow-empty -m x; git init -q o; git -C o -c protocol.file.allow=always submodule --quiet add ../s libs/s 2>&1; git -C o commit -qm s; git clone -q o r", "r", "r/libs/s/.git"},
	"embedded":           {"git init -q r; git init -q r/e; git -C r/e commit -q --allow-empty -m x; git -C r add e 2>&1; rm -rf r/e/.git", "r", "r/e/.git"},
	"worktree's modules": {"git init -q s; git -C s commit -q --allow-empty -m x; git init -q r; git -C r commit -q --allow-empty -m x; git -C r worktree add -q ../wt; git -C wt -c protocol.file.allow=always submodule --quiet add ../s libs/s 2>&1", "r", "dir:r/.git/worktrees/wt/modules/libs/s r/.git/worktrees/wt/modules/libs/s/../../../../../../../wt/libs/s/.git"},
}

func TestFind(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	for name, x := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
			env := []string{"HOME=" + at, "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(at), "GIT_AUTHOR_NAME=a",
				"GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "PATH=" + os.Getenv("PATH")}
			cmd := exec.Command("sh", "-ec", x.script)
			cmd.Dir, cmd.Env = at, env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			f := Find(Query{Dirs: []string{at + "/" + x.dir}, Env: lookup(env), UID: os.Geteuid()})
			var got []string
			for _, d := range f.GitDirs {
				got = append(got, "dir:"+strings.TrimPrefix(d.Path, at+"/"))
			}
			for _, p := range f.Paths {
				got = append(got, strings.TrimPrefix(join(p.Dir, p.Rel), at+"/"))
			}
			for want := range strings.FieldsSeq(x.want) {
				if !slices.Contains(got, want) {
					t.Errorf("%q is missing in %q", want, got)
				}
			}
			if len(f.Problems) > 0 {
				t.Errorf("%+v", f.Problems)
			}
		})
	}
}

func lookup(env []string) func(string) string {
	return func(name string) string {
		for _, e := range env {
			if value, ok := strings.CutPrefix(e, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// crowds are what a payload makes around two repositories, and whether the search may have missed one.
var crowds = map[string]struct {
	script string
	told   bool
}{
	"files beside them":    {"seq -f .f%g 4200 | xargs touch", false},
	"files in a cache":     {"mkdir -p .pytest_cache/v; cd .pytest_cache/v; seq 4200 | xargs touch", false},
	"directories":          {"mkdir m; cd m; seq 6000 | xargs mkdir", true},
	"a tree":               {"for i in $(seq 16); do for j in $(seq 16); do seq -f m/$i/$j/%g 17; done; done | xargs mkdir -p", true},
	"a chain":              {"for i in $(seq 300); do d=${d}d/; done; seq -f m/$d%g 12 | xargs mkdir -p", false},
	"more than are listed": {"mkdir m; cd m; seq 65536 | xargs touch", true},
}

// TestCrowds: many names in one place hide no repository in another, and it is told that the search has ended.
func TestCrowds(t *testing.T) {
	for name, x := range crowds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
			makeGitDir(t, top+"/zz/lib/.git")
			makeGitDir(t, top+"/vendor/a/b/bare")
			cmd := exec.Command("sh", "-ec", x.script)
			cmd.Dir = top
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			f := Find(Query{Dirs: []string{top}, Env: lookup(nil), UID: os.Geteuid()})
			if len(f.GitDirs) != 2 || (len(f.Unsearched) == 1) != x.told || !slices.Equal(f.Problems, f.Unsearched) {
				t.Errorf("%+v %+v", f.GitDirs, f.Problems)
			}
		})
	}
}

// makeGitDir makes what git takes for a git directory.
func makeGitDir(t *testing.T, dir string) {
	t.Helper()
	must.Do(t, os.MkdirAll(dir+"/objects", 0o755))
	must.Do(t, os.MkdirAll(dir+"/refs", 0o755))
	must.Do(t, os.WriteFile(dir+"/HEAD", []byte("ref: refs/heads/main\n"), 0o644))
}

// TestManySiblings: repositories that are among more directories than the search enters are found.
func TestManySiblings(t *testing.T) {
	top := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	for i := range MaxEntries + 1 {
		must.Do(t, os.Mkdir(fmt.Sprintf("%s/%d", top, i), 0o755))
	}
	makeGitDir(t, top+"/a/.git")
	makeGitDir(t, top+"/b")
	f := Find(Query{Dirs: []string{top}, Env: lookup(nil), UID: os.Geteuid()})
	if len(f.GitDirs) != 2 || len(f.Unsearched) != 1 || !f.Problems[0].Note {
		t.Errorf("%+v %+v", f.GitDirs, f.Problems)
	}
}
