package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/long"
	"brig/internal/test/must"
)

const (
	maxDirect  = 7  // modules that the jail's packages and their tests import
	maxDaemon  = 19 // those that brigd's import, brig among them
	maxModules = 40 // of go list -m all in the root: what an embedder's scanner is shown
)

// alone makes a go command that sees one module, as everybody else does.
func alone(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	return cmd
}

// modules returns the versions of a module's modules, and which it requires itself.
func modules(t *testing.T, dir string) (versions map[string]string, direct int) {
	t.Helper()
	versions = map[string]string{}
	out := must.Get(alone(dir, "list", "-m", "-f", "{{.Path}} {{.Version}} {{.Indirect}} {{.Main}}", "all").Output())(t)
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		versions[f[0]] = f[1]
		if f[len(f)-1] == "false" && f[len(f)-2] == "false" {
			direct++
		}
	}
	return versions, direct
}

// TestModules: the jail's module stays small, and brigd's, which is built and tested together with it, changes no
// version of what the jail is made of.
func TestModules(t *testing.T) {
	jail, direct := modules(t, root)
	if direct > maxDirect || len(jail) > maxModules {
		t.Errorf("%d direct modules and %d in all, more than %d and %d", direct, len(jail), maxDirect, maxModules)
	}
	daemon, direct := modules(t, root+"/brigd")
	if direct > maxDaemon {
		t.Errorf("brigd has %d direct modules, more than %d", direct, maxDaemon)
	}
	linked := must.Get(alone(root, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./...").Output())(t)
	for path := range strings.Lines(string(linked)) {
		path = strings.TrimSpace(path)
		if path != "" && path != "brig" && jail[path] != daemon[path] {
			t.Errorf("go.mod has %s %s, brigd/go.mod %s", path, jail[path], daemon[path])
		}
	}
}

// TestEmbedder: a program outside of the repository that embeds package nsjail is built, and needs nothing of brigd's.
func TestEmbedder(t *testing.T) {
	long.Test(t)
	dir, source := t.TempDir(), must.Get(filepath.Abs(root))(t)
	must.Do(t, os.WriteFile(dir+"/go.mod", []byte("module example.org/embedder\n\ngo "+strings.TrimPrefix(goOf(t), "go ")+
		"\n\nrequire brig v0.0.0\n\nreplace brig => "+source+"\n"), 0o644))
	for _, file := range must.Get(filepath.Glob(root + "/examples/judge/*.go"))(t) {
		if name := filepath.Base(file); !strings.HasSuffix(name, "_test.go") {
			must.Do(t, os.WriteFile(filepath.Join(dir, name), must.Get(os.ReadFile(file))(t), 0o644))
		}
	}
	for _, args := range [][]string{{"mod", "tidy"}, {"build", "-buildvcs=false", "-o", dir + "/embedder", "."}} {
		if out, err := alone(dir, args...).CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
	sums := string(must.Get(os.ReadFile(dir + "/go.sum"))(t))
	for _, h := range []string{"nats-io", "opentelemetry", "kin-openapi", "prometheus", "modelcontextprotocol", "go-containerregistry"} {
		if strings.Contains(sums, h) {
			t.Errorf("an embedder's go.sum has %s", h)
		}
	}
	if all, _ := modules(t, dir); len(all) > maxModules {
		t.Errorf("an embedder has %d modules", len(all))
	}
}

// goOf returns the line of go.mod that names the version of Go.
func goOf(t *testing.T) string {
	t.Helper()
	for line := range strings.Lines(read(t, "go.mod")) {
		if strings.HasPrefix(line, "go ") {
			return strings.TrimSpace(line)
		}
	}
	t.Fatal("go.mod has no line go")
	return ""
}
