package wish

import (
	"slices"
	"strings"

	"brig/internal/cli"
	"brig/nsjail/spec"
)

// protection applies the flags for what the payload may not change in writable mounts.
type protection struct {
	*sheet
	off bool // --no-protect without a path
}

func (p *protection) flags() []cli.Flag {
	return []cli.Flag{
		{Name: "protect", Args: "PATH", Many: true, Set: p.setProtect,
			Help: "let the payload neither change nor create PATH, in each writable mount, or at /PATH of the jail; " +
				spec.ProtectGit + " is for files that git and other tools act on, the default for flags that bind " +
				"a directory of a git repository writable"},
		{Name: "no-protect", Args: "PATH", Many: true,
			Set:  p.list("protect", &p.spec.Protect, func(path string) string { return "!" + clean(path) }),
			Bare: cli.Switch(&p.off, true),
			Help: "do not protect PATH, or without =PATH, nothing by default"},
		{Name: "git", Args: "MODE", Path: "git", Words: spec.GitModes, Set: cli.Text(&p.spec.Git, "data"),
			Help: "show git directories writable, of which only data comes back (data, the default), read-only, or all (rw)"},
	}
}

func (p *protection) setProtect(v []string) error {
	p.note("protect")
	p.add("protect", &p.spec.Protect, clean(v[0]))
	return nil
}

// clean removes slashes from the end of a path, which a shell's completion adds.
func clean(p string) string {
	if len(p) > 1 {
		return p[:1] + strings.TrimRight(p[1:], "/")
	}
	return p
}

// byDefault protects the files of a git repository if a flag shows a directory writable.
func (p *protection) byDefault() {
	for i, m := range p.spec.Mounts {
		if p.from.Of(place("mounts", i)) != "" && m.Writes() && !p.off && !slices.Contains(p.spec.Protect, spec.ProtectGit) {
			p.spec.Protect = append(p.spec.Protect, spec.ProtectGit)
			p.from.Set("protect", "--protect")
		}
	}
}
