package host

import (
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"brig/internal/words"
	"brig/nsjail/internal/spec"

	"golang.org/x/sys/unix"
)

// repository protects the files of spec.ProtectGit in a directory, if it is in a git repository.
func (p *protector) repository(dir string) {
	switch {
	case p.exists(dir + "/.git"):
		full, st := p.follow(dir, ".git")
		switch {
		case st == nil:
		case st.Mode&unix.S_IFMT == unix.S_IFDIR:
			p.gitDir(full)
		default: // of a worktree or a submodule: "gitdir: PATH"
			p.protect(full, st, "")
			if text := p.pointer(full, "gitdir: "); text != "" {
				p.gitLink(path.Dir(full), text)
			}
		}
	case p.isGitDir(dir):
		p.gitDir(dir)
		return
	case !inRepository(dir):
		return
	default:
		p.protectPath(dir, ".git")
	}
	for _, name := range spec.ToolFiles {
		p.protectPath(dir, name)
	}
	var home unix.Stat_t
	isHome := unix.Stat(os.Getenv("HOME"), &home) == nil && p.id(dir) == fileID{uint64(home.Dev), home.Ino}
	for _, name := range spec.ShellFiles {
		if isHome || p.exists(path.Join(dir, name)) {
			p.protectPath(dir, name)
		}
	}
}

func exists(name string) bool {
	var st unix.Stat_t
	return unix.Lstat(name, &st) == nil
}

func (p *protector) exists(name string) bool {
	var st unix.Stat_t
	err := unix.Lstat(name, &st)
	p.denied(name, err)
	return err == nil
}

// denied fails if the caller lacks the permission to look at a file that the payload, which has the same uid, could
// grant itself: an earlier payload may have removed that permission (chmod(2)).
func (p *protector) denied(name string, err error) {
	var st unix.Stat_t
	for at := name; err == unix.EACCES; at = path.Dir(at) {
		if err = unix.Lstat(at, &st); err == nil && int(st.Uid) == p.h.UID && p.shown(at) {
			p.fail(name, "cannot be looked at: permission denied", "chmod u+rwx "+words.Shell(at))
		}
	}
}

func (p *protector) shown(full string) bool {
	return slices.ContainsFunc(p.areas, func(a area) bool { _, ok := p.below(full, &a); return ok })
}

// isGitDir reports whether a directory is a repository of git(1). A payload can remove the files by which git
// recognizes one, but not the protected settings, so these suffice.
func (p *protector) isGitDir(dir string) bool {
	return p.exists(dir+"/HEAD") && p.exists(dir+"/objects") && p.exists(dir+"/refs") ||
		strings.Contains(p.readPlain(dir+"/config"), "repositoryformatversion")
}

func inRepository(dir string) bool {
	for ; ; dir = path.Dir(dir) {
		if exists(path.Join(dir, ".git")) {
			return true
		}
		if dir == "/" {
			return false
		}
	}
}

// pointer returns the path that a file of git(1) holds after a prefix, or "".
func (p *protector) pointer(file, prefix string) string {
	text, ok := strings.CutPrefix(strings.TrimRight(p.readPlain(file), "\r\n"), prefix)
	if !ok {
		return ""
	}
	return text
}

// gitLink protects the directory of git(1) that a file names.
func (p *protector) gitLink(dir, text string) {
	if full, st := p.follow(from(dir, text)); st != nil {
		p.gitDir(full)
	}
}

// gitDir protects what makes git(1) run programs: hooks and settings, those of linked worktrees and submodules, and the
// file commondir, which makes git read the settings of another directory. A missing commondir means ".".
func (p *protector) gitDir(dir string) {
	if p.repos[dir] || p.err != nil {
		return
	}
	p.repos[dir] = true
	for _, name := range spec.GitFiles[:3] { // commondir follows
		p.protectPath(dir, name)
	}
	for _, name := range spec.GitFiles[1:3] {
		p.settings(dir, dir+"/"+name)
	}
	common := p.pointer(dir+"/commondir", "")
	if common == "" || common == "." { // "." may be the ghost of another run
		st := new(unix.Stat_t)
		if unix.Lstat(dir+"/commondir", st) != nil {
			st = nil
		}
		p.protect(dir+"/commondir", st, ".\n")
	} else {
		p.protectPath(dir, "commondir")
		p.gitLink(dir, common)
	}
	for _, tree := range p.names(dir + "/worktrees") {
		for _, name := range []string{"commondir", "gitdir", "config.worktree"} {
			p.protectPath(dir, "worktrees/"+tree+"/"+name)
		}
	}
	p.modules(dir+"/modules", 0)
}

