package attack

import (
	"os"
	"strings"
	"syscall"
)

// gitDir makes a git directory with settings and a hook, which has to stay as they are.
func (s *Scene) gitDir(dir, settings string) {
	s.files(map[string]string{dir + "/HEAD": "ref: refs/heads/main"})
	s.dir(dir + "/objects")
	s.dir(dir + "/refs")
	s.kept(map[string]string{dir + "/config": settings, dir + "/hooks/pre-commit": "good"})
}

// setupGitLinks makes a repository in which git of the host writes to what is in its place.
func setupGitLinks(s *Scene) {
	s.gitDir("work/.git", "")
	s.files(map[string]string{"work/.git/COMMIT_EDITMSG": "one", "work/.git/logs/HEAD": "one"})
	s.check(func() string {
		for _, name := range []string{"COMMIT_EDITMSG", "MERGE_MSG", "FETCH_HEAD", "TAG_EDITMSG", "index", "logs/HEAD",
			"packed-refs", "refs/heads/main", "objects/info"} {
			if st := stat(s.Path("work/.git/" + name)); st.Ino != 0 && st.Mode&syscall.S_IFMT == syscall.S_IFLNK {
				return "git of the host writes where the payload's link " + name + " leads"
			}
		}
		return ""
	})
}

// setupHookScripts makes links from protected directories to files and directories beside them.
func setupHookScripts(s *Scene) {
	s.gitDir("work/.git", "")
	s.files(map[string]string{"work/.vscode/settings.json": "{}"})
	s.must(os.Remove(s.Path("work/.git/hooks/pre-commit")))
	s.checks = nil
	s.kept(map[string]string{"work/scripts/pre-commit": "good", "work/shared/lib/tool": "good",
		"work/conf/tasks.json": "good", "work/conf/far": "good"})
	for name, text := range map[string]string{".git/hooks/pre-commit": "../../scripts/pre-commit",
		".git/hooks/post-commit": "../../scripts/none", ".git/hooks/lib": "../../shared", ".vscode/tasks.json": "../near",
		"near": "conf/tasks.json", "shared/lib/far": "../../conf/far"} {
		s.must(os.Symlink(text, s.Path("work/"+name)))
	}
	s.absent("work/scripts/none")
}

// setupWorktreeHooks makes $DIR/work a linked worktree of the repository $DIR/main, whose settings name hooks.
func setupWorktreeHooks(s *Scene) {
	s.gitDir("main/.git", "[core]\n\thooksPath = .githooks\n[filter \"x\"]\n\tclean = ./tools/clean %f\n")
	s.files(map[string]string{"main/.git/worktrees/work/commondir": "../..",
		"main/.git/worktrees/work/gitdir": s.Path("work/.git"), "main/.git/worktrees/work/HEAD": "ref: refs/heads/x"})
	s.kept(map[string]string{"work/.git": "gitdir: " + s.Path("main/.git/worktrees/work") + "\n",
		"work/.githooks/pre-commit": "good", "work/tools/clean": "good"})
	s.absent("work/.githooks/post-commit")
}

// setupBelowTop makes the repository $DIR/repo, whose settings name files of its directory tools.
func setupBelowTop(s *Scene) {
	s.gitDir("repo/.git", "[core]\nhooksPath = tools/hooks\n[include]\npath = ../tools/gitconfig\n")
	s.kept(map[string]string{"repo/tools/hooks/pre-commit": "good", "repo/tools/fsmonitor": "good",
		"repo/tools/gitconfig": "[core]\nfsmonitor = tools/fsmonitor\n[alias]\nx = !tools/none\n"})
	s.absent("repo/tools/none")
}

func setupWorktreeModule(s *Scene) {
	s.gitDir("work/.git", "")
	s.files(map[string]string{"work/.git/worktrees/w/commondir": "../..",
		"work/.git/worktrees/w/gitdir": s.Path("elsewhere/.git")})
	s.gitDir("work/.git/worktrees/w/modules/s", "")
}

func setupModuleName(s *Scene) {
	s.gitDir("work/.git", "")
	s.gitDir("work/.git/modules/a/b/c/d/e/f/g/h/i/j/k", "")
}

// setupSettings makes settings that only git's own grammar reads.
func setupSettings(s *Scene) {
	s.gitDir("work/.git", strings.Repeat("[branch \"x\"] merge = refs/heads/x\n", 4000)+
		"[Core] HooksPath = \"hooks\"\".d\" ; a comment\n[filter \"a \\\"b\"]\n\tclean = \\\n\"tools/clean\" %f\n"+
		"[merge \"x\"] driver = python3 'tools/driver.py' %O\n[core] editor = tools/editor # one\n")
	s.kept(map[string]string{"work/hooks.d/pre-commit": "good", "work/tools/clean": "good",
		"work/tools/driver.py": "good"})
	s.absent("work/tools/editor")
}

// setupWorktreeFile makes a linked worktree in a directory of the repository.
func setupWorktreeFile(s *Scene) {
	s.gitDir("work/.git", "")
	s.files(map[string]string{"work/.git/worktrees/f/commondir": "../..",
		"work/.git/worktrees/f/HEAD": "ref: refs/heads/f", "work/.git/worktrees/f/gitdir": s.Path("work/.worktrees/f/.git")})
	s.kept(map[string]string{"work/.worktrees/f/.git": "gitdir: ../../.git/worktrees/f\n"})
}

// setupNested makes repositories below $DIR/work, which is none.
func setupNested(s *Scene) {
	s.gitDir("work/vendor/lib/.git", "[core]\n\thooksPath = githooks\n")
	s.gitDir("work/vendor/bare.git", "[core]\n\tbare = true\n")
	s.kept(map[string]string{"work/vendor/lib/githooks/pre-commit": "good", "work/vendor/lib/.vscode/tasks.json": "good"})
	s.absent("work/vendor/bare.git/hooks/update")
}

// setupTools makes a repository with files of tools.
func setupTools(s *Scene) {
	s.gitDir("work/.git", "")
	files := map[string]string{}
	for _, name := range []string{"AGENTS.md", ".npmrc", ".pre-commit-config.yaml", "lefthook-local.yml",
		".husky/pre-commit", "x.code-workspace", ".cargo/config.toml", ".github/copilot-instructions.md"} {
		files["work/"+name] = "good"
	}
	s.kept(files)
	s.absent("work/.cursor", "work/.gemini", "work/.devcontainer", "work/.devcontainer.json", "work/.zed", "work/.roo",
		"work/.kiro", "work/.windsurf", "work/opencode.json", "work/.opencode", "work/.mise.toml", "work/.exrc",
		"work/.nvim.lua", "work/.gdbinit", "work/.lldbinit")
}
