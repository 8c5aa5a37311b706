package config

import (
	"slices"

	"brig/brigd/share"
	"brig/internal/cli"
)

// Shares are the settings of directories that requests may mount, and of the changes that runs make to them.
type Shares struct {
	Written    []string
	List       []share.Share // what is in Written
	ChangesDir string
	AllowApply bool
}

func (s *Shares) flags() []cli.Flag {
	return []cli.Flag{
		{Name: "share", Path: "jails.shares", Args: "NAME=DIR:MODE", To: &s.Written,
			Help: "a directory that requests may mount by this name: ro (read-only), cow (a copy whose changes are kept as a " +
				"change set; with ,size=SIZE, ,inodes=N and ,store=disk after it), or rw (writable, without a quota); " +
				",protect=PATH is a path in it that no run can change; may be repeated"},
		{Name: "changes-dir", Path: "jails.changes_dir", Args: "DIR", To: &s.ChangesDir,
			Help: "where change sets of shares in mode cow are kept, by agent and token; a directory of brigd's if left out"},
		{Name: "allow-apply", Path: "jails.allow_apply", To: &s.AllowApply,
			Help: "let callers apply their change sets to the shares, and remove them"},
	}
}

// check parses Written.
func (s *Shares) check() error {
	for _, text := range s.Written {
		one, err := share.Parse(text)
		if err != nil {
			return wrong(true, "jails.shares", ": %w", err)
		}
		s.List = append(s.List, one)
	}
	return nil
}

func (s *Shares) checkChanges(g given) error {
	return g.useless(!s.HasCOW(),
		" is about shares in mode cow, and there is none; add --share NAME=DIR:cow, or leave it out",
		"jails.changes_dir", "jails.allow_apply")
}

// HasCOW reports whether there is a share whose changes are kept apart.
func (s *Shares) HasCOW() bool {
	return slices.ContainsFunc(s.List, func(one share.Share) bool { return one.Mode == "cow" })
}
