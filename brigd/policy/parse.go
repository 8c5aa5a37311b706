package policy

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"brig/internal/strictjson"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// builtIn holds the built-in profiles.
//
//go:embed profiles/*.json
var builtIn embed.FS

// maxDepth is the longest chain of profiles that extend each other.
const maxDepth = 16

// Parse reads a policy from JSON. Unknown keys, duplicate keys, values of the wrong type and problems found by Check
// are errors that name the JSON path. A profile named by extends is taken from the built-in ones.
func Parse(data []byte) (*Policy, error) { return ParseIn("", data) }

// ParseIn is Parse, but looks for a profile named by extends in the directory dir first, unless dir is "".
func ParseIn(dir string, data []byte) (*Policy, error) {
	return loader{dir: dir}.parse(data)
}

// LoadProfile reads the file NAME.json in the directory dir, unless dir is "" or has no such file; then it reads the
// built-in profile of that name.
func LoadProfile(dir, name string) (*Policy, error) {
	return loader{dir: dir}.load(name)
}

// BuiltIn returns the sorted names of the built-in profiles.
func BuiltIn() []string {
	list, err := builtIn.ReadDir("profiles")
	if err != nil {
		return nil // cannot happen: the directory is embedded
	}
	var names []string
	for _, e := range list {
		names = append(names, strings.TrimSuffix(e.Name(), ".json"))
	}
	return names
}

// Profiles returns the sorted names of the profiles that LoadProfile finds: the files in dir, unless dir is "", and the
// built-in ones.
func Profiles(dir string) ([]string, error) {
	names := BuiltIn()
	if dir != "" {
		list, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("the directory of profiles: %w; make it, or leave it out", err)
		}
		for _, e := range list {
			if name, ok := strings.CutSuffix(e.Name(), ".json"); ok && validName(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// loader reads profiles and the profiles that they extend.
type loader struct {
	dir   string
	chain []string // names of the profiles being loaded, to detect cycles
}

func (l loader) load(name string) (*Policy, error) {
	if !validName(name) {
		return nil, fmt.Errorf("%s is not a profile's name; write lower-case letters, digits, '-', '_' and '.'",
			words.QuoteASCII(name))
	}
	if slices.Contains(l.chain, name) {
		return nil, fmt.Errorf("extends: %s extends itself; name another profile", strings.Join(append(l.chain, name),
			" -> "))
	}
	if len(l.chain) >= maxDepth {
		return nil, fmt.Errorf("extends: more than %d profiles extend each other; shorten the chain", maxDepth)
	}
	l.chain = append(slices.Clone(l.chain), name)
	data, err := l.read(name)
	if err != nil {
		return nil, err
	}
	p, err := l.parse(data)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", name, err)
	}
	if p.Name != name && p.Name != "" {
		return nil, fmt.Errorf("profile %s: name: it is %s; write the file's name, or leave it out", name,
			words.QuoteASCII(p.Name))
	}
	p.Name = name
	return p, nil
}

func (l loader) read(name string) ([]byte, error) {
	if l.dir != "" {
		root, err := os.OpenRoot(l.dir)
		if err != nil {
			return nil, fmt.Errorf("the directory of profiles: %w; make it, or leave it out", err)
		}
		defer root.Close()
		data, err := readBounded(root, name+".json")
		if !errors.Is(err, fs.ErrNotExist) {
			return data, wrap("profile "+name, err)
		}
	}
	data, err := builtIn.ReadFile("profiles/" + name + ".json")
	if err != nil {
		return nil, fmt.Errorf("there is no profile %s; write one of %s", name, strings.Join(BuiltIn(), ", "))
	}
	return data, nil
}

// readBounded reads a regular file of limited size. With O_NONBLOCK, opening a FIFO does not block.
func readBounded(root *os.Root, name string) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file; write a file")
	}
	return io.ReadAll(io.LimitReader(f, MaxSize+1))
}

// parse reads a policy and merges it into the profile that it extends.
func (l loader) parse(data []byte) (*Policy, error) {
	p := &Policy{}
	if err := document.Read(data, p.fields()); err != nil {
		return nil, err
	}
	if name := p.Extends; name != "" {
		base, err := l.load(name)
		if err != nil {
			return nil, wrapExtends(name, err)
		}
		base.Name, base.Description = "", ""
		if err := document.Read(data, base.fields()); err != nil {
			return nil, err
		}
		p = base
	}
	p.defaults()
	if problems := p.Check(); len(problems) > 0 {
		return nil, errors.New(strings.Join(problems, "; "))
	}
	return p, nil
}

func wrapExtends(name string, err error) error {
	if strings.HasPrefix(err.Error(), "extends: ") {
		return err
	}
	return fmt.Errorf("extends: %s: %w", words.QuoteASCII(name), err)
}

// fields returns the keys of a policy. $schema is for editors.
func (p *Policy) fields() []strictjson.Field {
	return append([]strictjson.Field{{Name: "$schema", To: new(string)}}, strictjson.Fields(p)...)
}

// defaults fills in the lists that have a default other than "nothing".
func (p *Policy) defaults() {
	if p.Open {
		return
	}
	if p.Paths.Roots == nil {
		p.Paths.Roots = []string{""}
	}
	if p.Network.Modes == nil {
		p.Network.Modes = []spec.Net{nsjail.NetNone, nsjail.NetLoopback}
	}
	if p.Seccomp == nil {
		p.Seccomp = []string{"default"}
	}
}

func validName(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == "" &&
		!strings.ContainsAny(name[:1], "._-")
}
