package changes

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Stayed is what Apply does not bring to a git directory: whatever is no data, such as hooks, settings and links.
type Stayed struct {
	// Dir is the git directory, below that of the set; "." if it is that, or above it.
	Dir Name `json:"dir"`
	// Names are the first of the files and directories, in the git directory, and Count is how many these are.
	Names []Name `json:"names"`
	Count int    `json:"count"`
}

const maxStayed = 100

// String returns a sentence without an end, which names the first files.
func (s *Stayed) String() string {
	const most = 4
	names := make([]string, 0, most)
	for _, n := range s.Names[:min(len(s.Names), most)] {
		names = append(names, GitQuote(string(n)))
	}
	text := strings.Join(names, ", ")
	if s.Count > most {
		text += fmt.Sprintf(" and %d more", s.Count-most)
	}
	return fmt.Sprintf("%s: %s stayed behind: only commits, branches and what belongs to them come to a git directory",
		GitQuote(string(s.Dir)), text)
}

// stayed lists what stays behind of the changes.
func (g *gitSort) stayed(files []*File) (list []Stayed) {
	for _, f := range files {
		in := g.sorted[f]
		if !in.stays() {
			continue
		}
		dir := Name(in.dir.path)
		if dir == "" {
			dir = itself
		}
		i := slices.IndexFunc(list, func(s Stayed) bool { return s.Dir == dir })
		if i < 0 {
			i, list = len(list), append(list, Stayed{Dir: dir})
		}
		s := &list[i]
		if slices.Contains(s.Names, Name(in.name)) {
			continue
		}
		if s.Count++; len(s.Names) < maxStayed {
			s.Names = append(s.Names, Name(in.name))
		}
	}
	return list
}

// coming returns the changes as they come to the host, without those that stay behind.
func (g *gitSort) coming(files []*File) (list []*File) {
	for _, f := range files {
		if in := g.sorted[f]; in == nil {
			list = append(list, f)
		} else if in.file != nil {
			list = append(list, in.file)
		}
	}
	return list
}

// free returns whether the options, or the command of the set, name a path in a git directory.
func (s *Set) free(o *ApplyOptions) func(string, *gitDir) bool {
	return func(name string, d *gitDir) bool {
		named := func(by string) bool { // in the git directory, or all of it
			return under(name, by) && (by == name || d.path == "" || under(by, d.path))
		}
		return slices.ContainsFunc(s.Run.Git, func(n Name) bool { return under(name, path.Clean(string(n))) }) ||
			slices.ContainsFunc(o.Allow, func(p string) bool { return p != itself && named(path.Clean(p)) }) ||
			o.Named && slices.ContainsFunc(o.Paths, func(p string) bool {
				by := path.Clean(p)
				return by != itself && named(by) && (by == name || by != d.path)
			})
	}
}
