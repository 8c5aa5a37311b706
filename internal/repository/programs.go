package repository

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// runs are the last names of settings whose values git(1) executes, whatever their section: "filter.x.clean",
// "gpg.ssh.defaultKeyCommand", "credential.URL.helper". With those of "alias" and "pager" they are all of
// git-config(1), git 2.51 of August 2025, and of the settings that its scripts read.
var runs = []string{"alternaterefscommand", "askpass", "browser", "cccmd", "clean", "cmd", "command",
	"defaultkeycommand", "difffilter", "driver", "editor", "external", "fsmonitor", "gitproxy", "headercmd", "helper",
	"packobjectshook", "pager", "process", "program", "receivepack", "recentobjectshook", "sendmailcmd", "smtpserver",
	"smudge", "sshcommand", "textconv", "tocmd", "tool", "tunnel", "update", "uploadarchive", "uploadpack", "viewer"}

// environment are the variables that name programs, as settings do.
var environment = []string{"GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "VISUAL", "EDITOR", "GIT_PAGER", "PAGER", "GIT_SSH",
	"GIT_SSH_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND"}

// programs adds what the settings of each repository, and those of the caller and of the system, make git execute from
// a work tree.
func (f *finder) programs() {
	global := f.global()
	for _, g := range f.groups {
		f.nested = g.nested
		tops := g.trees
		if len(tops) == 0 {
			tops = []string{g.bare}
		}
		for _, top := range tops {
			for _, s := range slices.Concat(global, g.settings) {
				f.program(top, s)
			}
		}
	}
	f.nested = false
}

// program adds what one setting makes git execute, with a work tree as the current directory.
func (f *finder) program(top string, s setting) {
	switch {
	case s.value == "":
	case s.key == "core.hookspath": // husky's .husky/_ runs the files of .husky
		if at := f.expand(s.value); at != "" {
			f.add(Path{Dir: top, Rel: strings.TrimSuffix(strings.TrimRight(at, "/"), "/_")})
		}
	case s.key == "init.templatedir": // its hooks are copied to new repositories
		f.add(Path{Dir: top, Rel: f.expand(s.value)})
	case s.section == "remote" && s.name == "url":
		if command, ok := strings.CutPrefix(s.value, "ext::"); ok {
			f.command(top, command)
		}
	case s.name == "path" && slices.Contains([]string{"browser", "difftool", "mergetool", "man", "guitool"}, s.section):
		f.command(top, s.value)
	case s.section == "alias", s.section == "submodule" && s.name == "update":
		if command, ok := strings.CutPrefix(s.value, "!"); ok {
			f.command(top, command)
		}
	case s.section == "pager", slices.Contains(runs, s.name):
		f.command(top, strings.TrimPrefix(s.value, "!"))
	}
}

// interpreters execute the file that their first argument names.
var interpreters = []string{"sh", "bash", "dash", "zsh", "ksh", "env", "exec", "nice", "perl", "python",
	"python3", "ruby", "node", "deno", "bun", "php", "lua", "tclsh", "awk"}

// command adds the files that a command names: every word that is one, by a path or in the work tree, and the program
// itself, or the script of an interpreter, also if it is absent.
func (f *finder) command(top, text string) {
	first := true
	between := func(r rune) bool { return strings.ContainsRune(" \t\n\"'`;|&()<>{}=,", r) }
	for i, word := range strings.FieldsFunc(text, between) {
		if i >= 64 || len(word) >= unix.PathMax {
			return
		}
		word = strings.NewReplacer("$HOME/", "~/", "$PWD/", "./", "$GIT_PREFIX", "").Replace(word)
		at := f.expand(strings.TrimPrefix(word, "file://"))
		for _, at := range []string{at, strings.TrimLeft(at, "/")} { // "$(git rev-parse --show-toplevel)/tools/x"
			if at == "" || strings.Trim(at, "./") == "" {
				continue
			}
			var st unix.Stat_t
			there := unix.Stat(join(top, at), &st) == nil
			switch {
			case there && st.Mode&unix.S_IFMT != unix.S_IFDIR && (strings.Contains(at, "/") || !first):
				f.add(Path{Dir: top, Rel: at, File: true})
			case !there && first && strings.Contains(at, "/") && at == word:
				f.add(Path{Dir: top, Rel: at, File: true})
			}
		}
		first = first && (slices.Contains(interpreters, path.Base(word)) || strings.HasPrefix(word, "-"))
	}
}

// global returns the settings of the system and of the caller, as git reads them.
func (f *finder) global() (list []setting) {
	read := func(name string) {
		if path.IsAbs(name) {
			f.add(Path{Dir: "/", Rel: name, Present: true})
			list = append(list, f.settings("/", strings.TrimLeft(name, "/"), 0)...)
		}
	}
	if system := f.Env("GIT_CONFIG_SYSTEM"); system != "" {
		read(system)
	} else if off := strings.ToLower(f.Env("GIT_CONFIG_NOSYSTEM")); off == "" || off == "0" || off == "false" ||
		off == "no" || off == "off" {
		read("/etc/gitconfig")
		read("/usr/local/etc/gitconfig")
	}
	if name := f.Env("GIT_CONFIG_GLOBAL"); name != "" {
		read(name)
	} else if home := f.home(); home != "" || f.Env("XDG_CONFIG_HOME") != "" {
		if xdg := f.Env("XDG_CONFIG_HOME"); xdg != "" {
			read(join(xdg, "git/config"))
		} else {
			read(join(home, ".config/git/config"))
		}
		read(join(home, ".gitconfig"))
	}
	for _, name := range environment {
		if value := f.Env(name); value != "" {
			list = append(list, setting{section: "environment", name: "program", value: value})
		}
	}
	return append(list, f.fromEnvironment()...)
}

// expand returns a path of a setting with the caller's home directory for "~/", or "" for one that cannot be expanded.
func (f *finder) expand(value string) string {
	value = strings.TrimPrefix(value, ":(optional)")
	below, ok := strings.CutPrefix(value, "~/")
	switch home := f.home(); {
	case ok && home == "" || strings.HasPrefix(value, "%(prefix)"):
		return ""
	case ok:
		return home + "/" + below
	}
	return value
}
