package lint

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// checked is a package of ours with its types, without its tests.
type checked struct {
	room  string // its path in the source
	fset  *token.FileSet
	files []*ast.File
	pkg   *types.Package
	uses  map[*ast.Ident]types.Object
}

// check parses the packages of both modules, and finds out the types by what the compiler has exported of the others.
func check(t *testing.T) (all []checked) {
	t.Helper()
	listed := list(t, "-export", "-deps", "./...", "./brigd/...")
	export := map[string]string{}
	for _, p := range listed {
		export[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(export[path]) })
	for _, p := range listed {
		if !strings.HasPrefix(p.ImportPath, "brig/") {
			continue
		}
		c := checked{room: strings.TrimPrefix(p.ImportPath, "brig/"), fset: fset, uses: map[*ast.Ident]types.Object{}}
		for _, name := range append(p.GoFiles, p.CgoFiles...) {
			f := must.Get(parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution))(t)
			c.files = append(c.files, f)
		}
		config := types.Config{Importer: from, FakeImportC: true, Error: func(error) {}} // what C declares has no type
		var err error
		if c.pkg, err = config.Check(p.ImportPath, fset, c.files, &types.Info{Uses: c.uses}); len(p.CgoFiles) == 0 {
			must.Do(t, err)
		}
		all = append(all, c)
	}
	return all
}

// methods returns how many methods each type of a package has.
func methods(p *checked) map[string]int {
	found := map[string]int{}
	for _, f := range p.files {
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				if name := receiver(f.Recv.List[0].Type); name != "" {
					found[p.room+"."+name]++
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

// fields returns how many fields each struct has that has eight methods or more.
func fields(p *checked) map[string]int {
	found := map[string]int{}
	acts := methods(p)
	for _, name := range p.pkg.Scope().Names() {
		o, ok := p.pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || o.IsAlias() || acts[p.room+"."+name] < 8 {
			continue
		}
		if s, ok := o.Type().Underlying().(*types.Struct); ok {
			found[p.room+"."+name] = s.NumFields()
		}
	}
	return found
}

// exported returns how many names a package exports, without those of methods and fields.
func exported(p *checked) map[string]int {
	n := 0
	for _, name := range p.pkg.Scope().Names() {
		if token.IsExported(name) {
			n++
		}
	}
	return map[string]int{p.room: n}
}

// circle returns how many files the largest circle of a package has: each uses what another one declares, directly or
// through others.
func circle(p *checked) map[string]int {
	uses := map[string]map[string]bool{}
	for _, f := range p.files {
		from := p.fset.Position(f.Pos()).Filename
		uses[from] = map[string]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			if o := p.uses[id]; o != nil && o.Pkg() == p.pkg && o.Pos().IsValid() && !inFunction(o) {
				if to := p.fset.Position(o.Pos()).Filename; to != from {
					uses[from][to] = true
				}
			}
			return true
		})
	}
	return map[string]int{p.room: largest(uses)}
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
