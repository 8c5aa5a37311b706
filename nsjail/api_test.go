package nsjail

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/golden"
	"brig/internal/test/must"
)

// TestAPI compares the exported names with a list: programs that embed the package use them, and no longer build if one
// is gone.
func TestAPI(t *testing.T) {
	if asuser.Second() {
		t.Skip("the second run is away from the source, and the first has compared it")
	}
	files := token.NewFileSet()
	var sources []*ast.File
	for _, name := range must.Get(filepath.Glob("*.go"))(t) {
		if !strings.HasSuffix(name, "_test.go") {
			sources = append(sources, must.Get(parser.ParseFile(files, name, nil, parser.SkipObjectResolution))(t))
		}
	}
	p := must.Get(doc.NewFromFiles(files, sources, "brig/nsjail"))(t)
	var names []string
	values := func(list []*doc.Value) {
		for _, v := range list {
			names = append(names, v.Names...)
		}
	}
	functions := func(of string, list []*doc.Func) {
		for _, f := range list {
			names = append(names, of+f.Name)
		}
	}
	values(append(p.Consts, p.Vars...))
	functions("", p.Funcs)
	for _, typ := range p.Types {
		names = append(names, typ.Name)
		values(append(typ.Consts, typ.Vars...))
		functions("", typ.Funcs)
		functions(typ.Name+".", typ.Methods)
	}
	slices.Sort(names)
	golden.File(t, "testdata/api.golden", strings.Join(names, "\n")+"\n")
}
