package gitview

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
	"brig/nsjail"
	"brig/nsjail/spec"
)

func TestMain(m *testing.M) {
	if os.Getenv(killVar) != "" {
		killed()
		return
	}
	os.Exit(asuser.Main(m))
}

// specOf is a jail with a directory at /work and the default protection of a repository.
func specOf(dir, script string) *nsjail.Spec {
	return &nsjail.Spec{Args: []string{"sh", "-ec", script}, Protect: []string{spec.ProtectGit},
		Env: []string{"GIT_CONFIG_GLOBAL=/input/gitconfig", "npm_config_update_notifier=false"},
		Mounts: []nsjail.Mount{{Type: nsjail.MountBind, Source: dir, Target: "/work", Writable: true},
			{Type: nsjail.MountData, Target: "/input/gitconfig",
				Content: "[user]\nname = a\nemail = a@b\n[protocol \"file\"]\nallow = always\n[init]\ndefaultBranch = main\n"}}}
}

// run runs a script in a view of a directory.
func run(t *testing.T, dir, script string) []*Report {
	t.Helper()
	v := must.Get(Prepare(t.Context(), specOf(dir, script)))(t)
	c := nsjail.CommandContext(context.Background(), "sh")
	c.Spec = v.Spec
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	res, err := c.Run()
	if err != nil || res.Status != nsjail.StatusOK {
		t.Fatalf("%v, %+v\n%s", err, res, out.String())
	}
	return v.BringBack(res)
}

// onHost runs a script of the host in a directory.
func onHost(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

const history = `git init -q -b main .; echo 1 >a; mkdir d; echo 1 >d/b; git add .; git commit -qm one; echo 2 >a; git commit -qam two`

// everyday is what is done in a repository all day.
const everyday = `git status --porcelain; echo 3 >a; git commit -qam three; git checkout -qb side HEAD~1; echo x >x; git add -A
git commit -qm side; git checkout -q main; git merge -q -m merge side; echo 4 >a; git stash -q; git stash pop -q; git diff HEAD --quiet || true
git commit -qam four; git rebase -q HEAD~1; git cherry-pick --allow-empty HEAD >/dev/null 2>&1 || git cherry-pick --skip; git tag v1
git mv d/b d/c; git commit -qm moved; git reset -q --hard HEAD~1; git branch -D side; mkdir tmp; echo 1 >tmp/x; git clean -qfdx
git log --oneline >/dev/null; git gc -q; git fsck; git worktree list; test -z "$(git status --porcelain)"`

// brief is the part of it that changes most.
const brief = `echo 3 >a; git commit -qam three; git checkout -qb side HEAD~1; echo x >x; git add -A; git commit -qm side
git checkout -q main; git merge -q -m merge side; echo 4 >a; git stash -q; git stash pop -q; git clean -qfdx; git status`

// repositories are ten kinds of them, with the work that is done there.
var repositories = map[string]struct{ needs, host, work string }{
	"history":  {"", history, everyday},
	"no hooks": {"", strings.Replace(history, "init", "init --template=", 1), brief},
	"everything": {"", history + `; mkdir .vscode .idea .claude .codex; echo '{}' >.mcp.json; touch .envrc .bashrc .vscode/s .idea/s .claude/s .codex/s
		git add .; git commit -qm tools`, brief + "; cat .mcp.json .vscode/s"},
	"hooks run": {"", history + `; printf '#!/bin/sh\necho ran >hooked\n' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit`,
		`echo 5 >a; git commit -qam five; grep ran hooked`},
	"submodule": {"", history + `; git init -q ../lib; git -C ../lib commit -q --allow-empty -m lib
		git -c protocol.file.allow=always submodule --quiet add ../lib libs/lib; git commit -qm submodule`,
		`git -C libs/lib commit -q --allow-empty -m more; git add libs/lib; git commit -qm bump; git submodule status; ` + brief},
	"sparse":  {"", history + `; git sparse-checkout set d; test -s .git/config.worktree`, `echo 2 >d/b; git commit -qam b; git checkout -qb x`},
	"linked":  {"", history + `; git worktree add -q ../linked`, everyday},
	"make":    {"gcc", history + `; printf 'all: m\nm: m.c\n\tgcc -o m m.c\n' >Makefile; echo 'int main(){return 0;}' >m.c`, `make; ./m; git add Makefile m.c; git commit -qm make`},
	"npm":     {"npm", history + `; mkdir dep; echo '{"name":"dep","version":"1.0.0"}' >dep/package.json; echo '{"name":"x","version":"1.0.0"}' >package.json`, `npm install --offline --no-audit --no-fund ./dep >/dev/null; test -d node_modules/dep/; git add package.json; git commit -qm npm`},
	"venv":    {"python3", history, `python3 -m venv --without-pip v; v/bin/python -c 'import sys; assert sys.prefix != sys.base_prefix'; git clean -qfdx; git status`},
	"archive": {"tar", history, `git archive HEAD | tar -x -C tmp -f - 2>/dev/null || (mkdir tmp; git archive HEAD | tar -xf - -C tmp); cp -r . /tmp/copy; tar -cf /tmp/all.tar .; rm -r tmp`},
	"bare":    {"", `mkdir work; cd work; ` + history + `; cd ..; git clone -q --bare work bare; rm -r work; mv bare/* .; rmdir bare`, `git branch other main; git log --oneline; git clone -q . /tmp/c; cd /tmp/c; git commit -q --allow-empty -m new; git push -q; git -C /work gc -q`},
}

// TestRepositories: ordinary work in repositories of many kinds goes on in a view, comes back, and leaves a sound
// repository.
func TestRepositories(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	for name, r := range repositories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(r.needs); r.needs != "" && err != nil {
				t.Skip(r.needs + " is not installed")
			}
			dir := filepath.Join(t.TempDir(), "repo")
			must.Do(t, os.Mkdir(dir, 0o755))
			onHost(t, dir, r.host)
			before := onHost(t, dir, "find . -type s -o -name commondir")
			reports := run(t, dir, r.work)
			for _, report := range reports {
				if report.Error != "" || len(report.Conflicts) > 0 || len(reports) > 1 {
					t.Errorf("%+v", report)
				}
			}
			if after := onHost(t, dir, "find . -type s -o -name commondir"); after != before {
				t.Errorf("the run has left %q, and there were %q", after, before)
			}
			onHost(t, dir, "git fsck; git status --porcelain || git rev-parse --is-bare-repository")
		})
	}
}
