package schema

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"brig/internal/test/golden"
	"brig/internal/test/must"
)

// described are the packages, or the files, whose types the faces show.
var described = []string{"../../../nsjail", "../../../denial", "../../engine", "../../job", "../../workspace", "../api", "../front", "../live", "../mcp", "../ring",
	"../../../cgroup/live_usage.go"}

// TestDescriptions: descriptions.json is what the doc comments of the source say.
func TestDescriptions(t *testing.T) {
	found := map[string]string{}
	for _, dir := range described {
		if filepath.Ext(dir) == "" {
			dir = filepath.Join(dir, "*.go")
		}
		files := must.Get(filepath.Glob(dir))(t)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f := must.Get(parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments))(t)
			ast.Inspect(f, func(n ast.Node) bool {
				if g, ok := n.(*ast.GenDecl); ok && g.Tok == token.TYPE {
					for _, spec := range g.Specs {
						comments(found, f.Name.Name, g, spec.(*ast.TypeSpec))
					}
				}
				return true
			})
		}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "\t")
	must.Do(t, enc.Encode(found))
	golden.File(t, "descriptions.json", text.String()) // docs/openapi.json of package api has them, too
	if found["engine.Request.Timeout"] == "" || found["job.Refusal.Code"] == "" {
		t.Errorf("the test has found no comments: %d", len(found))
	}
}

// comments collects what is said of the fields of a struct that has some in JSON.
func comments(found map[string]string, pkg string, g *ast.GenDecl, spec *ast.TypeSpec) {
	s, ok := spec.Type.(*ast.StructType)
	if !ok || !spec.Name.IsExported() && pkg != "mcp" || pkg == "nsjail" && spec.Name.Name != "Usage" {
		return
	}
	shown := false
	names := map[string]string{}
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			if f.Tag != nil {
				names[name.Name], _, _ = strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
			}
		}
	}
	for _, f := range s.Fields.List {
		if f.Tag == nil || !strings.Contains(f.Tag.Value, "json:") || strings.Contains(f.Tag.Value, `json:"-"`) {
			continue
		}
		shown = true
		text := f.Doc.Text()
		if text == "" {
			text = f.Comment.Text()
		}
		for _, name := range f.Names {
			if text != "" {
				found[pkg+"."+spec.Name.Name+"."+name.Name] = said(text, names)
			}
		}
	}
	if shown && spec.Name.IsExported() {
		doc := spec.Doc
		if doc == nil {
			doc = g.Doc
		}
		found[pkg+"."+spec.Name.Name] = said(doc.Text(), names)
	}
}

var word = regexp.MustCompile(`(^|[^.\w])[A-Z]\w*`)

// said is a comment in one line, with the fields called as JSON calls them.
func said(text string, names map[string]string) string {
	return word.ReplaceAllStringFunc(strings.Join(strings.Fields(text), " "), func(w string) string {
		at := strings.IndexFunc(w, unicode.IsUpper)
		if json := names[w[at:]]; json != "" && json != "-" {
			return w[:at] + json
		}
		return w
	})
}
