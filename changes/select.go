package changes

import (
	"errors"
	"path"
	"slices"

	"brig/internal/words"
)

// choose returns the changes at and below paths, and what these need: a directory that the run has made, or put in the
// place of a file, is chosen with what is in it. No paths choose all.
func choose(files []*File, paths []string) ([]*File, error) {
	if len(paths) == 0 {
		return files, nil
	}
	wanted := make(map[string]bool, len(paths)) // whether something has changed there
	for _, p := range paths {
		if path.IsAbs(p) || p == "" {
			return nil, errors.New(words.Quote(p) + " is not a path below the directory; name it as brig diff does")
		}
		clean := path.Clean(p)
		if clean == "." {
			return files, nil
		}
		wanted[clean] = false
	}
	chosen := map[string]bool{} // whether the change is named, and not needed by one that is
	for _, f := range files {
		for p := string(f.Path); p != ""; p, _ = split(p) {
			if _, ok := wanted[p]; ok {
				wanted[p], chosen[string(f.Path)] = true, true
			}
		}
	}
	for _, p := range paths {
		if !wanted[path.Clean(p)] {
			return nil, words.Error(words.Plain(words.Quote(p)+" has not changed") +
				words.Clause("; "+words.Field("diff.name_only")+" lists what has"))
		}
	}
	for _, f := range files {
		if !chosen[string(f.Path)] || f.New == nil {
			continue
		}
		for dir, _ := split(string(f.Path)); dir != ""; dir, _ = split(dir) {
			if _, ok := chosen[dir]; !ok {
				chosen[dir] = false
			}
		}
	}
	var list []*File
	for _, f := range files {
		named, ok := chosen[string(f.Path)]
		if ok && (named || !kindIs(f.New, Directory) || !kindIs(f.Old, Directory)) {
			list = append(list, f)
		}
	}
	return list, nil
}

// Change is a File as a reader sees it.
type Change struct {
	*File
	From *File // the deleted file that the run has moved here; nil for others

	git *inGit
}

// Stays reports whether Apply leaves the change out, since it is in a git directory and no data: ApplyOptions.Named.
func (c *Change) Stays() bool { return c.git.stays() }

// withRenames pairs deleted regular files with added ones that have the same content, in the order of their paths.
func withRenames(files []*File) []Change {
	gone := map[string][]*File{}
	moved := map[*File]bool{}
	for _, f := range files {
		if f.Op() == "deleted" && f.Old.Kind == Regular && f.Old.Size > 0 && f.Old.SHA256 != "" {
			gone[f.Old.SHA256] = append(gone[f.Old.SHA256], f)
		}
	}
	list := make([]Change, 0, len(files))
	for _, f := range files {
		c := Change{File: f}
		if f.Op() == "added" && f.New.Kind == Regular {
			if old := gone[f.New.SHA256]; len(old) > 0 {
				c.From, gone[f.New.SHA256] = old[0], old[1:]
				moved[old[0]] = true
			}
		}
		list = append(list, c)
	}
	return slices.DeleteFunc(list, func(c Change) bool { return moved[c.File] })
}

// CountOf returns how many files and directories a list of changes concerns.
func CountOf(list []Change) (files, dirs int) {
	for _, c := range list {
		if c.IsDirectory() {
			dirs++
		} else {
			files++
		}
	}
	return files, dirs
}
