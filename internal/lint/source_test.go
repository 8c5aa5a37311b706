package lint

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"brig/internal/test/must"
)

const (
	maxFile        = 300 // lines
	maxFunc        = 60
	maxColumns     = 120 // a tab is one
	maxVague       = 5   // comments with "gives" or "says"
	maxMain        = 40
	maxInterpreter = 208 // lines of interpret.c, which the launcher and each jail run
	maxInit        = 83  // statements of init.c: process 1 of a jail
	maxAllC        = 738 // of all the C, with the keeper's part and the shared layouts
)

// binaries are the files that may hold other than text.
var binaries = regexp.MustCompile(`^seccomp/built/\w+_amd64\.bpf$|^cmd/brig-bench/internal/peers/docker_amd64\.bpf$`)

// source is a Go file that is not a test.
type source struct {
	path string // from the root
	text []byte
	file *ast.File
	fset *token.FileSet
}

// tree visits every file of the module that a commit would hold.
func tree(t *testing.T, visit func(path string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() && (rel == ".git" || rel == "bin" || rel == "dist") {
			return filepath.SkipDir
		}
		if !d.Type().IsRegular() || strings.HasSuffix(rel, ".test") || rel == ".git" { // a file in a linked worktree
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			visit(rel, text)
		}
		return err
	})
	must.Do(t, err)
}

func sources(t *testing.T) (list []source) {
	t.Helper()
	tree(t, func(path string, text []byte) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return
		}
		fset := token.NewFileSet()
		f := must.Get(parser.ParseFile(fset, path, text, parser.ParseComments))(t)
		list = append(list, source{path, text, f, fset})
	})
	if len(list) < 50 {
		t.Fatalf("only %d Go files found", len(list))
	}
	return list
}

func TestSizes(t *testing.T) {
	for _, s := range sources(t) {
		if n := bytes.Count(s.text, []byte{'\n'}); n > maxFile {
			t.Errorf("%s has %d lines, more than %d", s.path, n, maxFile)
		} else if strings.HasSuffix(s.path, "/main.go") && (strings.HasPrefix(s.path, "cmd/") || strings.HasPrefix(s.path, "brigd/cmd/")) && n > maxMain {
			t.Errorf("%s has %d lines, more than %d", s.path, n, maxMain)
		}
		for i, line := range strings.Split(string(s.text), "\n") {
			if utf8.RuneCountInString(line) > maxColumns {
				t.Errorf("%s:%d has more than %d columns", s.path, i+1, maxColumns)
			}
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				if n := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1; n > maxFunc {
					t.Errorf("%s: %s has %d lines, more than %d", s.path, f.Name, n, maxFunc)
				}
			}
		}
	}
}

// TestPlainComments: a function returns or sets, and a predicate reports whether; "gives" and "says" leave open which.
func TestPlainComments(t *testing.T) {
	vague := regexp.MustCompile(`(?m)^\s*//.*\b(gives|says)\b.*$`)
	var found []string
	tree(t, func(path string, text []byte) {
		if strings.HasSuffix(path, ".go") {
			for _, line := range vague.FindAllString(string(text), -1) {
				found = append(found, path+": "+strings.TrimSpace(line))
			}
		}
	})
	if len(found) > maxVague {
		t.Errorf("%d comments have 'gives' or 'says', more than %d:\n%s", len(found), maxVague, strings.Join(found, "\n"))
	}
}

// TestTextsAreMade: foreign bytes in a message are taken for no reference, since only words.Plain and its like make a Text
// of a string that is not constant.
func TestTextsAreMade(t *testing.T) {
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			to, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || to.Sel.Name != "Text" {
				return true
			}
			of, ok := to.X.(*ast.Ident)
			if ok && (of.Name == "words" || of.Name == "spec") && !constant(call.Args[0]) {
				t.Errorf("%s: a string is converted to a Text; use words.Plain", s.fset.Position(call.Pos()))
			}
			return true
		})
	}
}

// constant reports whether an expression is a sum of literals.
func constant(e ast.Expr) bool {
	if sum, is := e.(*ast.BinaryExpr); is {
		return constant(sum.X) && constant(sum.Y)
	}
	_, is := e.(*ast.BasicLit)
	return is
}

// There is one init, the launcher's constructor in C: it must run before the Go runtime.
func TestOneInit(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s has an init()", s.path)
			}
		}
	}
	var where []string
	tree(t, func(path string, text []byte) {
		if ext := filepath.Ext(path); ext == ".c" || ext == ".h" || ext == ".go" && !strings.HasSuffix(path, "_test.go") {
			for range bytes.Count(text, []byte("__attribute__((constructor))")) {
				where = append(where, path)
			}
		}
	})
	if !slices.Equal(where, []string{"nsjail/internal/launcher/keeper.c"}) {
		t.Errorf("C constructors in %q", where)
	}
}

// Only a main may end the process; below it an error goes to the caller.
func TestNoExitBelowCmd(t *testing.T) {
	banned := map[string][]string{"os": {"Exit"}, "log": {"Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln"},
		"syscall": {"Exit"}, "unix": {"Exit"}, "runtime": {"Goexit"}}
	for _, s := range sources(t) {
		if s.file.Name.Name == "main" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(banned[x.Name], sel.Sel.Name) {
					t.Errorf("%s: %s.%s", s.fset.Position(sel.Pos()), x.Name, sel.Sel.Name)
				}
			}
			return true
		})
	}
}

