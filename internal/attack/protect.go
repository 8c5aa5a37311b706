package attack

import (
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// setupRepository makes a repository in $DIR/work, whose files have to stay as they are, and absent ones absent.
func setupRepository(s *Scene) {
	files := map[string]string{"work/.git/HEAD": "ref: refs/heads/main", "work/.git/config": "good", "work/.envrc": "good",
		"work/.git/hooks/pre-commit": "good"}
	s.files(files)
	for _, dir := range []string{"objects", "refs"} {
		s.dir("work/.git/" + dir)
	}
	delete(files, "work/.git/HEAD")
	s.unchanged(files)
	s.absent("work/.vscode", "work/.idea", "work/.claude", "work/.codex", "work/.mcp.json", "work/.gitmodules",
		"work/.git/commondir", "work/.git/config.worktree")
}

func (s *Scene) dir(name string) {
	s.must(os.MkdirAll(s.Path(name), 0o755))
}

func (s *Scene) files(files map[string]string) {
	for name, text := range files {
		s.dir(filepath.Dir(name))
		s.write(name, text)
	}
}

// kept makes files that have to stay as they are.
func (s *Scene) kept(files map[string]string) {
	s.files(files)
	s.unchanged(files)
}

// unchanged checks that files keep their content, inode, mode and times.
func (s *Scene) unchanged(files map[string]string) {
	before := map[string]syscall.Stat_t{}
	for name := range files {
		s.must(os.Chtimes(s.Path(name), time.Unix(1e9, 0), time.Unix(1e9, 0)))
		before[name] = stat(s.Path(name))
	}
	s.check(func() string {
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

// absent checks that the names do not exist afterwards: neither the payload's files nor brig's ghosts.
func (s *Scene) absent(names ...string) {
	s.check(func() string {
		for _, name := range names {
			if stat(s.Path(name)).Ino != 0 {
				return "the host has " + name + " now"
			}
		}
		return ""
	})
}

func setupDeep(s *Scene) { s.files(map[string]string{"work/a/b/c/file": "good"}) }

func setupConfigLink(s *Scene) { s.link("work/.git/config") }

func setupHookLink(s *Scene) { s.link("work/.git/hooks/pre-commit") }

// link makes work/same, a hard link to a file. A changed link count alone is not an escape.
func (s *Scene) link(name string) {
	s.must(os.Link(s.Path(name), s.Path("work/same")))
	s.checks = nil
	s.unchanged(map[string]string{name: "good"})
}

// setupLinkedDirectory makes .vscode a link to a directory beside it.
func setupLinkedDirectory(s *Scene) {
	s.files(map[string]string{"work/settings/file": "good"})
	s.must(os.Symlink("settings", s.Path("work/.vscode")))
	s.checks = nil
	s.unchanged(map[string]string{"work/settings/file": "good"})
	s.check(func() string {
		if text, err := os.Readlink(s.Path("work/.vscode")); err != nil || text != "settings" {
			return "the link was replaced"
		}
		return ""
	})
}

func setupWorktree(s *Scene) {
	files := map[string]string{"work/.git/worktrees/w/commondir": "../..",
		"work/.git/worktrees/w/gitdir": "/somewhere/.git"}
	s.kept(files)
	s.absent("work/.git/worktrees/w/config.worktree")
}

func setupSubmodule(s *Scene) {
	dir := "work/.git/modules/libs/s/"
	config := "[core]\n\tworktree = ../../../../libs/s\n"
	s.files(map[string]string{dir + "HEAD": "ref: refs/heads/main", dir + "config": config,
		dir + "hooks/pre-commit": "good", "work/libs/s/.git": "gitdir: ../../.git/modules/libs/s"})
	s.dir(dir + "objects")
	s.dir(dir + "refs")
	s.unchanged(map[string]string{dir + "config": config, dir + "hooks/pre-commit": "good",
		"work/libs/s/.git": "gitdir: ../../.git/modules/libs/s"})
}

func setupGitfile(s *Scene) {
	files := map[string]string{"work/.git": "gitdir: " + s.Path("victim") + "\n"}
	s.kept(files)
	s.absent("work/.mcp.json")
}

// setupHooksPath makes a repository whose settings name hooks and more settings in the tree.
func setupHooksPath(s *Scene) {
	s.files(map[string]string{"work/.git/HEAD": "ref: refs/heads/main",
		"work/.git/config": "[Core] hooksPath = .husky/_ # husky\n[include]\n\tpath = \"../.gitconfig\"\n" +
			"[include]\n\tpath = ../none\n[include]\n\tpath = ../no/dir\n[core]\n\thooksPath =\n"})
	files := map[string]string{"work/.husky/pre-commit": "good", "work/.husky/_/pre-commit": "good",
		"work/.gitconfig": "[includeIf \"gitdir:/\"]\n\tpath = deep/more\n", "work/deep/more": "good"}
	s.kept(files)
	s.absent("work/none", "work/no")
}

// setupHeadless makes a bare repository with one of a submodule, both without HEAD, as an earlier payload can leave
// them.
func setupHeadless(s *Scene) {
	const config = "[core]\n\trepositoryformatversion = 0\n"
	files := map[string]string{"work/config": config, "work/hooks/pre-commit": "good",
		"work/modules/libs/s/config": config, "work/modules/libs/s/hooks/pre-commit": "good"}
	s.kept(files)
	s.absent("work/modules/libs/s/commondir")
}

// setupBoundHooks shows a directory of the hooks as $DIR/alias, too.
func setupBoundHooks(s *Scene) {
	files := map[string]string{"work/.git/HEAD": "ref: refs/heads/main", "work/.git/hooks/lib/tool": "good"}
	s.kept(files)
	s.mount(s.Path("work/.git/hooks/lib"), "alias", "", unix.MS_BIND, "")
}

// setupBoundBelow shows the hooks of a repository as $DIR/work/shown, too.
func setupBoundBelow(s *Scene) {
	setupRepository(s)
	s.mount(s.Path("work/.git/hooks"), "work/shown", "", unix.MS_BIND, "")
}