// modules protects the repositories of submodules: the name of one may have slashes.
func (p *protector) modules(dir string, depth int) {
	for _, name := range p.names(dir) {
		sub := path.Join(dir, name)
		if !p.isGitDir(sub) {
			if depth < 8 {
				p.modules(sub, depth+1)
			}
			continue
		}
		p.gitDir(sub)
	}
}

// settings protects what a file of settings makes git(1) run or read: the directory of hooks, included files, and the
// file .git of a submodule's directory, which core.worktree names. Other programs that it names are not protected.
func (p *protector) settings(dir, file string) {
	if p.repos[file] {
		return
	}
	p.repos[file] = true
	section, top := "", strings.TrimSuffix(dir, "/.git")
	for line := range strings.Lines(p.readPlain(file)) {
		if head, rest, ok := strings.Cut(strings.TrimSpace(line), "]"); ok && strings.HasPrefix(head, "[") {
			section, line = head[1:], rest
		}
		name, _, _ := strings.Cut(section, " ")
		key, value, _ := strings.Cut(line, "=")
		if value = setting(value); value == "" {
			continue
		}
		switch strings.ToLower(name + "." + strings.TrimSpace(key)) {
		case "core.hookspath": // husky's .husky/_ runs the files of .husky
			p.protectPath(from(top, strings.TrimSuffix(value, "/_")))
		case "core.worktree":
			if top = path.Join(from(dir, value)); exists(top + "/.git") {
				p.protectPath(top, ".git")
			}
		case "include.path", "includeif.path":
			if full, st := p.follow(from(path.Dir(file), value)); st != nil {
				p.protect(full, st, "")
				p.settings(dir, full)
			}
		}
	}
}

// setting returns a value of git-config(1) without its comment and quotes.
func setting(text string) string {
	text = strings.TrimSpace(text)
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		text, _, _ = strings.Cut(quoted, `"`)
	} else if end := strings.IndexAny(text, "#;"); end >= 0 {
		text = strings.TrimSpace(text[:end])
	}
	if below, ok := strings.CutPrefix(text, "~/"); ok {
		return path.Join(os.Getenv("HOME"), below)
	}
	return text
}

// from returns the directory at which a path in one of git's files begins, "/" or dir, and the relative rest.
func from(dir, text string) (at, rel string) {
	if path.IsAbs(text) {
		dir = "/"
	}
	return dir, strings.Trim(text, "/")
}

// readPlain returns the content of a file in a directory that others may have shaped, or "" if it is not a regular one.
// It opens nothing else: to open a device can change it.
func (p *protector) readPlain(file string) string {
	fd, err := unix.Open(file, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return ""
	}
	b, err := readRegular("/proc/self/fd/"+strconv.Itoa(fd), 1<<16)
	if err != nil {
		if errors.Is(err, unix.EACCES) {
			p.denied(file, unix.EACCES)
		}
		return ""
	}
	return string(b)
}

// names returns the first directories in a directory, sorted.
func (p *protector) names(dir string) (list []string) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		p.denied(dir, err)
		return nil
	}
	d := os.NewFile(uintptr(fd), dir)
	defer d.Close()
	entries, err := d.ReadDir(spec.MaxProtected)
	if len(entries) == spec.MaxProtected || err != nil && err != io.EOF {
		p.fail(dir, "has too many entries to protect", p.remedy(dir))
	}
	for _, e := range entries {
		if e.IsDir() {
			list = append(list, e.Name())
		}
	}
	slices.Sort(list)
	return list
}
