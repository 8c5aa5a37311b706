package lang

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"brig/brigd/job"
	"brig/internal/words"
	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// Languages are the languages that are available in a kind of jail. Its methods may be called concurrently.
type Languages struct {
	root  *os.File    // of rootfs, during FindFor
	base  nsjail.Spec // the Rootfs, User and Env of the jails; the zero value is the default jail
	dir   string      // directory of the code in the jail
	list  []*language
	names map[string]*language // by name and by alias

	mu      sync.Mutex // guards the following fields, and those of each language
	goCache *nsjail.Mount
}

// language is a row with its programs on this machine.
type language struct {
	row
	programs []program // those that have not failed; the first is used
	asked    bool      // the first program was run
	version  string
	broken   string // why the last program failed

	asking sync.Mutex // held by the goroutine that runs the programs
}

// Info describes an available language.
type Info struct {
	Name string `json:"language"`
	// Version is the version that the program reports, such as "3.11.7". It is "" until Versions has run the program, or
	// if that reports none.
	Version string `json:"version"`
	// Path is the program's path in the jail.
	Path string `json:"path"`
}

// maxShown is how much of a foreign text a message repeats, in bytes.
const maxShown = 40

// The directories of the code. A root file system is read-only and may lack the first one; /tmp is always a file system
// of the jail.
const (
	codeDir      = "/run/brig"
	codeDirImage = "/tmp/.brig"
)

// Find detects the languages in a default jail on this machine.
func Find() *Languages {
	l := &Languages{dir: codeDir}
	l.look()
	return l
}

// FindIn detects the languages in a directory tree that is used as the root of jails (Spec.Rootfs.Path).
func FindIn(rootfs string) (*Languages, error) {
	return FindFor(&nsjail.Spec{Rootfs: nsjail.Rootfs{Path: rootfs}})
}

// FindFor detects the languages in jails with the Rootfs, the User and the variables of a Spec. The lookup of a program
// never leaves the tree.
func FindFor(s *nsjail.Spec) (*Languages, error) {
	rootfs := s.Rootfs.Path
	fd, err := unix.Open(rootfs, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("languages of the image: %w; name a directory tree",
			&os.PathError{Op: "open", Path: rootfs, Err: err})
	}
	l := &Languages{root: os.NewFile(uintptr(fd), rootfs), dir: codeDirImage,
		base: nsjail.Spec{Rootfs: s.Rootfs, User: s.User, Env: s.Env}}
	defer l.root.Close()
	l.look()
	l.root = nil
	return l, nil
}

func (l *Languages) look() {
	l.names = map[string]*language{}
	for _, r := range rows() {
		g := &language{row: r, programs: l.lookup(&r)}
		l.list = append(l.list, g)
		for _, name := range append(r.aliases, r.name) {
			l.names[name] = g
		}
	}
	slices.SortFunc(l.list, func(a, b *language) int { return strings.Compare(a.name, b.name) })
}

// named returns the language with a name or an alias in any case, or nil.
func (l *Languages) named(name string) *language {
	return l.names[strings.ToLower(strings.TrimSpace(name))]
}

// List returns the available languages, sorted by name.
func (l *Languages) List() (list []Info) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.list {
		if len(g.programs) > 0 {
			list = append(list, Info{Name: g.name, Version: g.version, Path: g.programs[0].path})
		}
	}
	return list
}

// find returns a language and the program that runs it.
func (l *Languages) find(name string) (g *language, path string, no *job.Refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.TrimSpace(name) == "" {
		return nil, "", l.refuse("language_unknown", "the request has code and does not say in which language")
	}
	if g = l.named(name); g == nil {
		return nil, "", l.refuse("language_unknown",
			fmt.Sprintf("%q is not a language that brig knows", words.Short(name, maxShown)))
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

// refuse returns a Refusal that lists the available languages. The caller holds l.mu.
func (l *Languages) refuse(code, message string) *job.Refusal {
	var names []string
	for _, g := range l.list {
		if len(g.programs) > 0 {
			names = append(names, g.name)
		}
	}
	step := "Use one of the languages that work here: " + strings.Join(names, ", ") + "."
	if len(names) == 0 {
		step = "No language was found here: send a command instead of code, or install python3."
	}
	return &job.Refusal{Message: message, Code: code, Layer: "request", Rule: "language", NextSteps: []string{step}}
}
