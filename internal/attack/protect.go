package attack

import (
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// setupRepository makes a repository in $DIR/work, whose files have to stay as they are, and absent ones absent.
func setupRepository(t T, s *Scene) {
	files := map[string]string{"work/.git/HEAD": "ref: refs/heads/main", "work/.git/config": "good", "work/.envrc": "good",
		"work/.git/hooks/pre-commit": "good"}
	s.files(t, files)
	for _, dir := range []string{"objects", "refs"} {
		s.dir(t, "work/.git/"+dir)
	}
	delete(files, "work/.git/HEAD")
	s.unchanged(t, files)
	s.absent("work/.vscode", "work/.idea", "work/.claude", "work/.codex", "work/.mcp.json", "work/.gitmodules",
		"work/.git/commondir", "work/.git/config.worktree")
}

func (s *Scene) dir(t T, name string) {
	t.Helper()
	must(t, os.MkdirAll(s.Path(name), 0o755))
}

func (s *Scene) files(t T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		s.dir(t, filepath.Dir(name))
		s.write(t, name, text)
	}
}

// kept makes files that have to stay as they are.
func (s *Scene) kept(t T, files map[string]string) {
	t.Helper()
	s.files(t, files)
	s.unchanged(t, files)
}

// unchanged looks that files keep their content, inode, mode and times.
func (s *Scene) unchanged(t T, files map[string]string) {
	t.Helper()
	before := map[string]syscall.Stat_t{}
	for name := range files {
		must(t, os.Chtimes(s.Path(name), time.Unix(1e9, 0), time.Unix(1e9, 0)))
		before[name] = stat(s.Path(name))
	}
	s.Check(func() string {
		for name, text := range files {
			was, now := before[name], stat(s.Path(name))
			b, err := os.ReadFile(s.Path(name))
			if err != nil || string(b) != text || was.Ino != now.Ino || was.Ctim != now.Ctim || was.Mode != now.Mode {
				return "the host's " + name + " was changed or replaced"
			}
		}
		return ""
	})
}

func stat(name string) (st syscall.Stat_t) {
	_ = syscall.Lstat(name, &st) // the zero value is no file's
	return st
}

// absent looks that nothing is there afterwards, neither of the payload's nor of brig's.
func (s *Scene) absent(names ...string) {
	s.Check(func() string {
		for _, name := range names {
			if stat(s.Path(name)).Ino != 0 {
				return "the host has " + name + " now"
			}
		}
		return ""
	})
}

func setupDeep(t T, s *Scene) { s.files(t, map[string]string{"work/a/b/c/file": "good"}) }

func setupConfigLink(t T, s *Scene) { s.link(t, "work/.git/config") }

func setupHookLink(t T, s *Scene) { s.link(t, "work/.git/hooks/pre-commit") }

// link makes work/same, a hard link to a file. That the link count changes is no attack.
func (s *Scene) link(t T, name string) {
	must(t, os.Link(s.Path(name), s.Path("work/same")))
	s.checks = nil
	s.unchanged(t, map[string]string{name: "good"})
}

// setupLinkedDirectory makes .vscode a link to a directory beside it.
func setupLinkedDirectory(t T, s *Scene) {
	s.files(t, map[string]string{"work/settings/file": "good"})
	must(t, os.Symlink("settings", s.Path("work/.vscode")))
	s.checks = nil
	s.unchanged(t, map[string]string{"work/settings/file": "good"})
	s.Check(func() string {
		if text, err := os.Readlink(s.Path("work/.vscode")); err != nil || text != "settings" {
			return "the link was replaced"
		}
		return ""
	})
}

func setupWorktree(t T, s *Scene) {
	files := map[string]string{"work/.git/worktrees/w/commondir": "../..",
		"work/.git/worktrees/w/gitdir": "/somewhere/.git"}
	s.kept(t, files)
	s.absent("work/.git/worktrees/w/config.worktree")
}

func setupSubmodule(t T, s *Scene) {
	dir := "work/.git/modules/libs/s/"
	config := "[core]\n\tworktree = ../../../../libs/s\n"
	s.files(t, map[string]string{dir + "HEAD": "ref: refs/heads/main", dir + "config": config,
		dir + "hooks/pre-commit": "good", "work/libs/s/.git": "gitdir: ../../.git/modules/libs/s"})
	s.dir(t, dir+"objects")
	s.dir(t, dir+"refs")
	s.unchanged(t, map[string]string{dir + "config": config, dir + "hooks/pre-commit": "good",
		"work/libs/s/.git": "gitdir: ../../.git/modules/libs/s"})
}

func setupGitfile(t T, s *Scene) {
	files := map[string]string{"work/.git": "gitdir: " + s.Path("victim") + "\n"}
	s.kept(t, files)
	s.absent("work/.mcp.json")
}

// setupHooksPath makes a repository whose settings name hooks and more settings in the tree.
func setupHooksPath(t T, s *Scene) {
	s.files(t, map[string]string{"work/.git/HEAD": "ref: refs/heads/main",
		"work/.git/config": "[Core] hooksPath = .husky/_ # husky\n[include]\n\tpath = \"../.gitconfig\"\n" +
			"[include]\n\tpath = ../none\n[include]\n\tpath = ../no/dir\n[core]\n\thooksPath =\n"})
	files := map[string]string{"work/.husky/pre-commit": "good", "work/.husky/_/pre-commit": "good",
		"work/.gitconfig": "[includeIf \"gitdir:/\"]\n\tpath = deep/more\n", "work/deep/more": "good"}
	s.kept(t, files)
	s.absent("work/none", "work/no")
}

// setupHeadless makes a bare repository with one of a submodule, both without HEAD, as an earlier payload can leave
// them.
func setupHeadless(t T, s *Scene) {
	const config = "[core]\n\trepositoryformatversion = 0\n"
	files := map[string]string{"work/config": config, "work/hooks/pre-commit": "good",
		"work/modules/libs/s/config": config, "work/modules/libs/s/hooks/pre-commit": "good"}
	s.kept(t, files)
	s.absent("work/modules/libs/s/commondir")
}

// setupBoundHooks shows a directory of the hooks as $DIR/alias, too.
func setupBoundHooks(t T, s *Scene) {
	files := map[string]string{"work/.git/HEAD": "ref: refs/heads/main", "work/.git/hooks/lib/tool": "good"}
	s.kept(t, files)
	s.mount(t, s.Path("work/.git/hooks/lib"), "alias", "", unix.MS_BIND, "")
}

// setupBoundBelow shows the hooks of a repository as $DIR/work/shown, too.
func setupBoundBelow(t T, s *Scene) {
	setupRepository(t, s)
	s.mount(t, s.Path("work/.git/hooks"), "work/shown", "", unix.MS_BIND, "")
}
