package changes

import "slices"

// Folded is a git directory of which Fold has taken what git itself keeps there.
type Folded struct {
	Dir         string
	Files, Dirs int
}

// Fold splits the changes that Set.Changes has returned: what git itself keeps in a git directory, such as objects,
// references and the index, is counted, and all else is in rest. Settings, hooks and links, which git would execute or
// follow, are in rest.
func Fold(list []Change) (rest []Change, folded []Folded) {
	for _, c := range list {
		if !c.git.data() {
			rest = append(rest, c)
			continue
		}
		dir := c.git.dir.path
		if dir == "" {
			dir = itself
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
