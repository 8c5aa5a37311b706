package doctor

import (
	"fmt"
	"path/filepath"
	"strings"

	"brig/internal/words"
)

// Agent is an installed program that starts bubblewrap, and the bwrap that it would find.
type Agent struct {
	Name    string // of its program
	Path    string
	Setting string // the file of settings that names its bwrap; "" where the first of PATH counts
	Bwrap   Program
}

// Program is a file that a name leads to.
type Program struct {
	Path string // "" if there is none
	File string // Path without symbolic links
	Brig bool   // the file is brig
}

// agent is how a program comes to its bubblewrap.
type agent struct {
	name     string
	settings string   // of the user, in JSON, below the home
	key      []string // there, the path of bwrap
	resolves bool     // it executes what a symbolic link leads to, under that name
	bundled  bool     // without bwrap it uses one of its own
}

var agents = []agent{
	{name: "srt", settings: ".srt-settings.json", key: []string{"bwrapPath"}},
	{name: "claude", settings: ".claude/settings.json", key: []string{"sandbox", "bwrapPath"}},
	{name: "codex", resolves: true, bundled: true},
	{name: "gemini"},
}

// checkAgents returns a finding for each installed agent: whether brig is its bubblewrap.
func checkAgents(found []Agent) (list []Finding) {
	for _, a := range found {
		for _, rule := range agents {
			if rule.name == a.Name {
				list = append(list, rule.judge(&a))
			}
		}
	}
	return list
}

func (rule *agent) judge(a *Agent) Finding {
	x := Finding{Name: a.Name, State: Note}
	b := &a.Bwrap
	at := "the first bwrap of PATH, " + b.Path
	if a.Setting != "" {
		at = "the bwrap of " + a.Setting + ", " + b.Path
	}
	fix := "put brig as a file named bwrap into a directory that is earlier in PATH (make install BWRAP=1)"
	switch {
	case b.Path == "":
		x.Why, x.Fix = words.Plain(a.Path+" does not use brig: no bwrap is on PATH"), words.Plain(fix)
		if rule.bundled {
			x.Why += ", and it has one of its own"
		}
	case !b.Brig && a.Setting != "":
		x.Why, x.Fix = words.Plain(fmt.Sprintf("%s does not use brig: it takes %s, which is not brig", a.Path, at)),
			"name brig's there"
	case !b.Brig:
		x.Why, x.Fix = words.Plain(fmt.Sprintf("%s does not use brig: it takes %s, which is not brig", a.Path, at)),
			words.Plain(fix)
	case rule.resolves && filepath.Base(b.File) != "bwrap":
		x.Why = words.Plain(fmt.Sprintf("%s does not use brig: it executes what the link %s leads to, %s, by that name, "+
			"and so takes "+
			"its own bwrap", a.Path, b.Path, b.File))
		x.Fix = words.Plain(fmt.Sprintf("make it a second name instead: ln -f %s %s (or cp, on another file system)",
			b.File, b.Path))
	default:
		x.State, x.Why = Present, words.Plain(fmt.Sprintf("%s uses brig: it takes %s, which is brig", a.Path, at))
		if b.File != b.Path {
			x.Why += words.Textf(" (a link to %s)", b.File)
		}
	}
	return x
}

// value returns the string at a key of a JSON document that has been read, or "".
func value(doc any, key []string) string {
	for _, k := range key {
		m, ok := doc.(map[string]any)
		if !ok {
			return ""
		}
		doc = m[k]
	}
	s, _ := doc.(string)
	if !strings.HasPrefix(s, "/") {
		return ""
	}
	return s
}
