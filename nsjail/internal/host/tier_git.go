package host

import (
	"os"
	"strconv"

	"brig/internal/repository"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/spec"
)

// tierGit refuses a writable directory of a git repository, or one that holds some: git(1) of the host would execute
// what the payload has written there. Landlock cannot take back a part of a directory, and nothing is mounted.
func (h *looker) tierGit() error {
	s := h.spec
	var dirs, fields []string
	for i, m := range s.Mounts {
		src := h.Sources.Of(i)
		if !m.Writable || s.Git == spec.GitRW || src == nil {
			continue
		}
		real, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(src.Fd))
		if err != nil {
			return err
		}
		dirs, fields = append(dirs, real), append(fields, SourceOf(i).String())
	}
	if len(dirs) == 0 {
		return nil
	}
	found := repository.Find(repository.Query{Dirs: dirs, Env: os.Getenv, UID: h.UID})
	for i, dir := range dirs {
		what := ""
		for _, tree := range found.Trees {
			if sys.Under(tree, dir) {
				what = tree
			}
		}
		for _, g := range found.GitDirs {
			if sys.Under(g.Path, dir) || repository.Within(dir, []repository.GitDir{g}) != "" {
				what = g.Path
			}
		}
		if what != "" {
			return spec.CallerError(fields[i], words.Quote(dir)+" has a git repository or is in one ("+words.Quote(what)+
				"), and git of the host executes hooks and settings that are written there: the process tier cannot keep a part "+
				"of a writable directory read-only", "use "+words.Set("git", spec.GitRW)+" to let the command write "+
				"them, "+spec.ShowReadOnly("DIR", "DIR")+", or the default tier, which brings back commits alone")
		}
	}
	for _, p := range found.Problems {
		if p.Note {
			h.Partial = append(h.Partial, words.Textf("git: %s %s; %s", words.Quote(p.Path), p.Why, p.Remedy))
		}
	}
	return nil
}