// TestProcessIsItsCallers: a library sets nothing that the whole process shares: files that others make at that moment
// get other modes, and two callers restore each other's.
func TestProcessIsItsCallers(t *testing.T) {
	shared := []string{"Umask", "Chdir", "Fchdir", "Chroot"}
	for _, s := range sources(t) {
		if strings.HasPrefix(strings.TrimPrefix(s.path, "brigd/"), "cmd/") || strings.HasPrefix(s.path, "internal/test/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && slices.Contains([]string{"os", "unix", "syscall"}, x.Name) && slices.Contains(shared, sel.Sel.Name) {
					t.Errorf("%s: %s.%s", s.fset.Position(sel.Pos()), x.Name, sel.Sel.Name)
				}
			}
			return true
		})
	}
}

func TestEverythingExportedHasADocComment(t *testing.T) {
	docs := map[string]bool{}
	for _, s := range sources(t) {
		dir := filepath.Dir(s.path)
		docs[dir] = docs[dir] || s.file.Doc != nil
		for _, d := range s.file.Decls {
			undocumented(t, s, d)
		}
	}
	for dir, ok := range docs {
		if !ok {
			t.Errorf("package %s has no doc comment", dir)
		}
	}
}

func undocumented(t *testing.T, s source, d ast.Decl) {
	t.Helper()
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d.Recv)) {
			t.Errorf("%s: %s has no doc comment", s.fset.Position(d.Pos()), d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() && d.Doc == nil && spec.Doc == nil {
					t.Errorf("%s: %s has no doc comment", s.fset.Position(spec.Pos()), spec.Name)
				}
			case *ast.ValueSpec:
				if spec.Names[0].IsExported() && d.Doc == nil && spec.Doc == nil && spec.Comment == nil {
					t.Errorf("%s: %s has no doc comment", s.fset.Position(spec.Pos()), spec.Names[0])
				}
			}
		}
	}
}

func exportedReceiver(r *ast.FieldList) bool {
	e := r.List[0].Type
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	id, ok := e.(*ast.Ident)
	return ok && id.IsExported()
}

var (
	cNoise       = regexp.MustCompile(`(?m)//.*|"(\\.|[^"\\])*"|'.'|^#.*(\\\n.*)*`)
	cInitializer = regexp.MustCompile(`([=({,]\s*|\)|\benum (\w+ )?)$`) // before a brace that opens no block
)

// cStatements counts the statements and declarations of C, also those that are joined by a comma: what cannot be made
// fewer by fewer lines.
func cStatements(text string) (n int) {
	text = cNoise.ReplaceAllString(text, "")
	var open []bool // whether it encloses statements, and not an expression
	for i, c := range text {
		switch c {
		case '(', '[':
			open = append(open, false)
		case '{':
			open = append(open, !cInitializer.MatchString(text[max(0, i-20):i]))
		case ')', ']', '}':
			open = open[:len(open)-1]
		case ';', ',':
			if !slices.Contains(open, false) {
				n++
			}
		}
	}
	return n
}

func TestCStatements(t *testing.T) {
	for text, want := range map[string]int{
		"int a;":                  1,
		"int a, b = f(1, 2), c;":  3,
		"a = 1, b = 2; // c = 3;": 2,
		"enum e { A, B };":        1,
		"for (i = 0; i < n; i++) { f(\"a;b\"); struct s x = {1, 2}; }": 2,
		"struct s { int a, b; };":                                      3,
		"static void f(int a, int b) { g((struct s){1, 2}); h(); }":    2,
	} {
		if n := cStatements(text); n != want {
			t.Errorf("%s has %d statements; want %d", text, n, want)
		}
	}
}

func TestLauncherStaysSmall(t *testing.T) {
	total := 0
	for _, name := range []string{"interpret.c", "spawn.c", "init.c", "init.h", "box.c", "keeper.c",
		"launcher.h"} {
		text := must.Get(os.ReadFile(filepath.Join(root, "nsjail/internal/launcher", name)))(t)
		lines, n := bytes.Count(text, []byte("\n")), cStatements(string(text))
		total += n
		if name == "interpret.c" && lines > maxInterpreter || name == "init.c" && n > maxInit {
			t.Errorf("%s has %d lines and %d statements; at most %d lines for the interpreter, %d statements for init", name, lines, n, maxInterpreter, maxInit)
		}
		t.Logf("%s: %d lines, %d statements", name, lines, n)
	}
	if total > maxAllC {
		t.Errorf("the C has %d statements, more than %d", total, maxAllC)
	}
	c, err := filepath.Glob(filepath.Join(root, "nsjail/internal/launcher", "*.[chS]"))
	if err != nil || len(c) != 8 { // ahead_amd64.h is generated
		t.Errorf("the C is %q, %v", c, err)
	}
}

func TestNoBinariesAndNoMachinePaths(t *testing.T) {
	var machine [][]byte
	for _, dir := range []string{"main", "shared", ".library", ".mirror"} {
		machine = append(machine, []byte("/work/"+dir))
	}
	tree(t, func(path string, text []byte) {
		if bytes.IndexByte(text, 0) >= 0 && !binaries.MatchString(filepath.ToSlash(path)) {
			t.Errorf("%s is a binary file", path)
		}
		for _, m := range machine {
			if bytes.Contains(text, m) {
				t.Errorf("%s names a path of one machine, %s", path, m)
			}
		}
	})
}
