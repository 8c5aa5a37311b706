package lint

import (
	"go/ast"
	"go/types"
	"testing"

	"brig/internal/test/house"
)

// TestHostIsReadOnly: what Look has found is never written to afterwards, so that explain prints what run performs. The
// compiler cannot hold that: a Host is printed as JSON, and its fields are exported.
func TestHostIsReadOnly(t *testing.T) {
	const room = "nsjail/internal/host"
	all, err := house.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, p := range all {
		for _, f := range p.Files {
			ast.Inspect(f, func(n ast.Node) bool {
				var to []ast.Expr
				switch n := n.(type) {
				case *ast.AssignStmt:
					to = n.Lhs
				case *ast.IncDecStmt:
					to = []ast.Expr{n.X}
				}
				for _, e := range to {
					if name := hostField(p, e); name == "" {
						continue
					} else if seen++; p.Room != room {
						t.Errorf("%s: it writes the field %s of a Host", p.Fset.Position(e.Pos()), name)
					}
				}
				return true
			})
		}
	}
	if seen < 20 {
		t.Errorf("%s itself writes %d fields: the test is broken", room, seen)
	}
}

// hostField returns the name of a field that an expression writes, or an element of it, if it is one of a Host or of its
// parts; "" for any other.
func hostField(p *house.Package, e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.SelectorExpr:
			v, ok := p.Uses[x.Sel].(*types.Var)
			if !ok || !v.IsField() || v.Pkg() == nil {
				return ""
			}
			if v.Pkg().Path() == "brig/nsjail/internal/host" && partOfHost(v) {
				return v.Name()
			}
			e = x.X
		default:
			return ""
		}
	}
}

// partOfHost reports whether a field is one of Host, or of a struct that is embedded in it.
func partOfHost(v *types.Var) bool {
	host, ok := v.Pkg().Scope().Lookup("Host").Type().Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for i := range host.NumFields() {
		if host.Field(i) == v {
			return true
		}
		part, ok := host.Field(i).Type().Underlying().(*types.Struct)
		for j := 0; ok && host.Field(i).Embedded() && j < part.NumFields(); j++ {
			if part.Field(j) == v {
				return true
			}
		}
	}
	return false
}
