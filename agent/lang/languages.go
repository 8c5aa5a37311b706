package lang

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// Languages are those that a kind of jail has. Its methods may be called from several goroutines.
type Languages struct {
	rootfs string   // as Spec.Rootfs.Path; "" is the default jail
	root   *os.File // of that tree, while it is looked at
	dir    string   // where code is put in the jail
	rows   []row
	names  map[string]*language // by name and by alias

	mu      sync.Mutex // of what follows, and of each language
	goCache *nsjail.Mount
}

// language is a row on this machine.
type language struct {
	*row
	programs []program // what is left of them; the first is used
	asked    bool      // the first has run
	version  string
	broken   string // why the last of them did not work

	asking sync.Mutex // one goroutine tries it at a time
}

// Info describes a language that works here.
type Info struct {
	Name string `json:"language"`
	// Version is as the program itself says, "3.11.7"; "" as long as Versions has not asked it, or if it does not say.
	Version string `json:"version"`
	// Path is the program's path in the jail.
	Path string `json:"path"`
	// Aliases are other names that Prepare takes.
	Aliases []string `json:"aliases,omitempty"`
}

// The directories of the code. An image has a read-only root, which need not have the first; its /tmp is the jail's
// own.
const (
	codeDir      = "/run/brig"
	codeDirImage = "/tmp/.brig"
)

// Find looks at what a default jail shows of this machine.
func Find() *Languages {
	l := &Languages{dir: codeDir}
	l.look()
	return l
}

// FindIn looks at a directory tree that is to be the root of jails (Spec.Rootfs.Path).
func FindIn(rootfs string) (*Languages, error) {
	fd, err := unix.Open(rootfs, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("languages of the image: %w; name a directory tree",
			&os.PathError{Op: "open", Path: rootfs, Err: err})
	}
	l := &Languages{rootfs: rootfs, root: os.NewFile(uintptr(fd), rootfs), dir: codeDirImage}
	defer l.root.Close()
	l.look()
	l.root = nil
	return l, nil
}

func (l *Languages) look() {
	l.rows, l.names = rows(), map[string]*language{}
	for i := range l.rows {
		r := &l.rows[i]
		g := &language{row: r, programs: l.lookup(r)}
		l.names[r.name] = g
		for _, alias := range r.aliases {
			l.names[alias] = g
		}
	}
}

// List returns the languages that there are, sorted by name.
func (l *Languages) List() (list []Info) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.rows {
		if g := l.names[l.rows[i].name]; len(g.programs) > 0 {
			list = append(list, Info{Name: g.name, Version: g.version, Path: g.programs[0].path,
				Aliases: slices.Clone(g.aliases)})
		}
	}
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Name is the name in List of a language that may be called by an alias and in any case; "" for one that is not known.
func (l *Languages) Name(language string) string {
	if g := l.names[strings.ToLower(strings.TrimSpace(language))]; g != nil {
		return g.name
	}
	return ""
}

// find returns a language and the program that runs it.
func (l *Languages) find(name string) (g *language, path string, no *nsjail.Refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.TrimSpace(name) == "" {
		return nil, "", l.refuse("language_unknown", "the request has code and does not say in which language")
	}
	g = l.names[strings.ToLower(strings.TrimSpace(name))]
	if g == nil {
		return nil, "", l.refuse("language_unknown", fmt.Sprintf("%q is not a language that brig knows", cut(name)))
	}
	if len(g.programs) > 0 {
		return g, g.programs[0].path, nil
	}
	why := "the jail has none of its programs: " + strings.Join(g.row.programs, ", ")
	if g.broken != "" {
		why = "its program does not work in a jail: " + g.broken
	}
	return nil, "", l.refuse("language_missing", fmt.Sprintf("%s is not available here: %s", g.name, why))
}

// refuse returns a Refusal that names what there is instead. The caller holds l.mu.
func (l *Languages) refuse(code, message string) *nsjail.Refusal {
	var names []string
	for i := range l.rows {
		if g := l.names[l.rows[i].name]; len(g.programs) > 0 {
			names = append(names, g.name)
		}
	}
	slices.Sort(names)
	r := &nsjail.Refusal{Message: message, Code: code, Layer: "request", Rule: "language"}
	if len(names) == 0 {
		r.NextSteps = []string{"No language was found here: send a command instead of code, or install python3."}
		return r
	}
	r.NextSteps = []string{"Use one of the languages that work here: " + strings.Join(names, ", ") + "."}
	return r
}

// cut keeps a text that a caller has sent from filling an answer.
func cut(s string) string {
	const most = 40
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
