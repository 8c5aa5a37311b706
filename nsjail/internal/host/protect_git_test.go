package host

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/internal/sys"
	"brig/internal/test/asuser"
	"brig/internal/test/long"
	"brig/internal/test/must"
	"brig/nsjail/spec"
)

// gitShapes make a repository with a work tree $T, and the programs and settings in it that the gitSettings name.
var gitShapes = map[string]string{
	"plain":     "T=$W/r; git init -q r",
	"worktree":  "T=$W/wt; git init -q r; git -C r commit -q --allow-empty -m x; git -C r worktree add -q ../wt",
	"inside":    "T=$W/r/.worktrees/f; git init -q r; git -C r commit -q --allow-empty -m x; git -C r worktree add -q .worktrees/f",
	"bare":      "T=$W/r/main; git init -q s; git -C s commit -q --allow-empty -m x; mkdir r; git clone -q --bare s r/.bare; git -C r/.bare worktree add -q ../main",
	"submodule": "T=$W/r/libs/s; git init -q s; git -C s commit -q --allow-empty -m x; git init -q r; git -C r submodule --quiet add --name a/b/c/d ../s libs/s 2>&1",
	"modules": "T=$W/wt/s; git init -q s; git -C s commit -q --allow-empty -m x; git init -q r; git -C r commit -q --allow-empty -m x; git -C r worktree add -q ../wt; " +
		"git -C wt submodule --quiet add ../s s 2>&1",
	"separate": "T=$W/r; git init -q --separate-git-dir=real r",
	"link":     "T=$W/r; git init -q --separate-git-dir=real r; rm r/.git; ln -s ../real r/.git",
	"nested":   "T=$W/r/vendor/lib; git init -q r; git init -q r/vendor/lib",
}

// gitSettings name programs in the work tree, in the ways that git has.
var gitSettings = map[string]string{
	"none":            "",
	"hooks":           "git config core.hooksPath tools/hooks",
	"include":         "git config include.path $T/tools/conf",
	"relative":        `git config include.path "$(realpath --relative-to="$G" tools/conf)"`,
	"includeif":       `git config "includeIf.gitdir:$W/**.path" $T/tools/conf`,
	"chain":           `git config include.path $T/tools/first`,
	"worktreeconfig":  "git config extensions.worktreeConfig true; git config --worktree core.bare false; git config --worktree core.hooksPath tools/hooks",
	"global":          "git config --global core.hooksPath tools/hooks",
	"globalinclude":   "git config --global include.path $T/tools/conf",
	"linked hook":     "ln -sf $T/tools/hooks/pre-commit $G/hooks/pre-commit",
	"linked hooks":    "rm -r $G/hooks; ln -s $T/tools/hooks $G/hooks",
	"linked settings": "mv $G/config tools/c; ln -s $T/tools/c $G/config; git config core.fsmonitor tools/fsm",
	"fsmonitor":       "git config core.fsmonitor tools/fsm",
	"link on the way": "ln -s tools t; git config core.hooksPath t/hooks",
	"filter":          `git config filter.x.clean "sh tools/filter %f"; echo "f filter=x" >.gitattributes; echo x >f; git add f; touch -d 2001-01-01 f`,
}

const gitTree = `cd $T; G=$(cd "$(git rev-parse --git-common-dir)"; pwd -P); git config user.name a; mkdir -p tools/hooks d/e "$G/hooks"
for f in tools/hooks/pre-commit tools/fsm tools/filter "$G/hooks/pre-commit"; do printf '#!/bin/sh\n[ "$1" = f ] && exec cat; exit 0\n' >"$f"; chmod 755 "$f"; done
printf '[core]\nhooksPath = tools/hooks\nfsmonitor = tools/fsm\n' >tools/conf; printf '[include]\npath = conf\n' >tools/first; `

// gitAsk has git do and name what it can: settings with their files, paths, and what it starts.
const gitAsk = `for d in "$T" "$T/d/e"; do cd "$d"; git config --list -z --show-origin | tr '\0' '\n' | sed -n "s#^file:#settings $T #p"
for p in hooks config info/attributes info/exclude HEAD; do echo "path $PWD $(git rev-parse --git-path $p)"; done
GIT_TRACE2_EVENT=$W/trace git status >/dev/null; GIT_TRACE2_EVENT=$W/trace git commit -q --allow-empty -m x 2>/dev/null; done; echo "top $T"`

