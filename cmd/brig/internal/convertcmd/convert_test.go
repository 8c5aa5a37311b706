package convertcmd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/cmd/brig/internal/console"
	"brig/cmd/brig/internal/convert"
	"brig/internal/cli"
	"brig/internal/test/must"
)

// TestConvertEverything: every flag of docker and every field of nsjail becomes flags that brig has. A value that is
// none of theirs is one error that names the flag or the field.
func TestConvertEverything(t *testing.T) {
	read := func(name string) []string {
		data := must.Get(os.ReadFile(filepath.Join("..", "convert", name)))(t)
		return strings.Split(strings.TrimSpace(string(data)), "\n")
	}
	config := filepath.Join(t.TempDir(), "x.cfg")
	var lines [][]string
	for _, line := range read("docker/testdata/becomes.txt") {
		lines = append(lines, []string{"docker", "run", strings.Fields(line)[0], "image"})
	}
	for _, field := range read("nsjail/testdata/fields.txt") {
		for _, value := range []string{"1", "true", "\"x\"", "INF"} {
			lines = append(lines, []string{field + ": " + value, config, "--", "id"})
		}
	}
	for _, words := range lines {
		name := strings.Join(words, " ")
		if words[1] == config {
			must.Do(t, os.WriteFile(config, []byte(words[0]+"\n"), 0o644))
			words = words[1:]
		}
		c := &conversion{store: t.TempDir(), std: &console.Console{Stdio: cli.Stdio{In: os.Stdin}}}
		j, err := c.dialect(words)
		if err == nil {
			for _, n := range j.Notes {
				if !slices.Contains([]convert.Effect{convert.Weaker, convert.Unknown, convert.Missing, convert.Ignored}, n.Effect) {
					t.Errorf("%s: %s is no effect: the table names a conversion that there is not", name, n.Effect)
				}
			}
			_, err = c.spec(j)
		}
		if err != nil && !strings.Contains(err.Error(), `"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
