package spec

import (
	"slices"

	"brig/internal/words"
)

// Git is how git directories in writable mounts are shown where Spec.Protect has ProtectGit.
type Git string

// The values of Git.
const (
	// GitData leaves a git directory to a program that mounts a copy-on-write view of it and brings back what is data, as
	// package gitview does. In a bind it is read-only where no such mount is; in a cow all changes are kept anyway.
	GitData Git = "data"
	GitRO   Git = "ro" // read-only
	GitRW   Git = "rw" // as the mount is
)

// GitModes are the values of Git.
var GitModes = []string{string(GitData), string(GitRO), string(GitRW)}

// ReadOnlyGit reports whether git directories of a mount are read-only, if no other mount is there.
func (s *Spec) ReadOnlyGit(cow bool) bool { return s.Git != GitRW && !(cow && s.Git == GitData) }

// checkGit checks Spec.Git.
func checkGit(git Git, protect []string, tier Tier) (c problems) {
	switch {
	case git == "":
	case !slices.Contains(GitModes, string(git)):
		c.add("git", words.Quote(string(git))+" is not how git directories are shown", "write "+words.Or(GitModes))
	case tier == TierProcess && git != GitRW:
		c.add("git", "the process tier mounts nothing, and Landlock cannot take back a part of a writable directory",
			"leave it out for what has no .git, or write rw")
	case tier == "" && !slices.Contains(protect, ProtectGit):
		c.add("git", "no writable mount is protected from what git acts on", "add a writable mount, or leave it out")
	}
	return c
}
