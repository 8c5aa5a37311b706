package changes

import (
	"path"
	"slices"
	"strings"
)

// Folded is a git directory of which Fold has taken what git itself keeps there.
type Folded struct {
	Dir         string
	Files, Dirs int
}

// Fold splits the changes: what git itself keeps in a directory .git, such as objects, references and the index, is
// counted, and all else is in rest. Settings, hooks and links, which git would execute or follow, are in rest.
func Fold(list []Change) (rest []Change, folded []Folded) {
	for _, c := range list {
		dir := gitData(c.File)
		if dir == "" || c.From != nil && gitData(c.From) == "" {
			rest = append(rest, c)
			continue
		}
		i := slices.IndexFunc(folded, func(f Folded) bool { return f.Dir == dir })
		if i < 0 {
			i, folded = len(folded), append(folded, Folded{Dir: dir})
		}
		files, dirs := CountOf([]Change{c})
		folded[i].Files += files
		folded[i].Dirs += dirs
	}
	return rest, folded
}

// gitData returns the directory .git that a change of git's own data is in, or "".
func gitData(f *File) string {
	full := "/" + string(f.Path)
	i := strings.LastIndex(full, "/.git/")
	if i < 0 || kindIs(f.Old, Symlink, Other) || kindIs(f.New, Symlink) {
		return ""
	}
	dir, name := full[1:i+5], full[i+6:]
	first, _, _ := strings.Cut(name, "/")
	switch first {
	case "objects":
		if strings.HasPrefix(name, "objects/info") { // alternates
			return ""
		}
		return dir
	case "refs", "logs":
		return dir
	}
	if kindIs(f.Old, Directory) || kindIs(f.New, Directory) || first != name {
		return ""
	}
	for _, pattern := range []string{"HEAD", "*_HEAD", "*_MSG", "index", "packed-refs", "shallow"} {
		if ok, err := path.Match(pattern, name); ok && err == nil {
			return dir
		}
	}
	return ""
}