// gitNames returns the paths that git of the host reads as settings, or executes.
func gitNames(t *testing.T, dir, script string) (names []string, top string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", "W=$PWD; "+script+gitAsk)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	add := func(at, name string) {
		if !filepath.IsAbs(name) {
			name = at + "/" + name
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for line := range strings.Lines(string(out)) {
		word := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		switch {
		case len(word) == 2 && word[0] == "top":
			top = word[1]
		case len(word) == 3 && (word[0] == "settings" || word[0] == "path"):
			add(word[1], word[2])
		}
	}
	for line := range strings.Lines(string(must.Get(os.ReadFile(dir + "/trace"))(t))) {
		var e struct {
			Event, Cd string
			Argv      []string
		}
		if must.Do(t, json.Unmarshal([]byte(line), &e)); e.Event == "child_start" && len(e.Argv) > 0 && e.Argv[0] != "git" {
			for _, word := range strings.Fields(strings.Join(e.Argv, " ")) {
				if strings.Contains(word, "/") {
					add(top, word) // git starts hooks and programs there
				}
			}
		}
	}
	return names, top
}

// TestProtectsWhatGitNames: what git names is protected where a writable bind shows it: it and what it leads to, for
// the top of the work tree, a directory of it, and one above.
func TestProtectsWhatGitNames(t *testing.T) {
	if asuser.Second() {
		t.Skip("git names the same to root")
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	shapes := slices.Sorted(maps.Keys(gitShapes))
	for i, setting := range slices.Sorted(maps.Keys(gitSettings)) { // each shape and each setting once at least
		t.Run(shapes[i%len(shapes)]+" "+setting, func(t *testing.T) { differ(t, shapes[i%len(shapes)], setting) })
	}
}

// TestProtectsWhatGitNamesEverywhere is the same for all shapes with all settings.
func TestProtectsWhatGitNamesEverywhere(t *testing.T) {
	long.Test(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	for shape := range gitShapes {
		for setting := range gitSettings {
			t.Run(shape+" "+setting, func(t *testing.T) { differ(t, shape, setting) })
		}
	}
}

func differ(t *testing.T, shape, setting string) {
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	for name, value := range map[string]string{"HOME": dir, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": filepath.Dir(dir), "GIT_CONFIG_COUNT": "1",
		"GIT_CONFIG_KEY_0": "protocol.file.allow", "GIT_CONFIG_VALUE_0": "always", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
		"GIT_COMMITTER_EMAIL": "a@b", "EDITOR": "", "VISUAL": "", "PAGER": ""} {
		t.Setenv(name, value)
	}
	names, top := gitNames(t, dir, gitShapes[shape]+"; "+gitTree+gitSettings[setting]+"\n")
	if len(names) < 5 {
		t.Errorf("git names %q", names)
	}
	for _, bind := range []string{top, top + "/d", top + "/tools", filepath.Dir(top)} {
		s := &spec.Spec{Args: []string{"true"}, Protect: []string{spec.ProtectGit}, Mounts: []spec.Mount{{Type: spec.MountBind, Source: bind, Target: "/work", Writable: true}}}
		h, err := Look(s)
		if err != nil {
			t.Errorf("%s: %v", strings.TrimPrefix(bind, dir), err)
			continue
		}
		must.Do(t, h.Close())
		for _, name := range names {
			real, err := filepath.EvalSymlinks(name)
			up, uerr := filepath.EvalSymlinks(filepath.Dir(name))
			for _, at := range []string{real, filepath.Join(up, filepath.Base(name))} {
				held := slices.ContainsFunc(h.Protected, func(p Protected) bool { return sys.Under(at, p.Path) })
				if !held && err == nil && uerr == nil && sys.Under(at, bind) {
					t.Errorf("%s: %s is not protected", strings.TrimPrefix(bind, dir), strings.TrimPrefix(at, dir))
				}
			}
		}
	}
}

// TestHomeFiles: in a home that is a repository, what the host's programs read there is protected, and in another
// repository that is not.
func TestHomeFiles(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	t.Setenv("HOME", dir+"/home")
	t.Setenv("XDG_STATE_HOME", dir+"/state")
	for _, name := range []string{"home", "other"} {
		if out, err := exec.Command("git", "init", "-q", filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		h := must.Get(Look(&spec.Spec{Args: []string{"true"}, Protect: []string{spec.ProtectGit},
			Mounts: []spec.Mount{{Type: spec.MountBind, Source: filepath.Join(dir, name), Target: "/work", Writable: true}}}))(t)
		must.Do(t, h.Close())
		for _, file := range homeFiles {
			full := filepath.Join(dir, name, file)
			held := slices.ContainsFunc(h.Protected, func(p Protected) bool { return sys.Under(full, p.Path) })
			if want := name == "home" || slices.Contains(spec.ToolFiles, file); held != want {
				t.Errorf("%s: protected: %v", strings.TrimPrefix(full, dir), held)
			}
		}
	}
}
