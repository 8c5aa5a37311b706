// Package house measures the packages of a module. The lint of each module bounds the figures (Ceilings).
package house

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"
)

// Package is a package of ours with its types, without its tests.
type Package struct {
	Room  string // its import path below brig
	Fset  *token.FileSet
	Files []*ast.File
	Types *types.Package
	Uses  map[*ast.Ident]types.Object
}

// loaded are the packages of each directory that Load has been called with, and what was wrong with them.
var loaded = map[string]func() ([]*Package, error){}

// Load parses and checks the packages of the module in dir, once for all tests.
func Load(dir string) ([]*Package, error) {
	if loaded[dir] == nil {
		loaded[dir] = sync.OnceValues(func() ([]*Package, error) { return load(dir) })
	}
	return loaded[dir]()
}

func load(dir string) (all []*Package, err error) {
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
		packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo
	list, err := packages.Load(&packages.Config{Mode: mode, Dir: dir, BuildFlags: []string{"-buildvcs=false"}}, "./...")
	for _, p := range list {
		for _, e := range p.Errors {
			err = errors.Join(err, fmt.Errorf("%s: %w", p.PkgPath, e))
		}
		all = append(all, &Package{strings.TrimPrefix(p.PkgPath, "brig/"), p.Fset, p.Syntax, p.Types, p.TypesInfo.Uses})
	}
	return all, err
}

// Methods returns how many methods each type of a package has.
func Methods(p *Package) map[string]int {
	found := map[string]int{}
	for _, f := range p.Files {
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				if name := receiver(f.Recv.List[0].Type); name != "" {
					found[p.Room+"."+name]++
				}
			}
		}
	}
	return found
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// Fields returns how many fields each struct has that has eight methods or more.
func Fields(p *Package) map[string]int {
	found := map[string]int{}
	acts := Methods(p)
	for _, name := range p.Types.Scope().Names() {
		o, ok := p.Types.Scope().Lookup(name).(*types.TypeName)
		if !ok || o.IsAlias() || acts[p.Room+"."+name] < 8 {
			continue
		}
		if s, ok := o.Type().Underlying().(*types.Struct); ok {
			found[p.Room+"."+name] = s.NumFields()
		}
	}
	return found
}

// Exported returns how many names a package exports, without those of methods and fields.
func Exported(p *Package) map[string]int {
	n := 0
	for _, name := range p.Types.Scope().Names() {
		if token.IsExported(name) {
			n++
		}
	}
	return map[string]int{p.Room: n}
}

// Hundreds returns the hundreds of lines of a package's Go files, rounded up.
func Hundreds(p *Package) map[string]int {
	n := 0
	for _, f := range p.Files {
		if name := p.Fset.File(f.FileStart).Name(); !strings.Contains(name, "_cgo_") {
			n += p.Fset.File(f.FileStart).LineCount()
		}
	}
	return map[string]int{p.Room: (n + 99) / 100}
}

// Circle returns how many files the largest circle of a package has: each uses what another one declares, directly or
// through others.
func Circle(p *Package) map[string]int {
	uses := map[string]map[string]bool{}
	for _, f := range p.Files {
		from := p.Fset.Position(f.Pos()).Filename
		uses[from] = map[string]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			if o := p.Uses[id]; o != nil && o.Pkg() == p.Types && o.Pos().IsValid() && !inFunction(o) {
				if to := p.Fset.Position(o.Pos()).Filename; to != from {
					uses[from][to] = true
				}
			}
			return true
		})
	}
	return map[string]int{p.Room: largest(uses)}
}

// inFunction reports whether an object is declared in a function: a variable, a constant, a type, a label.
func inFunction(o types.Object) bool {
	switch o := o.(type) {
	case *types.Func:
		return false
	case *types.Var:
		return !o.IsField() && o.Parent() != o.Pkg().Scope()
	case *types.PkgName, *types.Label:
		return true
	}
	return o.Parent() != nil && o.Parent() != o.Pkg().Scope()
}

// largest returns the size of the largest set of nodes of which each reaches each other one.
func largest(g map[string]map[string]bool) (most int) {
	reach := map[string]map[string]bool{}
	for from := range g {
		reach[from] = map[string]bool{}
		for next := []string{from}; len(next) > 0; {
			last := next[len(next)-1]
			next = next[:len(next)-1]
			for to := range g[last] {
				if !reach[from][to] {
					reach[from][to] = true
					next = append(next, to)
				}
			}
		}
	}
	for a := range g {
		n := 1
		for b := range g {
			if a != b && reach[a][b] && reach[b][a] {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
